"""A page that is left takes its pictures along, and Back ends what was said of leaving it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from pages.kit.draw.web import PREFIX

from .explore_page import Explore
from .modules import Modules
from .server import HEALTH, Server

VIEWS = {"Masks": ".painter", "Compare": ".pair", "Shapes": ".steps", "Train": ".film", "Explore": ".view:not(.sheet)"}
# Remembers the view on the page, without keeping it there.
REMEMBER = """(selector) => {
  const within = (root) => [...root.querySelectorAll("*")].reduce(
    (found, own) => found ?? (own.matches(selector) ? own : own.shadowRoot && within(own.shadowRoot)), null);
  (window.views ??= []).push(new WeakRef(within(document)));
}"""
KEPT = "() => window.views.map((view) => view.deref()?.className).filter((name) => name !== undefined)"


def test_no_view_stays_when_its_page_is_left(explore: Explore) -> None:
    page = explore.page
    page.goto(explore.url)  # not `open`, which holds the view that it waits for
    page.locator(".view[data-digest]").wait_for()
    memory = page.context.new_cdp_session(page)
    page.evaluate(REMEMBER, ".view")
    for name, selector in VIEWS.items():
        explore.go(name)
        if name == "Train":
            page.get_by_role("tab", name="Film").click()
        page.locator(f"{selector}[data-turn]").first.wait_for()
        page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
        for _ in range(40):
            memory.send("HeapProfiler.collectGarbage")
            if not (kept := page.evaluate(KEPT)):
                break
            page.wait_for_timeout(200)
        assert kept == [], name
        page.evaluate(REMEMBER, selector)
    memory.detach()


# A link to another page, pressed as a visitor does; Back, until the address has changed.
HANDS = """
  const link = document.body.appendChild(document.createElement("a"));
  link.className = "page-link";
  const press = () => link.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true, composed: true }));
  const back = () => new Promise((done) => {
    addEventListener("popstate", () => done(location.pathname + location.search), { once: true });
    history.back();
  });
"""


@pytest.fixture
def modules(browser: Browser, server: Server) -> Iterator[Modules]:
    page = browser.new_page()
    page.goto(server.url + HEALTH)
    yield Modules(page)
    page.close()


def test_who_is_back_on_a_page_does_not_leave_it(modules: Modules) -> None:
    said = modules.page.evaluate(f"""async (module) => {{
      const m = await import(module); {HANDS}
      press();
      const said = [m.isLeaving()];
      history.pushState(null, "", "/another");
      said.push(m.isLeaving());
      await back();
      return [...said, m.isLeaving()];
    }}""", f"{PREFIX}/leaving.js")  # fmt: skip
    assert said == [True, False, False]


def test_back_before_the_other_page_is_there_keeps_each_address_with_its_page(modules: Modules) -> None:
    """Streamlit takes keys out of the address just before a switch: if Back ends that, they are not the next page's."""
    found = modules.page.evaluate(f"""async (module) => {{
      history.replaceState(null, "", "/zero?z=1");
      history.pushState(null, "", "/one?a=1&b=2");
      await import(module); {HANDS}
      press();
      history.pushState(null, "", "/one?a=1");
      const found = [await back()];
      press();
      history.pushState(null, "", "/two");
      return [...found, await back()];
    }}""", f"{PREFIX}/frame.js")  # fmt: skip
    assert found == ["/zero?z=1", "/zero?z=1"]
