"""What is typed and pressed holds, however late answers come, cross each other, or do not come."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Response, expect

from headlight.link.presets import PRESETS

from .conftest import NewTab
from .expected import TIRED, largest
from .explore_page import Explore
from .held import begins_with_its_picture, holds_back, say
from .tab import WAIT_MS

REQUESTS = """() => performance.getEntriesByType("resource").filter(({ name }) => name.includes("/api/")).length"""
# Answers of the wire that come late and cross each other, or do not come: by the visitor's own dice, always the same.
BAD_NETWORK = """
const real = window.fetch;
let dice = 7;
const draw = () => (dice = (dice * 48271) % 2147483647) / 2147483647;
window.failures = 0;
window.fetch = async (input, options) => {
  if (!String(input).includes("/api/")) return real(input, options);
  const [kind, late] = [draw(), 400 * draw()];
  const answer = kind < 0.15 ? null : await real(input, options);
  await new Promise((done) => setTimeout(done, late));
  if (kind < 0.3) window.failures += 1;
  if (kind < 0.15) throw new TypeError("the connection is lost");
  if (kind < 0.22) return new Response("busy", { status: 429, headers: { "Retry-After": "1" } });
  if (kind < 0.3) return new Response("broken", { status: 503 });
  return answer;
};
"""
# The places of the view and of its enlarged map, in every frame until it stands in its own place for a while.
FRAMES = """
window.places = [];
const found = (node) => {
  for (const element of node.querySelectorAll("*")) {
    if (element.classList.contains("view") && element.clientWidth) return element;
    const within = element.shadowRoot && found(element.shadowRoot);
    if (within) return within;
  }
  return null;
};
const look = () => {
  const view = document.body && found(document.body);
  const map = view?.querySelector(".map");
  window.theme ??= map && view.dataset.theme;
  if (map) {
    const parts = [view, map].map((part) => part.getBoundingClientRect());
    const early = document.getElementById("headlight-early") !== null;
    window.places.push([early, parts.flatMap(({ x, y, width, height }) => [x, y, width, height].map(Math.round))]);
  }
  requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""


def test_the_box_is_a_plain_text_field_and_a_control_asks_once(explore: Explore) -> None:
    explore.open(s="how are")
    box, keys, page = explore.box, explore.page.keyboard, explore.page
    box.press("End")
    box.press_sequentially(" you")
    explore.shows("how are you")
    keys.press("Control+z")
    before = box.input_value()
    assert before != "how are you"
    assert before.startswith("how are")
    explore.shows(before)
    box.press("Control+a")
    keys.insert_text("can you can that")  # as a paste
    explore.shows("can you can that")
    expect(box).to_be_focused()
    assert box.evaluate("box => [box.selectionStart, box.selectionEnd]") == [16, 16], "the caret stays"
    box.press("Home")
    box.press_sequentially("we ")
    explore.shows("we can you can that")
    explore.wait_for_query(s=["we can you can that"])
    assert box.evaluate("box => box.selectionStart") == 3
    assert page.get_by_role("textbox", name="Sentence", exact=True).count() == 1

    # of an empty box the picture before stays; what an input method has not finished is not asked
    box.fill("")
    expect(explore.view).to_have_class(re.compile(r"\bblank\b"))
    explore.wait_for_query(s=[""])
    box.click()
    requests = page.evaluate(REQUESTS)
    session = page.context.new_cdp_session(page)
    for text in ("に", "にほ", "にほん"):
        session.send("Input.imeSetComposition", {"text": text, "selectionStart": len(text), "selectionEnd": len(text)})
    assert box.input_value() == "にほん"
    session.send("Input.insertText", {"text": "日本"})
    explore.shows("日本")
    explore.wait_for_query(s=["日本"])
    assert page.evaluate(REQUESTS) == requests + 1

    # a control beside the view is one request: the script's answer brings nothing new
    explore.typed(TIRED)
    requests = page.evaluate(REQUESTS)
    explore.mask("causal")
    explore.shows(mask="causal")
    assert page.evaluate(REQUESTS) == requests + 1
    explore.clicked(explore.lamp(3, 2), mask="causal", heads_off=((3, 2),))
    explore.clicked(explore.tile(3, 4))
    assert page.evaluate(REQUESTS) == requests + 3
    explore.clicked(explore.chip(3))
    assert page.evaluate(REQUESTS) == requests + 3, "another row needs nothing"


@pytest.mark.thorough("sixty keys over a network that is late and fails")
def test_sixty_keys_over_a_bad_network(explore: Explore) -> None:
    explore.run_first(BAD_NETWORK)
    explore.open(s="it")
    text = " was not the street but the animal that was much too tired x"
    assert len(text) == 60
    explore.box.press("End")
    explore.box.press_sequentially(text, delay=25)
    run = explore.shows(f"it{text}")
    assert explore.chips() == run.tokens
    explore.looks_at(largest(run, 3, 1, run.tokens.index("it")))
    assert explore.page.evaluate("window.failures") > 5
    explore.wait_for_query(s=[f"it{text}"])
    assert explore.box.input_value() == f"it{text}"


# ---- the first picture, which comes with the page


def document(response: Response | None) -> str:
    assert response
    return response.text()


@pytest.mark.thorough("three openings, looked at in every frame")
def test_the_first_picture_stands_where_the_view_will_stand(new_tab: NewTab, new_phone: NewTab) -> None:
    """In every frame, in its theme, at a desk and on a phone."""
    long = "?s=" + "+".join(["word"] * 60)
    for tab, openings in (
        (
            new_tab(Explore),
            [((1440, 900), "light", long), ((1280, 720), "dark", "?big=true")],
        ),
        (new_phone(Explore), [((375, 812), "light", "")]),
    ):
        page = tab.page
        tab.run_first(FRAMES)
        for (width, height), theme, query in openings:
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            until = time.monotonic() + WAIT_MS / 1000
            while 'id="headlight-first"' not in document(page.goto(f"{tab.url}/{query}", wait_until="commit")):
                assert time.monotonic() < until  # on busy cores a page may come without
            page.wait_for_function("() => window.places?.some(([early]) => !early)")
            tab.settled()
            assert page.evaluate("window.theme") == theme, "in the first frame already"
            places = page.evaluate("window.places")
            assert places[0][0], "drawn before Streamlit is there"
            assert not places[-1][0]
            last = places[-1][1]
            assert max(abs(one - other) for _, place in places for one, other in zip(place, last, strict=True)) <= 1


def test_text_typed_into_the_prerendered_picture_is_kept(explore: Explore) -> None:
    holds_back(explore, from_the_start=True)
    begins_with_its_picture(explore, explore.url)
    explore.box.click()
    explore.keys("End")
    explore.page.keyboard.type(" now")
    say(explore)
    explore.page.keyboard.type(" and then", delay=20)
    explore.page.wait_for_selector("#headlight-early", state="detached")
    explore.shows(f"{PRESETS[0]} now and then")
    explore.wait_for_query(s=[f"{PRESETS[0]} now and then"])
