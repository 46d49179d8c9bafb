"""Every page alike: opened once with as much on it as it has; at every width and on a phone for test-all."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, ViewportSize, expect

from headlight.link import mask_codec
from headlight.ui.pages import PAGES

from .axe import nothing_serious
from .compare_page import Compare
from .conftest import NewTab
from .explore_page import Explore
from .form_pages import ByHand, Implementations, Positions
from .layout import faults, faults_at_every_width
from .lessons_page import Lessons
from .masks_page import WORDS, Masks
from .measures import (
    PHONE,
    height,
    not_reached_by_tab,
    obscured,
    scrolls_sideways,
    small_targets,
    space_letters,
    unnamed,
    unreadable,
)
from .model_map_page import ModelMap
from .plain_pages import Claims, Glossary
from .shapes_page import Shapes
from .tab import TWO_FRAMES, Tab
from .train_page import Train

EVIL = "<img src=x onerror=window.ran=1> **it** $x$ <b>it</b>"
ROW_4 = torch.zeros(12, 6, 6, dtype=torch.bool)
ROW_4[:, 4] = True

KINDS: dict[str, type[Tab]] = {
    "explore": Explore, "model_map": ModelMap, "shapes": Shapes, "masks": Masks, "positions": Positions,
    "compare": Compare, "by_hand": ByHand, "implementations": Implementations, "train": Train, "glossary": Glossary,
    "claims": Claims, "lessons": Lessons,
}  # fmt: skip
# A link of each page with as much on it as it has, and with code where a person may type.
RICH: dict[str, dict[str, Any]] = {
    "explore": {"s": EVIL, "mask": "window", "off": ["L3 H2"], "look": "nospecials_hide3.3", "at": "3.1.4",
                "pin": f"2.5.1~causal~none~1.5~0.1~{EVIL}"},
    "model_map": {"s": EVIL, "mask": "window", "off": ["L3 H2"], "box": "mlp add", "depth": "numbers", "at": "3.1.4"},
    "shapes": {"s": EVIL, "vs": "fused", "step": "qkv.view", "off": ["L3 H2"], "at": "3.1.4", "lesson": "wrong axis"},
    "masks": {"s": WORDS, "pad": EVIL, "at": "0.3", "mask": "painted", "on": "causal",
              "p": mask_codec.write_flips(ROW_4)},
    "positions": {"s": EVIL, "enc": "shaw", "enc2": "rotary", "hd": "5", "pair": "3", "at_pos": "20", "far": "700",
                  "amp": "0.05", "at": "1.0", "ch": ["2", "9"]},
    "compare": {"s": EVIL, "order": " ".join(reversed(EVIL.split())), "at": "3.1.2.3", "mask2": "causal",
                "three": ["none", "rotary"], "mean": "false"},
    "by_hand": {"ex": "two sentences", "qw": "<b>how</b> can", "kw": "<img src=x> $x$ it", "sqrt": "true"},
    "implementations": {"s": EVIL, "at": "2.1", "mask": "causal", "impl": "naive",
                        "beside": "torch", "what": "training step with maps", "n": "20"},
    "glossary": {},
    "lessons": {},
    "claims": {},
    "train": {"cand": "rotary", "ask": EVIL, "film": "0.0.1"},
}  # fmt: skip
LONGER = {"positions", "implementations"}  # by what these links show; their own tests open them at rest
# What must fit on a phone in large type too, beside the page as it opens.
NARROW: dict[str, dict[str, Any]] = {
    "explore": {"look": "table", "s": "internationalization " * 30, "pin": "1.1~none~trained~1~~it"},
    "shapes": {"vs": "naive", "step": "weights", "mask": "window", "lesson": "products are loops"},
    "compare": {"s": "can you can that", "look": "table", "s2": "how are you"},
    "by_hand": {"ex": "scaled dot product", "qs": "2, 2, 4, 10, 8", "aat": "3, 2, 10, 256"},
    "positions": {"enc": "t5", "enc2": "rotary", "pair": "2", "far": "700", "ch": ["1"]},
    "implementations": {"impl": "naive"},
    "claims": {},
}  # fmt: skip
AT_400_PER_CENT: ViewportSize = {"width": 320, "height": 256}  # a window of 1280×1024, magnified
# Times differ from run to run, and what follows them with it.
TIMES = re.compile(r"[\d.,]+\s(ms|µs|s)\b")
BROKEN = re.compile(r"\b(NaN|undefined|\[object)\b")


def texts(page: Page) -> list[str]:
    """The lines on the stage; what is read aloud comes later, and goes."""
    aloud = set(page.locator(".view .aloud").all_inner_texts())
    written = page.locator(".st-key-stage .view").all_inner_texts()
    return [TIMES.sub("…", line) for text in written for line in text.splitlines() if line not in aloud]


@pytest.mark.parametrize("name", PAGES)
def test_page_opens_by_its_link_and_is_read_walked_and_seen_in_both_themes(name: str, new_tab: NewTab) -> None:
    tab = new_tab(KINDS[name]).open(**RICH[name]).complete()
    page, own = tab.page, PAGES[name]
    wanted = {key: value if isinstance(value, list) else [value] for key, value in RICH[name].items()}
    assert tab.query == wanted

    # its words: nothing broken, no script of a visitor's, the title and the place in the bar
    lines = texts(page)
    assert not [line for line in lines if BROKEN.search(line)]
    assert not [notice for notice in tab.notices() if notice.startswith("The link says")]
    assert page.evaluate("window.ran") is None
    assert page.locator("img[src=x], .view b:text-is('it'), .view b:text-is('how')").count() == 0
    assert page.locator("html").get_attribute("lang") == "en"
    expect(page.get_by_role("heading", level=1)).to_have_text(own.question)
    marked = tab.house.locator("nav [aria-current=page]").all_inner_texts()
    assert marked[-1:] == ([own.title] if own.group else [])
    expect(page).to_have_title(f"{own.title} · Headlight")

    # by a screen reader, by keyboard and by mouse
    assert unnamed(page) == []
    assert scrolls_sideways(page) == 0
    assert height(page) <= 2400 or name in LONGER
    assert tab.theme == "dark"
    nothing_serious(tab)
    assert not_reached_by_tab(page) == []
    assert obscured(page) == []
    assert small_targets(page, "mouse") == []

    # in the light theme, with letters set apart, and as narrow as a phone
    lines = texts(page)
    tab.in_theme("light").until(lambda: texts(page) == lines, "the theme changes no word")
    assert tab.query == wanted
    nothing_serious(tab, only_colours=True)
    plain = faults(page)
    space_letters(page)
    page.evaluate(TWO_FRAMES)
    assert set(faults(page)) <= set(plain)
    page.set_viewport_size(PHONE["viewport"])
    tab.until(lambda: scrolls_sideways(page) == 0, "a phone's width is enough")


def change(tab: Tab) -> bool:
    """Change the picture, where a view owns it; return whether there was such a view."""
    match tab:
        case Explore():  # with the head in focus off every layer has a badge
            tab.mask("causal")
            tab.clicked(tab.lamp(3, 1), mask="causal", heads_off=((3, 1),))
        case Compare():
            tab.button("tired / wide").click()
            expect(tab.view.locator(".differs .contrast")).to_contain_text("sentence")
        case Masks():
            tab.view.locator(".card").filter(has_text="window").first.click()
            tab.wait_for_query(mask=["window"])
            tab.complete()
        case Shapes():
            tab.open(mask="causal", off=["L3 H2"], vs="fused")
        case _:
            return False
    return True


def fits_on_a_phone(tab: Tab) -> None:
    assert tab.theme == "light"
    assert scrolls_sideways(tab.page) == 0
    assert small_targets(tab.page) == []
    assert unreadable(tab.page) == []


def test_the_switches_have_one_name_order_and_value_on_every_page(new_tab: NewTab) -> None:
    wanted = [
        "Maskwindow 2", "Positional encodingno positional encoding", "Temperature0.5, sharper", "AblateL0 H1 off",
    ]  # fmt: skip
    for name in ("explore", "model_map", "compare", "masks", "shapes"):
        tab = new_tab(KINDS[name]).open(s=WORDS, mask="window", w="2", pos="none", t="0.5", off="L0 H1").settled()
        switches = tab.view.locator(".switch")
        assert switches.all_text_contents()[:4] == wanted, name
        switches.nth(1).click()
        panel = tab.view.locator(".settings:not([hidden])")
        expect(panel).to_have_attribute("aria-label", "Positional encoding")
        expect(panel.get_by_role("radio", name="no positional encoding", exact=True)).to_be_checked()


@pytest.mark.thorough("the layout of each page in windows of each size takes ten times as long as its opening")
@pytest.mark.parametrize("name", PAGES)
def test_nothing_overlaps_at_any_width_and_a_finger_hits_everything(name: str, new_phone: NewTab) -> None:
    tab = new_phone(KINDS[name]).open()
    if isinstance(tab, Train):
        tab.check_first_screen_of_a_phone()
    if name in ("explore", "train"):
        nothing_serious(tab, contrast=True)
    fits_on_a_phone(tab)
    found = {"at first": faults_at_every_width(tab)}
    if change(tab):
        tab.settled().keys("Escape", "p")
        tab.wait_for_query(big="true")
        found["projected"] = faults_at_every_width(tab)
    assert not any(found.values()), found

    # in large type, and magnified four times
    tab.page.set_viewport_size(PHONE["viewport"])
    if name in NARROW:
        tab.open(**NARROW[name], big="true")
    elif "big" not in tab.query:
        tab.keys("p")
        tab.wait_for_query(big="true")
    tab.page.evaluate(TWO_FRAMES)  # the window has another size
    fits_on_a_phone(tab.settled())
    tab.page.set_viewport_size(AT_400_PER_CENT)
    tab.page.evaluate(TWO_FRAMES)
    assert scrolls_sideways(tab.page) == 0
