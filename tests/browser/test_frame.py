"""The frame of every page: what stands from the first frame on, and what never shows."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from pages.kit.draw.pages import PAGES
from pages.kit.draw.web import PREFIX, SCRIPT

from .explore_page import Explore

# Looks at every frame: is a field painted that only the link needs, or one of Streamlit's grey bars; where the question
# of the page and Share stand, how wide the model's box is, and whether the outline of the cards was there.
WATCH = """
window.inner = [];
window.questions = [];
window.bar = new Set();
const look = () => {
  const fields = document.querySelectorAll(
    '.st-key-link_texts input, .st-key-link_controls input, [data-testid="stAppSkeleton"]');
  for (const field of fields) if (field.getClientRects().length) window.inner.push(field.outerHTML.slice(0, 120));
  const early = document.getElementById("headlight-early");
  const heading = (early ?? document).querySelector(".question h1");
  const boxes = [...document.querySelectorAll("#headlight-bar :is(.share-place > button, .pickers)")];
  if (boxes.length) window.bar.add(boxes.map((own) => Math.round(own.getBoundingClientRect().width)).join(" "));
  window.outlined ||= (early?.querySelectorAll(".outline .card").length ?? 0) === 3;
  if (heading?.getClientRects().length) {
    const { x, y } = heading.getBoundingClientRect();
    const place = [location.pathname, heading.textContent, Math.round(x), Math.round(y)].join(" ");
    if (window.questions.at(-1) !== place) window.questions.push(place);
  }
  requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
# The modules that a visitor has fetched.
OURS = """(prefix) => performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname)
  .filter((path) => path.startsWith(prefix) && path.endsWith(".js")).map((path) => path.slice(prefix.length + 1))"""


@pytest.mark.thorough("each frame of six openings is looked at")
def test_nothing_internal_is_painted_and_nothing_jumps(explore: Explore) -> None:
    page = explore.page

    def opened(name: str) -> None:
        page.goto(f"{explore.url}/{'' if name == 'explore' else name}", wait_until="commit")
        page.wait_for_selector("#headlight-early", state="detached")
        expect(page.locator(".st-key-stage .question h1")).to_have_text(PAGES[name].question)
        places = [place.rsplit(" ", 2)[1:] for place in page.evaluate("window.questions")]
        assert max(max(map(int, own)) - min(map(int, own)) for own in zip(*places, strict=True)) <= 1, places
        assert page.evaluate("window.bar.size") == 1, "Share and the model's box stay as they are"
        assert page.evaluate("window.outlined") == (name == "train"), "a page has its picture or the outline"

    explore.run_first(WATCH)
    opened("explore")
    for name in ("masks", "positions", "train", "explore"):
        explore.go(PAGES[name].title)
        expect(page.locator(".st-key-stage .question h1")).to_have_text(PAGES[name].question)
    explore.settled()
    assert set(page.evaluate(OURS, PREFIX)) == {"frame/boot.js", SCRIPT}
    assert page.evaluate("window.inner") == []
    last = {place.split()[0]: place.split()[-1] for place in page.evaluate("window.questions")}
    assert len(set(last.values())) == 1, "the question stands at one height on every page"
    opened("train")
