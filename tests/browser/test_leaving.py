"""A page that is left takes its pictures along."""

from __future__ import annotations

from .explore_page import Explore

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
    page.locator(".st-key-stage .question").wait_for()  # before Streamlit is there, a link leads to another document
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
