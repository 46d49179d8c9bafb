"""axe-core finds nothing serious in what opens over a page; the pages themselves are looked at in test_every_page."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .axe import nothing_serious, nothing_serious_in_panels
from .explore_page import Explore


@pytest.mark.thorough("axe walks a dozen states of Explore; each page as it opens is walked in test_every_page")
def test_nothing_serious_in_share_all_heads_one_of_them_and_an_empty_box(explore: Explore) -> None:
    explore.open(look="all", pos="none").settled()
    nothing_serious(explore)
    explore.clicked(explore.tile(5, 8))
    nothing_serious(explore)
    explore.keys("Escape")
    explore.button("one layer").click()
    explore.view.locator("button.try").click()
    expect(explore.view.locator("button.try")).to_contain_text("2 of 3")
    nothing_serious(explore)
    explore.box.fill("")
    expect(explore.view.locator(".empty")).to_be_visible()
    nothing_serious(explore)
    explore.typed("how are you", position="none")

    panel = explore.share()
    panel.get_by_text("How was this computed?").click()
    expect(panel.get_by_role("button", name="PNG for a slide")).to_be_visible()
    expect(panel).to_contain_text("Only this computer can open the link")
    nothing_serious(explore, panel, contrast=True)
    explore.in_theme("light")
    expect(panel).to_be_visible()
    nothing_serious(explore, panel, contrast=True)
    explore.keys("Escape")
    nothing_serious_in_panels(explore.in_theme("dark"))
    picker = explore.page.get_by_role("combobox", name="Model", exact=True)
    picker.select_option("your own")
    dialog = explore.page.get_by_role("dialog", name="Another model")
    expect(dialog.get_by_role("button", name="Close")).to_be_focused()
    nothing_serious(explore, dialog, contrast=True)
    explore.keys("Escape")
    expect(dialog).to_be_hidden()
    expect(picker).to_have_value("minilm")
