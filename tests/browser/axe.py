"""axe-core, a list of rules for screen reader and keyboard: it finds nothing serious on a page or in a part of one."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator

from .explore_page import Explore
from .measures import unreadable
from .tab import Tab

__all__ = ["AXE", "RUN", "SERIOUS", "nothing_serious", "nothing_serious_in_panels"]

CHANGES = ("Mask", "Positional encoding", "Ablate", "Temperature")
SERIOUS = {"serious", "critical"}  # what axe calls so; the others are minor and moderate
NEVER_SERIOUS = ("region", "hidden-content")  # and slow
CONTRAST = "color-contrast"  # takes fifty times as long as `unreadable`, which asks for more of large letters
# Run by the debugger, to which the page's policy for scripts does not apply.
AXE = Axe().axe_script
RUN = """(element, options) => axe.run(element, options).then(({ violations }) => violations.flatMap(
  ({ id, impact, help, nodes }) =>
    nodes.map(({ target }) => [impact, `${id} at ${target.flat().join(" >> ")}: ${help}`])))"""


def nothing_serious(
    tab: Tab, at: Locator | None = None, *, only_colours: bool = False, contrast: bool = False, least: int = 41
) -> None:
    """Look at the whole page or at a part of it, by all rules or by those whose answer another theme can change.

    Streamlit's own markup is not let off. `contrast`: by axe's own rule for it too, which knows what lies under a text
    without holding it. `least`: how many texts there must be at least.
    """
    off = NEVER_SERIOUS if contrast else (*NEVER_SERIOUS, CONTRAST)
    options = {"resultTypes": ["violations"], "rules": {rule: {"enabled": False} for rule in off}}
    if only_colours:
        options["runOnly"] = {"type": "rule", "values": ["link-in-text-block", *([CONTRAST] if contrast else [])]}
    if tab.page.evaluate("typeof axe") == "undefined":  # a page that is loaded anew has forgotten it
        tab.page.evaluate(AXE)
    found = (at or tab.page.locator("html")).evaluate(RUN, options)
    assert [line for impact, line in found if impact in SERIOUS] == [], tab.theme
    assert unreadable(tab.page, least) == [], tab.theme


def nothing_serious_in_panels(explore: Explore, *, only_colours: bool = False) -> None:
    """Look at what can be changed on Explore, which is seen one at a time."""
    for name in CHANGES:
        nothing_serious(explore, explore.change(name), only_colours=only_colours)
