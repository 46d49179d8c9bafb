"""What is typed with pauses, and what is pressed one after another, is never taken back, however late answers come."""

from __future__ import annotations

from .compare_page import Compare
from .conftest import NewTab
from .explore_page import Explore
from .masks_page import Masks

# Whatever is said to the server and by it comes `window.late` ms later, and pictures `window.lateWire`; `window.told`
# is when something was said to it last.
LATE = """
Object.assign(window, { late: 0, lateWire: 0, told: 0 });
const [Real, real] = [window.WebSocket, window.fetch];
window.WebSocket = class extends Real {
  send(data) {
    window.told = performance.now();
    setTimeout(() => super.send(data), window.late);
  }
  addEventListener(kind, act, ...options) {
    const later = (event) => setTimeout(() => act(event), window.late);
    super.addEventListener(kind, kind === "message" ? later : act, ...options);
  }
};
window.fetch = async (input, options) => {
  if (String(input).includes("/wire/")) await new Promise((done) => setTimeout(done, window.lateWire));
  return real(input, options);
};
"""
# By the page's own clock: of a busy machine the keys would come one by one, each after a pause. Each of the words
# begins and ends so many ms after those before were told. In every frame the box must say what was typed so far:
# `window.damage` is the first text that it said instead.
TYPE = """(box, groups) => {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  let typed = "";
  window.damage = null;
  const look = () => {
    if (box.value !== typed) window.damage ??= [typed, box.value];
    requestAnimationFrame(look);
  };
  const type = (key) => {
    typed += key;
    document.execCommand("insertText", false, key);
  };
  const typeAll = async () => {
    box.focus();
    box.select();
    for (const [words, begin, end] of groups) {
      const before = performance.now();
      while (typed && window.told < before) await wait(10);
      const { told } = window;
      for (const [at, key] of [...words].entries()) {
        if (typed) await wait(told + begin + ((end - begin) * at) / (words.length - 1) - performance.now());
        type(key);
      }
      if (typed === words) look();
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
# The sentence goes out after 0.4 s and is there after 3.4; its answer is back after 6.4.
PROJECT = """async (box) => {
  box.focus();
  box.select();
  document.execCommand("insertText", false, "how are you");
  await new Promise((done) => setTimeout(done, 5800));
  const { heard, turn } = box.closest(".view").dataset;
  [...document.querySelectorAll("#headlight-bar button")].find((one) => one.className === "projector-switch").click();
  return Number(heard) < Number(turn);
}"""
# What was told is told again after 3 s, if nobody hears it: then the last keys of the words behind it are not told yet.
SENTENCES = (
    (("Tom", 0, 0), (" saw a dog", 1400, 2850), (" and", 2600, 2900), (" ran away", 1600, 2850)),
    (("how", 0, 0), (" are you", 2000, 2900), (" and who are", 1300, 2850), (" they", 2500, 2900)),
    (("the", 0, 0), (" king of Spain", 1500, 2850), (" sat", 2600, 2900), (" down here", 1800, 2900)),
    (("it", 0, 0), (" was late", 2100, 2850), (" and too wide", 1400, 2900), (" for", 2700, 2900)),
)


def test_typed_text_is_never_taken_back(new_tab: NewTab, new_phone: NewTab) -> None:
    tabs = [new_tab(Explore), new_tab(Compare), new_tab(Masks), new_phone(Explore)]
    for tab in tabs:
        tab.run_first(LATE)
        tab.open()
        tab.page.evaluate("() => { window.late = 1700; }")
    for tab, sentence in zip(tabs, SENTENCES, strict=True):
        tab.box.evaluate(TYPE, sentence)
    for tab, sentence in zip(tabs, SENTENCES, strict=True):
        text = "".join(words for words, *_ in sentence)
        tab.page.evaluate("window.typing")
        tab.settled()
        tab.wait_for_query(s=[text])
        assert tab.box.input_value() == text
        assert tab.page.evaluate("window.damage") is None


def test_what_the_browser_says_before_it_has_heard_takes_no_text_back(explore: Explore) -> None:
    explore.run_first(LATE)
    explore.open()
    explore.page.evaluate("() => { window.late = 3000; }")
    assert explore.box.evaluate(PROJECT), "pressed before the answer to the sentence was there"
    explore.page.wait_for_function("() => document.documentElement.classList.contains('projector')")
    explore.shows("how are you")
    explore.wait_for_query(s=["how are you"], big=["true"])
    assert explore.box.input_value() == "how are you"


def test_lamps_seconds_apart_are_all_out(explore: Explore) -> None:
    explore.run_first(LATE)
    explore.open()
    # each is told when its picture is there: the first would be told again before that of the last
    explore.page.evaluate("() => { window.lateWire = 1900; }")
    explore.view.evaluate(PRESS, [["3.2", "3.5", "3.7"], [3000, 1000, 0]])
    explore.shows(heads_off=((3, 2), (3, 5), (3, 7)))
    explore.wait_for_query(off=["L3 H2", "L3 H5", "L3 H7"])


def test_a_typed_sign_of_a_line_break_is_none(explore: Explore) -> None:
    explore.open(s="how\nare you")
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
