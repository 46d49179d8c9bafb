"""A page that says nothing to its script for a while: what it draws meanwhile, it draws without the script."""

from __future__ import annotations

from .tab import Tab

__all__ = ["begins_with_its_picture", "hold", "holds_back", "say"]

SCRIPT = """
const say = WebSocket.prototype.send;
window.unsaid = UNSAID;
WebSocket.prototype.send = function (message) {
  if (window.unsaid) window.unsaid.push(() => say.call(this, message));
  else say.call(this, message);
};
"""


def holds_back(tab: Tab, *, from_the_start: bool = False) -> None:
    """Prepare a tab that is not yet opened; `from_the_start`: what comes with the page stays until it may say."""
    tab.run_first(SCRIPT.replace("UNSAID", "[]" if from_the_start else "null"))


def begins_with_its_picture(tab: Tab, link: str) -> None:
    """Open a page with its first picture in it: a busy server gives the page alone."""
    body = b""
    while b'id="headlight-first"' not in body:
        answer = tab.page.goto(link, wait_until="commit")
        body = b"" if answer is None else answer.body()
    tab.page.wait_for_selector("#headlight-early", state="attached")


def hold(tab: Tab) -> None:
    """From now on the script hears of nothing."""
    tab.page.evaluate("window.unsaid = []")


def say(tab: Tab) -> None:
    """The script hears everything that was held back, and what comes."""
    tab.page.evaluate("for (const say of window.unsaid.splice(0)) say(); window.unsaid = null")
