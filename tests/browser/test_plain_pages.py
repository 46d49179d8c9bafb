"""Claims by keyboard, a case of Scaled dot product by one click, and a link of each text, followed to what it opens."""

from __future__ import annotations

from playwright.sync_api import expect

from pages.claims.page import OURS, by_name
from pages.kit.draw.pages import PAGES
from pages.kit.draw.terms import MARKED
from pages.kit.lessons.course import claims as read_claims
from pages.kit.picture.fields import DEFAULTS
from pages.texts.catalog import texts

from .conftest import NewTab
from .measures import height
from .plain_pages import Claims, ScaledDot, Texts
from .shapes_page import Shapes
from .tab import place_of

CLAIMS = by_name(read_claims())
# a text -> one of its elements, and what stands on the page that its link opens
FOLLOWED = {
    "Annotated code, time first": ("prepare_mask", "prepare_mask: mask (q|1, k, b|1), then unsqueeze(-1)"),
    "Lesson with three helpers": ("define your own", "Write attention yourself"),
    "Long post on attention from scratch": ("stacked weights", "the second is the product with W₂"),
    "Notebook in einsum": ("D", "its formula has ⟨k_s, q_t⟩"),
}


def test_a_claim_is_answered_by_keyboard_and_a_question_of_ours_is_told_as_ours(new_tab: NewTab) -> None:
    claims = new_tab(Claims).open(claim="order")
    (_, own), (following, _) = CLAIMS["order"], CLAIMS["news"]
    expect(claims.view.get_by_role("heading", name=f"“{own.said}”")).to_be_visible()
    expect(claims.view.get_by_text(own.source, exact=True)).to_be_visible()
    expect(claims.view.locator(".cards button[aria-pressed=true] strong")).to_have_text(f"“{own.said}”")
    verdict = claims.view.locator(".verdict")
    expect(verdict).to_have_role("status")
    assert verdict.inner_text() == ""

    claims.view.get_by_role("button", name="True", exact=True).press("Enter")
    expect(verdict).to_contain_text("so do the numbers")
    claims.wait_for_query(claim=["order"], say=["true"])
    assert claims.focused() == "True"

    claims.view.get_by_role("button", name="next claim", exact=True).press("Enter")
    expect(claims.view.get_by_text(following.ask)).to_have_attribute("aria-live", "polite")
    claims.wait_for_query(claim=["news"], say=None)
    assert verdict.inner_text() == ""
    assert claims.focused() == "next claim"

    claims.view.locator(".cards button").filter(has_text=CLAIMS["symmetric"][1].said).click()
    expect(claims.view.get_by_role("heading", name=CLAIMS["symmetric"][1].said, exact=True)).to_be_visible()
    expect(claims.view.get_by_text(OURS, exact=True)).to_be_visible()
    assert "“" not in claims.view.get_by_role("heading").first.inner_text()

    word, bubble = claims.view.get_by_role("button", name="layer", exact=True), claims.page.locator("#headlight-term")
    word.focus()
    expect(bubble).to_have_text(MARKED["layer"])
    claims.keys("Escape")
    expect(bubble).to_be_empty()
    word.press(" ")
    expect(bubble).to_have_text(MARKED["layer"])
    claims.view.get_by_role("button", name="True", exact=True).focus()
    expect(bubble).to_be_empty()
    claims.view.get_by_role("button", name="embeddings", exact=True).hover()
    expect(bubble).to_have_text(MARKED["embedding"])


def test_a_case_by_one_click_its_formula_and_a_box_of_the_figure(new_tab: NewTab) -> None:
    tab = new_tab(ScaledDot).open(qs="3, 6", s="how are you")
    assert height(tab.settled().page) <= 2400
    formula = tab.page.locator("math").first
    expect(formula).to_contain_text("3×6")
    tab.page.get_by_role("button", name="values of another width", exact=True).click()
    tab.wait_for_query(qs=None, kv="both from elsewhere", nk="5", wv="4")
    expect(formula).to_contain_text("6×5")
    # MathML is laid out, not spelled out in a line: a fraction is higher than its numerator
    over, whole = formula.locator("mfrac > *").first, formula.locator("mfrac")
    assert place_of(whole).height > place_of(over).height > 0
    tab.page.get_by_role("link", name="SoftMax over the keys: opens the step weights on Shapes").click()
    tab.page.wait_for_url("**/shapes?**")
    shapes = tab.on(Shapes).settled()
    assert shapes.query["step"] == ["weights"]
    assert shapes.query["s"] == ["how are you"]


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
