"""What is typed with pauses, and what is pressed one after another, is never taken back, however late answers come."""

from __future__ import annotations

from .compare_page import Compare
from .conftest import NewTab
from .expected import TIRED
from .explore_page import Explore
from .masks_page import Masks
from .tab import Tab

# Every answer to a question for a picture comes later than it could, and of three the first one last.
LATE = """
const real = window.fetch;
const waits = [1500, 700, 200];
let count = 0;
window.fetch = async (input, options) => {
  if (String(input).includes("/api/")) await new Promise((done) => setTimeout(done, waits[count++ % waits.length]));
  return real(input, options);
};
"""
# By the page's own clock: of a busy machine the keys would come one by one, each after a pause. Words, and ms until the
# first key and between two. In every frame the box must say what was typed so far: `window.damage` is the first text
# that it said instead.
TYPE = """(box, groups) => {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  let typed = "";
  window.damage = null;
  const look = () => {
    if (box.value !== typed) window.damage ??= [typed, box.value];
    requestAnimationFrame(look);
  };
  const typeAll = async () => {
    box.focus();
    box.select();
    for (const [words, before, between] of groups) {
      await wait(before);
      for (const key of words) {
        typed += key;
        document.execCommand("insertText", false, key);
        if (typed.length === 1) look();
        await wait(between);
      }
    }
  };
  window.typing = typeAll();
}"""
PRESS = """async (view, [heads, pauses]) => {
  for (const [at, head] of heads.entries()) {
    view.querySelector(`[data-head="${head}"] .lamp`).click();
    await new Promise((done) => setTimeout(done, pauses[at]));
  }
}"""
PROJECTOR = "() => document.querySelector('#headlight-bar .projector-switch').click()"
SENTENCES = (
    (("Tom", 0, 10), (" saw a dog", 450, 120), (" and", 900, 30), (" ran away", 390, 90)),
    (("how", 0, 10), (" are you", 1600, 100), (" and who are", 300, 60), (" they", 410, 30)),
    (("the", 0, 10), (" king of Spain", 400, 110), (" sat", 1300, 30), (" down here", 500, 70)),
)


def test_nothing_that_is_done_quickly_is_taken_back(explore: Explore, new_tab: NewTab) -> None:
    explore.run_first(LATE)
    explore.open(s="how\nare you")
    a_typed_sign_of_a_line_break_is_none(explore)
    explore.typed(TIRED)
    typed_text_is_never_taken_back([explore, new_tab(Compare), new_tab(Masks)])
    explore.typed(TIRED)
    lamps_in_a_row_are_all_out(explore)
    the_projector_pressed_while_one_types_takes_nothing_back(explore)


def typed_text_is_never_taken_back(tabs: list[Tab]) -> None:
    for tab in tabs[1:]:
        tab.run_first(LATE)
        tab.open()
    for tab, sentence in zip(tabs, SENTENCES, strict=True):
        tab.box.evaluate(TYPE, sentence)
    for tab, sentence in zip(tabs, SENTENCES, strict=True):
        text = "".join(words for words, *_ in sentence)
        tab.page.evaluate("window.typing")
        tab.settled()
        tab.wait_for_query(s=[text])
        assert tab.box.input_value() == text
        assert tab.page.evaluate("window.damage") is None


def a_typed_sign_of_a_line_break_is_none(explore: Explore) -> None:
    explore.box.press("End")
    explore.page.keyboard.insert_text(" ⏎")
    explore.shows("how\nare you ⏎")
    explore.wait_for_query(s=["how\nare you ⏎"])
    explore.box.press("Home")
    for _ in range(4):
        explore.box.press("ArrowRight")
    explore.box.press("Backspace")  # the whole of the line break
    explore.shows("howare you ⏎")
    explore.wait_for_query(s=["howare you ⏎"])


def lamps_in_a_row_are_all_out(explore: Explore) -> None:
    explore.view.evaluate(PRESS, [["3.2", "3.5", "3.7"], [900, 50, 0]])
    explore.shows(heads_off=((3, 2), (3, 5), (3, 7)))
    explore.wait_for_query(off=["L3 H2", "L3 H5", "L3 H7"])


def the_projector_pressed_while_one_types_takes_nothing_back(explore: Explore) -> None:
    explore.box.evaluate(TYPE, (("how are you", 0, 10),))
    explore.page.evaluate("window.typing")
    explore.page.evaluate(PROJECTOR)
    explore.page.wait_for_function("() => document.documentElement.classList.contains('projector')")
    explore.shows("how are you", heads_off=((3, 2), (3, 5), (3, 7)))
    explore.wait_for_query(s=["how are you"], big=["true"])
    assert explore.box.input_value() == "how are you"
