"""A visitor who does sixty things at random, quickly, and goes all the way back and forth again.

Afterwards, and at each entry of the history, the address, the screen and the server agree.
"""

from __future__ import annotations

import os
import random

import pytest
from playwright.sync_api import Page

from headlight.link.presets import PRESETS

from .agreement import PAGES, agree
from .explore_page import Explore

SEEDS = int(os.environ.get("HEADLIGHT_VISITORS", "1"))
ACTS = 60
WORDS = ("how are you", "the cat sat", "it was too tired", "", "can you can that", "x")
# What can be pressed in each view; of several that fit a number chooses.
PRESSED = (
    ".tile .lamp", ".tile .square", ".undo", ".chip", ".segments button:not([disabled])",
    ".card:not([disabled])", ".switch", ".presets button", ".settings [role=radio]", ".settings label", ".lamps .lamp",
)  # fmt: skip
# The middle of one thing in the page as it is now, whatever that is; null where there is none.
PLACE = """([act, number, paths]) => {
  const view = document.querySelector("[data-testid='stBidiComponentIsolated']")?.shadowRoot
    ?.querySelector(".view") ?? [...document.querySelectorAll("*")].map((one) => one.shadowRoot?.querySelector(".view"))
    .find(Boolean);
  if (act === "page") {
    const others = paths.filter((path) => path !== location.pathname);
    const link = document.querySelector("#headlight-bar nav a:not([aria-current])"); // it can lead to any page
    link.href = others[number % others.length] + location.search;
    return link.click();
  }
  const seen = [...(view?.querySelectorAll(act) ?? [])].filter((one) => one.checkVisibility());
  const one = seen[number % Math.max(1, seen.length)];
  one?.scrollIntoView({ block: "center", behavior: "instant" });
  const { x, y, width, height } = one?.getBoundingClientRect() ?? {};
  return one ? [x + width / 2, y + height / 2] : null;
}"""
FRAMES = "async (frames) => { for (; frames; frames--) await new Promise((done) => requestAnimationFrame(done)); }"
GO = """async (way) => {
  if (way === "back" && navigation.currentEntry.index === window.first) return; // not out of the app
  const { committed, finished } = navigation[way]();
  window.way = Promise.allSettled([committed, finished]);
}"""


def entry(explore: Explore) -> int:
    """The number of the entry of the history, from that of the first picture on, once everything agrees."""
    explore.page.evaluate("() => window.way")  # a Back, which the address says later
    agree(explore, [*WORDS, *PRESETS])
    return int(explore.page.evaluate("() => navigation.currentEntry.index - window.first"))


def act(page: Page, kind: str, number: int) -> None:
    """Do one thing by mouse or keyboard; what is not there is left out."""
    if kind in ("back", "forward"):
        page.evaluate(GO, kind)
        return
    place = page.evaluate(PLACE, [".top .sentence textarea" if kind == "type" else kind, number, list(PAGES)])
    if place is None:
        return
    page.mouse.click(*place)
    if kind == "type":
        page.keyboard.press("ControlOrMeta+a")
        word = WORDS[number % len(WORDS)]
        page.keyboard.insert_text(word) if word else page.keyboard.press("Delete")


@pytest.mark.thorough("a long walk at random; HEADLIGHT_VISITORS asks for more of them")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_sixty_quick_acts_and_all_of_them_undone(explore: Explore, seed: int) -> None:
    page = explore.open().page
    page.evaluate("() => { window.first = navigation.currentEntry.index; }")
    drawn = random.Random(seed)
    kinds = ["type"] * 4 + list(PRESSED) * 2 + ["page"] * 3 + ["back"] * 2 + ["forward"]
    for _ in range(ACTS):
        kind, number, frames = drawn.choice(kinds), drawn.randrange(1000), drawn.choice((0, 0, 1, 4, 9))
        is_alone = kind not in ("back", "forward", ".undo") and frames == 9
        before, address = (entry(explore), page.url) if is_alone else (0, "")
        act(page, kind, number)
        page.evaluate(FRAMES, frames)
        if is_alone:
            assert entry(explore) - before == (page.url != address), f"one entry for {kind} {number}, from {address}"

    # each Back undoes one act, and each Forward does it again
    last = entry(explore)
    links = [page.url]
    while last > 0:
        act(page, "back", 0)
        last = entry(explore)
        links.append(page.url)
    assert links[-1].rstrip("/") == explore.url
    for link in links[-2::-1]:
        act(page, "forward", 0)
        entry(explore)
        assert page.url == link
    page.reload()
    agree(explore)
    assert page.url == links[0], "what it says once, it says again"
