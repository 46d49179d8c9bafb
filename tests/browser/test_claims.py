"""Claims in the browser: answered by keyboard, read aloud, and on to the next one."""

from __future__ import annotations

from playwright.sync_api import expect

from pages.claims.page import OURS, by_name
from pages.kit.draw.terms import MARKED
from pages.kit.lessons.course import claims as read_claims

from .claims_page import Claims
from .conftest import NewTab

CLAIMS = by_name(read_claims())


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
    claims.page.keyboard.press("Escape")
    expect(bubble).to_be_empty()
    word.press(" ")
    expect(bubble).to_have_text(MARKED["layer"])
    claims.view.get_by_role("button", name="True", exact=True).focus()
    expect(bubble).to_be_empty()
    claims.view.get_by_role("button", name="embeddings", exact=True).hover()
    expect(bubble).to_have_text(MARKED["embedding"])
