"""One link of each text, followed to what it opens; and the tutorial, taken along."""

from __future__ import annotations

from playwright.sync_api import expect

from pages.kit.draw.pages import PAGES
from pages.kit.picture.fields import DEFAULTS
from pages.texts.catalog import texts

from .conftest import NewTab
from .texts_page import Texts

# a text -> one of its elements, and what stands on the page that its link opens
FOLLOWED = {
    "Annotated code, time first": ("prepare_mask", "prepare_mask: mask (q|1, k, b|1), then unsqueeze(-1)"),
    "Lesson with three helpers": ("define your own", "Write attention yourself"),
    "Long post on attention from scratch": ("stacked weights", "the second is the product with W₂"),
    "Notebook in einsum": ("D", "its formula has ⟨k_s, q_t⟩"),
}


def test_one_link_of_each_text_opens_that_very_thing_and_the_tutorial_is_taken_along(new_tab: NewTab) -> None:
    tab = new_tab(Texts).open()
    link = tab.page.get_by_role("link", name="The tutorial as a notebook").get_attribute("href")
    assert link
    assert link.endswith("/tutorial.ipynb")
    book = tab.page.request.get(f"{tab.url}{link}").json()
    assert "Write it yourself" in "".join("".join(cell["source"]) for cell in book["cells"])
    for text in FOLLOWED:
        a_link_opens_that_very_thing(tab, text)
        tab.house.get_by_role("link", name="Texts", exact=True).click()
        expect(tab.page.get_by_role("heading", level=1)).to_have_text(PAGES["texts"].question)
        tab.settled()


def a_link_opens_that_very_thing(tab: Texts, text: str) -> None:
    name, seen = FOLLOWED[text]
    (element,) = [one for own in texts() if own.name == text for one in own.elements if one.name == name]
    card = tab.page.get_by_role("region", name=text, exact=True)
    row = next(one for one in card.locator(".term").all() if one.locator("dt").inner_text() == name)
    row.get_by_role("link").click()
    expect(tab.page.get_by_role("heading", level=1)).to_have_text(PAGES[element.page].question)
    expect(tab.page.get_by_text(seen).first).to_be_visible()
    wanted = {key: [value] for key, value in element.link if value != DEFAULTS[key]}  # a link leaves defaults out
    tab.until(lambda: tab.query == wanted, "its link")
