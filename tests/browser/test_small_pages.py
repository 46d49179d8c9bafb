"""Positions, Implementations, Claims, Scaled dot product and the texts in a browser: what each page is for."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from headlight.lessons.course import course
from headlight.link.fields import DEFAULTS
from headlight.ui.pages import PAGES
from headlight.ui.terms import MARKED
from mha_core import IMPLEMENTATIONS
from pages.implementations.sources import FORMS
from pages.positions.portraits import TEXTS

from .conftest import NewTab
from .expected import WIDE
from .form_pages import ByHand, Implementations, Positions
from .lessons_page import Beside, Lessons
from .measures import height
from .plain_pages import Claims
from .shapes_page import Shapes
from .tab import place_of

COURSE = course()
CLAIMS = [(lesson, at, step) for lesson in COURSE.lessons.values() for at, step in enumerate(lesson.steps, 1)]
# a text -> one of its elements, and what stands on the page that its link opens
FOLLOWED = {
    "Lesson with three helpers": ("define your own", "Write attention yourself"),
    "Notebook in einsum": ("D", "its formula has ⟨k_s, q_t⟩"),
}


def fits_in_three_windows(page: Page) -> bool:
    """Whether what a page opens with takes few windows; how high its lines are is left to the fonts."""
    return height(page) <= 3 * int(page.evaluate("innerHeight"))


def test_an_encoding_is_chosen_by_its_map_and_a_position_by_keyboard(positions: Positions) -> None:
    positions.open()
    left, right = (place_of(positions.part(f"{TEXTS[name]['title']}: picture")) for name in ("sinusoidal", "learned"))
    assert right.x >= left.right
    assert abs(right.y - left.y) < 2
    assert fits_in_three_windows(positions.page)
    large = positions.page.locator(".enlarged")
    expect(large.get_by_role("heading")).to_contain_text("As trained: layer 0 head 2 has a mean weight of 1.00")
    positions.map("ALiBi").focus()
    positions.keys("Enter")
    expect(large.get_by_role("heading")).to_contain_text("ALiBi: layer 0 head 2")
    expect(positions.map("ALiBi")).to_have_attribute("aria-pressed", "true")
    expect(positions.heading(TEXTS["alibi"]["title"])).to_be_visible()
    positions.wait_for_query(enc="alibi")
    expect(positions.map("ALiBi")).to_be_focused()
    positions.page.go_back()  # the act is undone on the same page
    expect(large.get_by_role("heading")).not_to_contain_text("ALiBi")
    positions.wait_for_query(enc=None)


def test_implementations_are_timed_until_they_are_stopped(implementations: Implementations) -> None:
    page = implementations.open(n="8", d="12", h="3", secs="20").page
    page.get_by_role("button", name="Start", exact=True).press("Enter")  # no pointer: what is drawn above moves it away
    page.get_by_role("button", name="Stop", exact=True).press("Enter")
    page.get_by_text("Stopped; no result is kept.").wait_for()
    implementations.settled()
    page.get_by_role("spinbutton", name="Seconds").fill("1")
    page.keyboard.press("Enter")
    implementations.wait_for_query(secs="1")
    page.get_by_role("button", name="Start", exact=True).press("Enter")
    expect(page.get_by_role("table").filter(has_text="median ms").get_by_role("row")).to_have_count(9)


def test_a_plain_form_is_copied_and_downloaded(implementations: Implementations) -> None:
    page = implementations.open(impl="naive", beside="sdpa").page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    with page.expect_download() as download:
        page.get_by_role("link", name="naive_attention.py").click()
    assert download.value.path().read_text(encoding="utf-8") == "\n".join([*FORMS["naive"], ""])
    page.get_by_role("button", name="copy code").nth(1).click()
    expect(page.get_by_role("button", name="copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "\n".join([*FORMS["sdpa"], ""])


def test_all_implementations_give_the_same_numbers_under_another_mask(implementations: Implementations) -> None:
    assert fits_in_three_windows(implementations.open().page)
    before = implementations.differences()
    implementations.page.get_by_role("textbox", name="Sentence", exact=True).fill(WIDE)
    implementations.page.get_by_role("button", name="Mask: no mask").click()
    implementations.page.get_by_role("radio", name="causal").check(force=True)
    implementations.wait_for_query(mask="causal")
    implementations.until(lambda: implementations.differences()[0] != before[0], "the numbers follow")
    after = implementations.settled().differences()
    assert implementations.notices() == []
    for rows in (*before, *after):
        assert [row[0] for row in rows] == list(IMPLEMENTATIONS)
        assert {row[-1] for row in rows} == {"OK"}
    assert (len(before), len(after)) == (4, 4)


def test_a_claim_is_answered_by_keyboard_and_a_term_explained(new_tab: NewTab) -> None:
    claims = new_tab(Claims).open()
    lesson, at, own = next(one for one in CLAIMS if one[2].claim == "order")
    own_claims = [step for *_, step in CLAIMS if step.claim]
    large = claims.view.locator(".next-claim")
    expect(large.get_by_role("heading")).to_have_text(own_claims[0].question)
    large.get_by_role("button", name="It depends").press("Enter")
    answered = claims.on(Beside)
    expect(answered.lesson.locator(".option[aria-pressed=true]")).to_contain_text("It depends")
    expect(answered.verdict).to_contain_text(re.compile("[ABC]: "))
    claims.page.go_back()
    expect(large.get_by_role("heading")).to_have_text(own_claims[1].question)
    expect(claims.view.locator("li", has_text="answered")).to_have_count(1)
    claims.view.get_by_role("link", name=own.question).press("Enter")
    beside = claims.on(Beside).at(lesson, at)
    expect(beside.lesson.get_by_role("heading", name=own.question)).to_be_visible()
    assert beside.verdict.inner_text() == ""
    beside.page.keyboard.press("a")
    expect(beside.lit).to_contain_text("True")
    expect(beside.verdict).to_contain_text("A: True.")
    beside.page.keyboard.press("PageDown")
    beside.at(lesson, at + 1)
    expect(beside.lesson.get_by_role("heading", name=lesson.steps[at].question)).to_be_visible()

    # terms by keyboard and by mouse
    tab = new_tab(Positions).open()
    first, second = (tab.page.locator(".term-word").nth(at) for at in (0, 1))
    bubble = tab.page.locator("#headlight-term")
    first.focus()
    expect(bubble).to_have_text(MARKED[first.inner_text().lower()])
    tab.keys("Escape")
    expect(bubble).to_be_empty()
    first.press(" ")
    expect(bubble).to_have_text(MARKED[first.inner_text().lower()])
    tab.page.get_by_role("link").last.focus()
    expect(bubble).to_be_empty()
    second.hover()
    expect(bubble).to_have_text(MARKED[second.inner_text().lower()])


def test_a_case_by_one_click_its_formula_and_a_step_of_the_figure(new_tab: NewTab) -> None:
    tab = new_tab(ByHand).open(ex="scaled dot product", qs="3, 6")
    assert fits_in_three_windows(tab.page)
    formula = tab.page.locator("math").first
    expect(formula).to_contain_text("3×6")
    tab.page.get_by_role("button", name="values of another width", exact=True).click()
    tab.wait_for_query(qs=None, kv="both from elsewhere", nk="5", wv="4")
    expect(formula).to_contain_text("6×5")
    # MathML is laid out, not written in a line: a fraction is higher than its numerator
    over, whole = formula.locator("mfrac > *").first, formula.locator("mfrac")
    assert place_of(whole).height > place_of(over).height > 0
    tab.page.get_by_role("link", name="SoftMax over the keys").click()
    tab.page.wait_for_url("**/shapes?**")
    assert tab.on(Shapes).settled().query == {"step": ["weights"]}


@pytest.mark.thorough("Follows a link of each of two texts, each to another page.")
def test_one_link_of_each_text_opens_that_very_thing_and_the_tutorial_is_taken_along(new_tab: NewTab) -> None:
    tab = new_tab(Lessons).open()
    link = tab.page.get_by_role("link", name="The tutorial as a notebook").get_attribute("href") or ""
    assert link.endswith("/tutorial.ipynb")
    book = tab.page.request.get(f"{tab.url}{link}").json()
    assert "Write it yourself" in "".join("".join(cell["source"]) for cell in book["cells"])
    for text, (name, seen) in FOLLOWED.items():
        card = tab.page.get_by_role("region", name=text, exact=True)
        row = next(one for one in card.locator(".term").all() if one.locator("dt").inner_text() == name)
        asked = parse_qs(urlsplit(row.get_by_role("link").get_attribute("href") or "").query)
        row.get_by_role("link").click()
        expect(tab.page.get_by_text(seen).first).to_be_visible()
        wanted = {key: value for key, value in asked.items() if value != [DEFAULTS[key]]}  # a link leaves defaults out
        tab.until(lambda wanted=wanted: tab.query == wanted, "its link")  # type: ignore[misc]
        tab.go("Lessons")
        expect(tab.page.get_by_role("heading", level=1)).to_have_text(PAGES["lessons"].question)
        tab.settled()
