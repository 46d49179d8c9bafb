"""A visitor who does sixty things at random, quickly: afterwards the address, the screen and the server agree."""

from __future__ import annotations

import os
import random

import pytest

from headlight.link.presets import PRESETS

from .agreement import PAGES, agree
from .explore_page import Explore

SEEDS = int(os.environ.get("HEADLIGHT_VISITORS", "1"))
ACTS = 60
WORDS = ("how are you", "the cat sat", "it was too tired", "", "can you can that", "x")
# What can be pressed in each view; of several that fit a number chooses.
PRESSED = (
    ".tile .lamp", ".tile .square", ".undo", ".chip", ".segments button:not([disabled])",
    ".card:not([disabled])", ".switch", ".presets button", ".settings [role=radio]", ".lamps .lamp",
)  # fmt: skip
# Does one thing in the page as it is now, whatever that is, and lets some frames pass; what is not there is left out.
ACT = """async ([[act, number, words, paths], frames]) => {
  const acts = () => {
  const view = document.querySelector("[data-testid='stBidiComponentIsolated']")?.shadowRoot
    ?.querySelector(".view") ?? [...document.querySelectorAll("*")].map((one) => one.shadowRoot?.querySelector(".view"))
    .find(Boolean);
  const seen = (selector) => [...view.querySelectorAll(selector)].filter((one) => one.checkVisibility());
  const pick = (list) => [...list][number % Math.max(1, list.length)];
  const goes = (way) => { window.way = Promise.allSettled([way.committed, way.finished]); };
  if (act === "back") {
    if (navigation.currentEntry.index > window.first) goes(navigation.back()); // not out of the app
    return;
  }
  if (act === "forward") return goes(navigation.forward());
  if (act === "page") {
    const links = [...document.querySelectorAll("#headlight-bar a")];
    return pick(links.filter((link) => paths.includes(new URL(link.href).pathname)))?.click();
  }
  if (!view) return;
  if (act === "type") {
    const box = pick(seen(".top .sentence textarea"));
    if (!box) return;
    box.focus();
    box.value = words[number % words.length];
    box.dispatchEvent(new InputEvent("input", { bubbles: true }));
  } else pick(seen(act))?.click();
  };
  acts();
  for (; frames; frames--) await new Promise((done) => requestAnimationFrame(done));
}"""


@pytest.mark.thorough("a long walk at random; HEADLIGHT_VISITORS asks for more of them")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_sixty_quick_acts(explore: Explore, seed: int) -> None:
    explore.open()
    explore.page.evaluate("() => { window.first = navigation.currentEntry.index; }")
    drawn = random.Random(seed)
    kinds = ["type"] * 4 + list(PRESSED) * 2 + ["page"] * 3 + ["back"] * 2 + ["forward"]
    for _ in range(ACTS):
        act = [drawn.choice(kinds), drawn.randrange(1000), WORDS, list(PAGES)]
        explore.page.evaluate(ACT, [act, drawn.choice((0, 0, 1, 4, 9))])
    explore.page.evaluate("() => window.way")  # the last one may be a Back, which the address says later
    agree(explore, [*WORDS, *PRESETS])
    address = explore.page.url
    explore.page.reload()
    agree(explore)
    assert explore.page.url == address, "what it says once, it says again"
