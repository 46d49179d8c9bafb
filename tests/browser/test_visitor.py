"""A visitor who does sixty things at random, quickly: afterwards the address, the screen and the server agree."""

from __future__ import annotations

import os
import random
from urllib.parse import urlsplit

import pytest

from pages.compare.tries import FIRST_AT
from pages.kit.picture.asked import Asked

from .compare_page import Compare
from .explore_page import Explore
from .masks_page import Masks
from .shapes_page import Shapes
from .tab import Tab

SEEDS = int(os.environ.get("HEADLIGHT_VISITORS", "3"))
ACTS = 60
PAGES: dict[str, type[Tab]] = {"/": Explore, "/compare": Compare, "/masks": Masks, "/shapes": Shapes}
WORDS = ("how are you", "the cat sat", "it was too tired", "", "can you can that", "x")
# What can be pressed in each view; of several that fit a number chooses.
PRESSED = (
    ".tile .lamp", ".tile .square", ".change-tile [role=radio]", ".undo", ".chip", ".segments button:not([disabled])",
    ".card:not([disabled])", ".switch", ".presets button", ".settings [role=radio]", ".lamps .lamp", ".change",
)  # fmt: skip
# Does one thing in the page as it is now, whatever that is; what is not there is left out.
ACT = """([act, number, words, paths]) => {
  const view = document.querySelector("[data-testid='stBidiComponentIsolated']")?.shadowRoot
    ?.querySelector(".view") ?? [...document.querySelectorAll("*")].map((one) => one.shadowRoot?.querySelector(".view"))
    .find(Boolean);
  const pick = (list) => [...list][number % Math.max(1, list.length)];
  if (act === "back") {
    if (navigation.currentEntry.index > window.first) history.back(); // not out of the app
    return;
  }
  if (act === "forward") return history.forward();
  if (act === "page") {
    const links = [...document.querySelectorAll("#headlight-bar a")];
    return pick(links.filter((link) => paths.includes(new URL(link.href).pathname)))?.click();
  }
  if (!view) return;
  if (act === "type") {
    const box = pick(view.querySelectorAll(".top .sentence input"));
    if (!box) return;
    box.focus();
    box.value = words[number % words.length];
    box.dispatchEvent(new InputEvent("input", { bubbles: true }));
  } else pick(view.querySelectorAll(act))?.click();
}"""


def asked(path: str, raw: bytes) -> tuple[str, list[str]]:
    """The digest of the picture that the server makes of a link, and the sentences in its boxes."""
    query = Asked(raw, minilm_at=FIRST_AT if path == "/compare" else "")
    left, _ = query.within()
    if path != "/compare":
        return left.digest, [left.text]
    right, _ = query.within("2", left.text)
    return f"{left.digest}-{right.digest}", [left.text, query["s2"]]


def agree(tab: Tab) -> None:
    """The address, the screen and the server say the same."""
    place = urlsplit(tab.page.url)
    here = tab.on(PAGES[place.path]).settled()
    digest, texts = asked(place.path, urlsplit(tab.page.url).query.encode())
    if place.path != "/shapes":  # whose traces are of what an implementation can do
        assert here.view.first.get_attribute("data-digest") == digest
    boxes = here.view.first.locator(".top .sentence input")
    assert [box.input_value() for box in boxes.all()] == texts


@pytest.mark.parametrize("seed", range(SEEDS))
def test_sixty_quick_acts(explore: Explore, seed: int) -> None:
    explore.open()
    explore.page.evaluate("() => { window.first = navigation.currentEntry.index; }")
    drawn = random.Random(seed)
    kinds = ["type"] * 4 + list(PRESSED) * 2 + ["page"] * 3 + ["back"] * 2 + ["forward"]
    for _ in range(ACTS):
        act = drawn.choice(kinds)
        explore.page.evaluate(ACT, [act, drawn.randrange(1000), WORDS, list(PAGES)])
        explore.page.wait_for_timeout(drawn.choice((0, 0, 20, 60, 150)))
    explore.page.wait_for_timeout(500)  # the last one may be a Back, which the address says later
    agree(explore)
    address = explore.page.url
    explore.page.reload()
    agree(explore)
    assert explore.page.url == address, "what it says once, it says again"
