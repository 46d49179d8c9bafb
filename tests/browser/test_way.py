"""From page to page: each visit of a page is one entry of the history, and the address says what is shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import Locator, Page, expect

from pages.kit.draw.pages import PAGES

from .conftest import NewTab
from .form_pages import ByHand, Positions
from .plain_pages import Claims, Glossary
from .tab import Tab

SENTENCE = "how are you"
KINDS: dict[str, type[Tab]] = {"glossary": Glossary, "positions": Positions, "by_hand": ByHand, "claims": Claims}
Acts = list[tuple[str, object]]
# The page of the address is drawn, and the server is at rest.
STANDS = """path => {
  const [question, ...others] = document.querySelectorAll(".st-key-stage .question");
  return location.pathname === path && !others.length && question?.parentElement.dataset.path === path.slice(1)
    && document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === "notRunning";
}"""
# Presses, one after another in one turn of the browser: links of the bar, controls of the page, and Back.
PRESS = """async (acts) => {
  const named = (kind, text) => [...document.querySelectorAll(kind)].find((one) => one.textContent.trim() === text);
  const does = {
    link: (text) => named("#headlight-bar a[data-path]", text).click(),
    control: (text) => named('[data-testid="stButtonGroup"] button', text).click(),
    back: () => { // is over when the browser has gone there, which it does in its own time
      const gone = new Promise((done) => addEventListener("popstate", done, { once: true }));
      history.back();
      return gone;
    },
    wait: (ms) => new Promise((done) => setTimeout(done, ms)),
  };
  for (const [act, what] of acts) await does[act](what);
}"""


# Presses, the page that stands there then, and those that Back finds behind it.
HURRIED: list[tuple[Acts, str, list[str]]] = [
    ([("link", "Positions"), ("wait", 30), ("link", "By hand")], "by_hand", ["positions", "glossary"]),
    ([("link", "Claims"), ("link", "By hand")], "by_hand", ["claims", "glossary"]),
    ([("link", "Positions"), ("wait", 30), ("back", "")], "glossary", []),
    ([("link", "Claims"), ("back", "")], "glossary", []),
    ([("link", "Positions"), ("wait", 30), ("back", ""), ("wait", 30), ("link", "By hand")], "by_hand", ["glossary"]),
    ([("link", "Claims"), ("wait", 200), ("link", "Claims")], "claims", ["glossary"]),
    ([("link", "Glossary"), ("wait", 30), ("link", "Glossary")], "glossary", []),
]
LATE: list[Acts] = [
    [("link", "Glossary"), ("control", "two heads")],
    [("control", "two heads"), ("wait", 0), ("link", "Glossary")],
]


def stands(tab: Tab, name: str) -> None:
    """Waits until a page stands there, with all that the bar says of it."""
    tab.wait_until(STANDS, urlsplit(KINDS[name].PATH).path)
    expect(tab.page.locator(".question h1")).to_have_text(PAGES[name].question)
    expect(tab.page).to_have_title(f"{PAGES[name].title} · Headlight")
    assert tab.house.locator("a[aria-current]").all_text_contents() == [PAGES[name].title]


def go(tab: Tab, name: str) -> None:
    tab.go(PAGES[name].title)
    stands(tab, name)


def entries(page: Page) -> int:
    return int(page.evaluate("history.length"))


def place(page: Page) -> int:
    """The number of the entry that stands there."""
    return int(page.evaluate("navigation.currentEntry.index"))


def sentence(tab: Tab) -> Locator:
    return tab.page.get_by_role("textbox", name="Sentence", exact=True)


def test_one_entry_for_each_visit_of_a_page(new_tab: NewTab) -> None:
    tab = new_tab(Positions).open()
    page, first = tab.page, entries(tab.page)
    sentence(tab).fill(SENTENCE)
    tab.wait_for_query(s=SENTENCE)
    tab.choose("Beside it", "alibi")
    tab.wait_for_query(enc2="alibi", s=SENTENCE)
    go(tab, "by_hand")
    by_hand = tab.on(ByHand)
    by_hand.example("two heads")
    by_hand.wait_for_query(ex="two heads")
    expect(by_hand.cell("x", "how", "0")).to_have_value("1")
    by_hand.cell("x", "how", "0").fill("7")
    page.keyboard.press("Tab")
    page.wait_for_function("() => new URLSearchParams(location.search).has('m')")  # the script writes what was typed
    edited = page.url
    go(tab, "glossary")
    assert tab.query["s"] == [SENTENCE], "what one page says goes along to the next"
    assert entries(page) == first + 2

    for act, name in ((page.go_back, "by_hand"), (page.go_back, "positions")):
        act()
        stands(tab, name)
    tab.wait_for_query(enc2="alibi", s=SENTENCE, ex=None)
    expect(sentence(tab)).to_have_value(SENTENCE)
    page.go_forward()
    stands(tab, "by_hand")
    assert page.url == edited
    expect(by_hand.cell("x", "how", "0")).to_have_value("7")
    page.reload()
    stands(tab, "by_hand")
    assert page.url == edited
    expect(by_hand.cell("x", "how", "0")).to_have_value("7")
    page.go_back()
    stands(tab, "positions")
    tab.wait_for_query(s=SENTENCE)
    expect(sentence(tab)).to_have_value(SENTENCE)
    assert entries(page) == first + 2


def a_link_in_another_tab(tab: Tab) -> None:
    met = tab.view.locator(".met a", has_text="Masks").first
    assert opened(tab, lambda: met.click(modifiers=["ControlOrMeta"])) == f"{tab.url}/masks"
    link = tab.link("Positions")
    assert (
        opened(tab, lambda: link.click(modifiers=["ControlOrMeta"])) == f"{tab.url}/positions?s=how+are+you&mask=causal"
    )


def a_link_on_a_page_goes_where_it_says_and_keeps_the_visit_and_the_projector(tab: Tab) -> None:
    tab.page.evaluate("window.visit = 'the same'")
    tab.keys("p")
    tab.wait_for_query(big="true")
    tab.view.locator(".met a", has_text="Positions").first.click()
    stands(tab, "positions")
    tab.wait_for_query(s=None, big="true")
    expect(tab.page.locator("html")).to_have_class("projector")
    tab.keys("Escape")
    tab.wait_for_query(big=None)
    tab.page.go_back()
    stands(tab, "glossary")
    tab.wait_for_query(s=SENTENCE, big="true")
    expect(tab.page.locator("html")).to_have_class("projector")
    assert tab.page.evaluate("window.visit") == "the same"
    tab.keys("Escape")
    tab.wait_for_query(big=None)


def test_links_and_hurried_presses(new_tab: NewTab) -> None:
    tab = new_tab(Glossary).open(s=SENTENCE, mask="causal")
    a_link_in_another_tab(tab)
    a_link_on_a_page_goes_where_it_says_and_keeps_the_visit_and_the_projector(tab)
    for acts, ends, behind in HURRIED:
        before = place(tab.page)
        tab.page.evaluate(PRESS, acts)
        stands(tab, ends)
        if not any(act == "back" for act, _ in acts):
            assert place(tab.page) == before + len(behind), acts
        for name in behind:
            tab.page.go_back()
            stands(tab, name)
    go(tab, "by_hand")
    for acts in LATE:
        a_late_run_of_a_page_that_was_left(tab, acts)


def a_late_run_of_a_page_that_was_left(tab: Tab, acts: Acts) -> None:
    before = place(tab.page)
    tab.page.evaluate(PRESS, acts)
    stands(tab, "glossary")
    assert place(tab.page) == before + 1
    tab.page.go_back()
    stands(tab, "by_hand")


def opened(tab: Tab, press: Callable[[], None]) -> str:
    """The address that a press opens in another tab, while this one stays."""
    here = tab.page.url
    with tab.page.context.expect_page() as waiting:
        press()
    waiting.value.wait_for_url(re.compile("^http"))
    address = str(waiting.value.evaluate("performance.getEntriesByType('navigation')[0].name"))  # as it was opened
    waiting.value.close()
    assert tab.page.url == here
    return address


def test_the_model_of_a_form_page(new_tab: NewTab) -> None:
    tab = new_tab(ByHand).open(ex="a real cell", at="3.1.10.2", s=SENTENCE)
    before = entries(tab.page)
    picker = tab.page.get_by_role("combobox", name="Model", exact=True)
    expect(picker).to_have_value("minilm")
    picker.focus()
    picker.select_option("who-none-1")
    tab.wait_for_query(model="who-none-1", at=None, ex="a real cell")
    stands(tab, "by_hand")
    expect(picker).to_be_focused()
    picker.select_option("minilm")
    tab.wait_for_query(model=None)
    assert entries(tab.page) == before
    go(tab, "glossary")
    expect(picker).to_be_hidden()
