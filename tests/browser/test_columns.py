"""Explore's columns at one press, lengths of values and the mean over heads, in one tab; rules in both languages."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from mha_core import masks
from mha_core.measure.reading import merged
from mha_core.models.words import words_of
from pages.kit.draw.numbers import precise
from pages.kit.picture import pictures, rules
from pages.kit.picture.settings import Settings

from .expected import TIRED, run_of, written
from .explore_page import Explore
from .modules import Modules

HIDE, ZERO = "hide this word from all others", "let them look, but pass nothing on"
HIDDEN = "hidden from all others: “[CLS]” ×"


def cosine(**settings: object) -> str:
    """Of the sentence vector to the unchanged one, as the page says it."""
    now, unchanged = run_of(Settings(TIRED, **settings)), run_of(Settings(TIRED))  # type: ignore[arg-type]
    return f"cosine to the unchanged one is {precise(float(now.sentence @ unchanged.sentence))}"


def test_a_column_goes_and_comes_back_at_the_same_press(explore: Explore) -> None:
    asked: list[str] = []
    explore.page.on("request", lambda request: asked.append(request.url) if "/api/" in request.url else None)
    explore.open(at="3.1.10.0", mask="causal")
    explore.shows(mask="causal")
    column = explore.group("the column of “[CLS]”")
    asked.clear()
    explore.button(HIDE).click()
    now = explore.shows(mask="causal & unseen:0")
    assert len(asked) == 1
    assert explore.hover(10, 0) == "it → [CLS] 0.00, blocked by the mask"
    assert explore.hover(10, 2) == f"it → animal {written(float(now.weights[3, 1, 10, 2]))}"
    expect(explore.button(HIDE)).to_have_attribute("aria-pressed", "true")
    expect(column).to_contain_text("No other token may look at “[CLS]”")
    expect(column).to_contain_text(cosine(mask="causal & unseen:0"))
    explore.wait_for_query(mask=["combination"], rule=["causal & unseen:0"])
    expect(explore.view.locator(".chip-of-change")).to_have_text(
        ["mask: causal ×", "hidden from all others: “[CLS]” ×"]
    )
    explore.button(HIDE).click()
    explore.shows(mask="causal")
    explore.wait_for_query(mask=["causal"])

    explore.button(ZERO).click()
    now = explore.shows(mask="causal", values_off=(0,))
    assert explore.hover(10, 0) == f"it → [CLS] {written(float(now.weights[3, 1, 10, 0]))}"
    expect(column).to_contain_text("its value is zeroed for all others")
    explore.wait_for_query(unheard=["0"])
    explore.button("take back: value of “[CLS]” zeroed").click()
    explore.shows(mask="causal")
    expect(column.locator("p")).to_have_text("")

    explore.button("value lengths").click()
    explore.settled()
    expect(explore.view.locator(".handed")).to_have_text(
        re.compile("^“it” gives “.+” \\d+ % of its weight, whose value")
    )
    explore.button("mean of heads").click()
    explore.settled()
    mean = run_of(Settings(TIRED, "causal")).weights[3].mean(dim=0)
    assert explore.hover(10, 2) == f"it → animal {written(float(mean[10, 2]))}"
    expect(explore.place).to_contain_text("layer 3, mean over 12 heads")
    expect(explore.view.locator(".large .sum").first).to_contain_text("no head looks like this")
    expect(explore.view.locator(".handed")).to_be_hidden()
    explore.wait_for_query(look=["mean_values"])
    reads_words(explore)


def reads_words(explore: Explore) -> None:
    """The same tab goes on: words in the place of tokens, keys summed, the rest renormalised, a word masked."""
    run = run_of(Settings(TIRED, "causal"))
    words = words_of(pictures.model_on("auto"), TIRED)
    of_words = merged(run.weights[3, 1], words, words)
    names = [word.text.strip() for word in words]
    it, animal, street = (names.index(name) for name in ("it", "animal", "street"))
    explore.button("one head").click()
    explore.button("join words").click()
    explore.settled()
    assert explore.hover(it, street) == f"it → street {written(float(of_words[it, street]))}"
    explore.wait_for_query(look=["values_words"])
    explore.click_cell(it, animal)
    explore.page.keyboard.down("Shift")
    explore.click_cell(it, street)
    explore.page.keyboard.up("Shift")
    explore.settled()
    share = round(100 * float(of_words[it, animal] + of_words[it, street]))
    title = explore.view.locator(".large h2")
    expect(title).to_have_text(f"“it” puts {share} % on “animal” and “street” together")
    explore.wait_for_query(at=["3.1.10.8"], look=["values_words_keys2"])
    explore.button("show [CLS] [SEP]").click()
    explore.button("rows sum to 1").click()
    explore.settled()
    ends = of_words[it, 0] + of_words[it, -1]
    said = f"{round(100 * float(ends))} % of this row’s weight goes to [CLS] and [SEP], which are not shown; the"
    expect(explore.view.locator(".large .sum").first).to_contain_text(said)
    kept = of_words[it] / (1 - ends)
    expect(title).to_contain_text(f"{round(100 * float(kept[animal] + kept[street]))} %")
    explore.button("put a mask in place of “it”").click()
    explore.wait_for_query(s=[TIRED.replace(" it ", " [MASK] ")])
    expect(explore.chip(10)).to_have_text("[MASK]")
    explore.view.locator(".in-box .undo").click()
    explore.wait_for_query(s=[])
    expect(explore.chip(10)).to_have_text("it")


RULES = [
    "none", "causal", "window:3 & unseen:1", "causal & unseen:2 | sinks:1 & unseen:2:5", "causal & unseen:2 | sinks:1",
    "!unseen:2", "causal&window:3",
]  # fmt: skip


def test_rules_are_read_and_turned_alike(modules: Modules) -> None:
    found = modules.each(
        "link/changes.js", RULES, "[[...m.unseenOf(row)].sort(), m.withoutUnseen(row), m.toggledUnseen(row, 2)]"
    )
    for rule, (places, rest, turned) in zip(RULES, found, strict=True):
        assert tuple(places) == rules.unseen(rule)
        assert rest == rules.without_unseen(rule)
        assert rules.usable(turned)
        assert (2 in rules.unseen(turned)) != (2 in rules.unseen(rule))
        taken = set(rules.unseen(rule)) ^ {2}
        wanted = masks.both(masks.parse(rest), masks.unseen(*taken)) if taken else masks.parse(rest)
        assert masks.allow(masks.parse(turned), 7, 7).equal(masks.allow(wanted, 7, 7))
