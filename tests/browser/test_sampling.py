"""How the next word is drawn, on Maps: temperature, top-k, top-p and the draw, by keys and clicks."""

from __future__ import annotations

from playwright.sync_api import expect

from headlight.ui import numbers
from tests.pages.test_next_token import OURS, drawn_of, stages

from .axe import nothing_serious
from .explore_page import Explore

STAGES = ("model", "temperature", "top-k", "top-p")


def shows(explore: Explore, **link: str) -> None:
    """The link, and the table and the sentence that the core computes for it."""
    explore.wait_for_query(**{"temp": None, "topk": None, "topp": None, "dice": None, **link})
    found = stages(**link)
    sampling = explore.view.locator(".sampling")
    expect(sampling.get_by_text(found["sentence"])).to_be_visible()
    for row, token in zip(sampling.locator("tbody tr").all(), found["tokens"], strict=False):
        cut = STAGES.index(token["cut"]) if token["cut"] else len(STAGES)
        reason = "not the likeliest" if cut == 1 else f"cut by {token['cut']}"
        values = [numbers.weight(chance) for chance in token["chances"][:cut]]
        expect(row.locator(".value")).to_have_text((values + [reason] + 3 * ["cut"])[: len(STAGES)])
        expect(row.locator(".token-label")).to_have_text(token["label"])
    drawn = drawn_of(found)["label"]
    expect(sampling.locator("tr", has=explore.page.locator(".drawn")).locator(".token-label")).to_have_text(drawn)
    expect(sampling.locator("tr.kept td")).to_have_text([f"{count:,}" for count in found["counts"]])


def test_each_stage_acts_by_keys_and_the_drawn_word_is_appended(explore: Explore) -> None:
    explore.open(model=OURS.model, s=OURS.text).settled()
    view = explore.view
    temperature, top_k, top_p, seed = (view.get_by_label(name, exact=True) for name in (*STAGES[1:], "seed"))
    expect(temperature).to_be_hidden()
    explore.button("more").click()
    expect(explore.button("greedy")).to_have_attribute("aria-pressed", "true")
    shows(explore)
    for control in (top_k, top_p, seed, explore.button("draw again")):
        expect(control).to_be_disabled()
    explore.button("sample").click()
    shows(explore, temp="1")
    temperature.fill("1.5")
    temperature.press("Tab")
    explore.page.keyboard.type("12")  # in the order in which they act; Tab selects what stands there
    explore.page.keyboard.press("Tab")
    for _ in range(4):
        top_p.press("ArrowDown")
    shows(explore, temp="1.5", topk="12", topp="0.8")
    again = explore.button("draw again")
    for dice in ("1", "2", "3"):
        again.press("Enter")
        shows(explore, temp="1.5", topk="12", topp="0.8", dice=dice)
    nothing_serious(explore)

    top_p.fill("7")  # the nearest that works, and a sentence
    expect(view.get_by_text("top-p is a number from 0 to 1; 1 is used.")).to_be_visible()
    shows(explore, temp="1.5", topk="12", dice="3")
    top_p.blur()
    expect(top_p).to_have_value("1")
    explore.settled()
    explore.button("add a word").click()
    expect(explore.box).to_have_value(OURS.text + drawn_of(stages(temp=1.5, topk=12, dice=3))["text"])
    explore.button("remove last").click()
    explore.button("greedy").click()
    shows(explore, topk="12", dice="3")
    explore.button("sample").click()
    shows(explore, temp="1.5", topk="12", dice="3")
