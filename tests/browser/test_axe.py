"""axe-core finds nothing serious in what opens over a page; the pages themselves are looked at in test_every_page."""

from __future__ import annotations

from playwright.sync_api import expect

from .axe import Findings
from .explore_page import Explore


def test_nothing_serious_in_share(explore: Explore) -> None:
    explore.open().page.get_by_role("button", name="Share", exact=True).click()
    panel = explore.page.get_by_test_id("stPopoverBody")
    panel.get_by_text("How was this computed?").click()
    expect(panel.get_by_role("button", name="This map, CSV")).to_be_visible()
    findings = Findings(explore)
    findings.look("Share", panel)
    assert not findings.lines, "\n".join(findings.lines)
