"""Lessons beside the real pages: asked first, shown after the answer, judged by the numbers, given to a class."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, expect

from headlight.lessons.bugs import BUGS
from headlight.lessons.course import course
from headlight.lessons.quantities.bugs import diagnose
from headlight.lessons.verdict import verdict
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.ui.web import PREFIX, SCRIPT
from tests.pages.numbers_shown import assert_shows

from .axe import nothing_serious
from .conftest import NewTab
from .layout import faults_at_every_width
from .lessons_page import Beside, Lessons
from .measures import scrolls_sideways, small_targets, unreadable
from .tab import place_of

COURSE = course()
IT = COURSE.lessons["it"]
# What the title of Explore's map says in each frame, while the curtain is to hide it.
FLASHES = """() => {
  window.flashes = [];
  const look = () => {
    const views = [...document.querySelectorAll("*")].flatMap((host) => (host.shadowRoot ? [host.shadowRoot] : []));
    const titles = views.flatMap((root) => [...root.querySelectorAll(".large h2")]);
    if (document.documentElement.dataset.curtain)
      for (const title of titles)
        if (title.checkVisibility({ visibilityProperty: true })) window.flashes.push(title.textContent);
    requestAnimationFrame(look);
  };
  look();
}"""
WHY_NOT = """async ([prefix, script, name]) => {
  const { open } = await import(`${prefix}/${script}`);
  return open("lessons/course.js").whyNot(name);
}"""
MENU = ".view-menu .menu-panel"


# Steps at which the layout is looked at too: a map, two maps, next words, on a page with and without much beside it.
AT_EVERY_WIDTH = {"silent.3", "capital.3"}
# These lead, beside Explore, over Masks, Compare and SmolLM2; the verdicts of all lessons are judged in tests/pages.
WALKED = ("silent", "capital")
LONG_WALK = pytest.mark.thorough("each lesson is walked as the first one is, through all of its steps")
A_LESSON = pytest.mark.thorough("a second walk through the lesson that the quick tests answer step by step")


@pytest.mark.parametrize("name", ["it", *(pytest.param(name, marks=LONG_WALK) for name in WALKED)])
def test_every_step_is_covered_until_its_answer_which_is_the_cores(name: str, new_tab: NewTab) -> None:
    lesson = COURSE.lessons[name]
    tab = new_tab(Beside).begin(lesson)
    for at, step in enumerate(lesson.steps, 1):
        tab.at(lesson, at)
        expect(tab.lesson.get_by_role("heading", name=step.question)).to_be_visible()
        assert tab.options(step) == [option.text for option in step.choices]
        tab.has_its_curtain(step)
        tab.shows(step)
        at_every_width = f"{name}.{at}" in AT_EVERY_WIDTH
        if at_every_width:
            assert not faults_at_every_width(tab), "under the curtain"
        expect(tab.verdict).to_have_text("")
        expect(tab.lit).to_have_count(0)

        tab.keys(step.answer.lower())
        wanted = verdict(step, Query(urlsplit(tab.page.url).query.encode()))
        expect(tab.verdict.locator("p")).to_have_text([wanted.sentence, step.explanation])
        assert tab.numbers() == [(label, text) for label, _, text in wanted.numbers]
        assert wanted.picked == step.answer
        expect(tab.lit).to_have_text(re.compile(f"^{step.answer}.*as just measured$"))
        assert tab.options(step) == [option.text for option in step.choices]
        assert tab.covered() == 0
        tab.shows(step)
        if at_every_width:
            assert not faults_at_every_width(tab), "answered"
            tab.keys("p")
            tab.wait_for_query(big="true")
            assert not faults_at_every_width(tab), "projected"
            tab.keys("p")
            tab.wait_for_query(big=None)
        if at < len(lesson.steps):
            tab.press("next →")
    expect(tab.lesson.get_by_text(lesson.exercise)).to_be_visible()
    expect(tab.lesson.locator(".breaks")).to_have_text(f"Misconception: {lesson.misconception}")


QUICK = ("reshapes",)
NOT_WALKED = [name for name, lesson in COURSE.lessons.items() if name not in ("it", *WALKED)]


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=LONG_WALK) for name in NOT_WALKED]
)
def test_no_step_of_a_lesson_has_an_empty_stage(name: str, new_tab: NewTab) -> None:
    lesson = COURSE.lessons[name]
    tab = new_tab(Beside)
    for at, step in enumerate(lesson.steps, 1):
        tab.begin(lesson, at).has_its_curtain(step)
        tab.shows(step)
        tab.keys(" ")
        assert tab.covered() == 0
        tab.shows(step)


@A_LESSON
def test_a_lesson_by_keyboard_alone(new_tab: NewTab) -> None:
    tab = new_tab(Beside).begin(IT)
    press, lesson = tab.keys, tab.lesson
    tab.page.evaluate(FLASHES)
    press("2")  # the second option
    expect(tab.lit).to_contain_text(IT.steps[0].choices[1].text)
    press("ArrowRight")
    tab.at(IT, 2)
    press(" ")
    expect(tab.lit).to_have_count(1)
    press(" ")
    tab.at(IT, 3)
    press("ArrowLeft")
    tab.at(IT, 2)
    expect(tab.lit).to_have_count(1)  # what was shown stays so
    tab.page.go_back()
    tab.at(IT, 3)

    # the teacher's notes
    press("n")
    for text in (IT.teacher_notes, "Anyone who opens this lesson can read these notes."):
        expect(lesson.get_by_text(text)).to_be_visible()
    expect(lesson.get_by_role("dialog", name="Teacher’s notes")).to_be_in_viewport(ratio=1)
    press("?")
    expect(lesson.get_by_role("dialog", name="Keys")).to_be_in_viewport(ratio=1)
    press("Escape")
    expect(lesson.get_by_role("dialog")).to_have_count(0)
    press("ArrowRight")
    tab.at(IT, 4)
    assert tab.page.evaluate("window.flashes") == [], "no frame shows what the next curtain hides"

    # out of the lesson
    press("b")
    expect(tab.lit).to_have_count(1)
    press("Shift+Tab")  # from the heading of the step to what stands before it
    assert tab.focused() == "leave the lesson"
    press("Enter")
    expect(lesson).to_be_hidden()
    tab.wait_for_query(learn=None, at="3.1.10.2")
    expect(tab.page.get_by_role("heading", level=1)).to_be_visible()  # the page asks its own question again


@A_LESSON
def test_the_answer_is_in_no_text_or_menu_before_and_is_read_aloud_then(new_tab: NewTab) -> None:
    tab = new_tab(Beside).begin(IT)
    nothing_serious_in_both_themes(tab)
    step, stage = IT.steps[0], tab.page.locator(".st-key-stage")
    numbers = verdict(step, Query(step.query.encode())).numbers
    (weight,) = [text for label, _, text in numbers if label == "it → animal"]
    assert not re.search(rf"{re.escape(weight)}|attends", stage.aria_snapshot())
    panel = tab.lesson.aria_snapshot()
    for part in (f'heading "{IT.title}" [level=1]', f'heading "{step.question}" [level=2]', f'group "{step.question}"'):
        assert part in panel
    for option in step.choices:
        name = f"{option.letter} {option.text}".replace("  ", " ")
        expect(tab.lesson.get_by_role("button", name=name)).to_be_visible()
    assert tab.verdict.text_content() == ""
    no_menu_names_the_answer(tab)
    cell = tab.view.locator(".large .cell")
    cell.focus()
    tab.keys("Home")
    expect(cell).to_have_attribute("aria-label", re.compile(r"^it → \[CLS\] \?"))
    tab.press("On “street”")
    expect(tab.verdict).to_contain_text("B: On “animal”.")
    expect(tab.verdict).to_contain_text(f"it → animal {weight}")
    assert f"“it” attends most to “animal”: {float(weight):.2f}" in stage.aria_snapshot()
    expect(tab.lesson.get_by_role("button", pressed=True)).to_contain_text("your answer")
    expect(tab.view.locator(".lit")).to_be_visible()  # the row in focus
    tab.keys("n")
    nothing_serious_in_both_themes(tab)
    tab.keys("n")


def nothing_serious_in_both_themes(tab: Beside) -> None:
    nothing_serious(tab, contrast=True, least=20)
    nothing_serious(tab.in_theme("light"), only_colours=True, contrast=True, least=20)
    tab.in_theme("dark")


def no_menu_names_the_answer(tab: Beside) -> None:
    """Neither the key that the heads would be sorted by nor what changed most in a layer."""
    menu = tab.page.locator(".view.explore").get_by_role("button", name="view", exact=True)
    expect(menu).to_be_hidden()
    tab.page.keyboard.press("w")  # nothing before the answer
    expect(menu).to_be_hidden()
    expect(sort_of(tab)).to_have_text("sort heads")
    assert "animal" not in str(tab.page.locator(MENU).text_content())


def sort_of(tab: Beside) -> Locator:
    return tab.page.locator(MENU).get_by_role("button", name=re.compile("^sort"), include_hidden=True)


@A_LESSON
def test_hands_are_counted_before_their_teacher_shows_the_answer(new_tab: NewTab) -> None:
    tab = new_tab(Beside).begin(IT, big="true")
    press, panel = tab.keys, tab.lesson
    tab.press("count hands")
    press(*(f"Shift+{key}" for key in "ABBCD"), "Backspace")
    expect(panel.locator(".votes")).to_have_text(["1", "2", "1", "0"])
    press("r", "Shift+B")
    expect(panel.locator(".votes")).to_have_text(["10", "21", "10", "00"])  # both counts stay
    press("c")
    expect(panel.get_by_role("button", pressed=True).filter(has_text="street")).to_have_count(1)
    assert tab.covered() > 0
    expect(tab.verdict).to_have_text("")
    press(".")
    expect(tab.black).to_be_visible()
    press("x")
    expect(tab.black).to_be_hidden()
    panel.get_by_role("button", name="show").click()
    expect(tab.lit).to_contain_text("animal")
    press("PageDown")
    tab.at(IT, 2)
    expect(panel.locator(".votes .bar")).to_have_count(0)
    expect(panel.get_by_role("button", name="count hands")).to_have_attribute("aria-pressed", "true")


@A_LESSON
def test_a_lesson_on_a_phone(new_phone: NewTab) -> None:
    tab = new_phone(Beside).begin(IT)
    picture = tab.view.locator(".large .map")
    for answered in (False, True):
        if answered:
            tab.press("On “animal”")
            expect(tab.verdict).to_be_in_viewport()
        assert scrolls_sideways(tab.page) == 0
        assert small_targets(tab.page) == []
        expect(picture).to_be_in_viewport(ratio=1)
        assert place_of(picture).bottom <= place_of(tab.lesson).y, "the picture first, then the lesson"
    tab.press("whole page")
    expect(tab.view.locator(".sentence")).to_be_visible()
    assert scrolls_sideways(tab.page) == 0
    assert small_targets(tab.page) == []
    assert unreadable(tab.page) == []


@A_LESSON
def test_all_lessons_and_what_was_done(new_tab: NewTab) -> None:
    tab = new_tab(Lessons).open()
    cards = tab.view.locator(".lesson")
    lessons = [lesson.title for lesson in COURSE.lessons.values() if not lesson.claims and not lesson.course]
    assert cards.locator("h2").all_inner_texts() == [*lessons, "True or false?"]
    tab.button("5 minutes").click()
    tab.button("adults").click()
    short = [COURSE.lessons[name].title for name in COURSE.path(5, "adults")]
    assert cards.locator("h2").all_inner_texts() == short
    start = tab.view.locator("a.start")
    expect(start).to_have_text(f"Start (1 lesson, {IT.minutes} min)")
    tab.button("all lessons").click()
    expect(start).to_be_hidden()
    card = cards.filter(has_text=IT.title)
    expect(card.locator(".done > span").last).to_have_text("not started")
    expect(card).to_contain_text("Start here")
    card.locator("a.start-link").click()
    beside = tab.on(Beside).at(IT, 1)
    beside.page.keyboard.press("a")
    beside.go("Lessons")
    expect(card.locator(".done > span").last).to_have_text(f"1 of {len(IT.steps)} done, continue at step 2")
    expect(beside.lesson).to_be_hidden()
    card.locator("a.start-link").click()
    beside.at(IT, 2)


def test_a_step_that_is_not_there(new_tab: NewTab) -> None:
    tab = new_tab(Beside).open(learn="nowhere.1")
    nowhere = "There is no lesson “nowhere”, which the link asks for."
    unread = "The link has “v3:it/1”, which is not a lesson and step such as it.2."
    beyond = f"The lesson “{IT.title}” has {len(IT.steps)} steps; the link asks for step 99."
    expect(tab.verdict.locator("p")).to_have_text(nowhere)
    assert tab.covered() == 0
    for learn, said in {"nowhere.1": nowhere, "it.99": beyond, "v3:it/1": unread}.items():
        assert tab.page.evaluate(WHY_NOT, [PREFIX, SCRIPT, learn]) == said
    tab.press("all lessons")
    expect(tab.page.get_by_role("heading", level=1)).to_have_text("What would you like to find out?")


def test_a_bug_is_guessed_first_and_then_marked_measured_and_seen_in_a_head(new_tab: NewTab) -> None:
    lesson, tab = COURSE.lessons["bug-heads"], new_tab(Beside)
    tab.page.goto(f"{tab.url}/lessons")
    tab.page.get_by_role("button", name="Find the bug").click()
    tab.page.get_by_role("link", name=lesson.title).click()
    tab.at(lesson, 1)
    code, panel = tab.page.locator(".code-lines").first, tab.page.get_by_role("region", name="The verdict")
    marked, maps = code.locator(".marked"), tab.page.get_by_role("region", name="The maps")

    def shows(at: int, text: str) -> None:
        name = Query(lesson.steps[at - 1].query.encode())["lesson"]
        bug, found = BUGS[name], diagnose(Settings(text), 0, name)
        expect(code).to_have_text(bug.code)
        expect(marked).to_have_text([bug.code.splitlines()[line].strip() for _, new in bug.differences for line in new])
        expect(panel.get_by_role("status")).to_contain_text(
            f"Property {bug.number} does not hold: {found.finding.title}."
        )
        expect(panel).to_contain_text(found.finding.reason)
        head = int(found.differences.argmax())
        expect(maps).to_contain_text(f"Head {head} shows it most")
        expect(maps.get_by_role("table")).to_have_count(3)
        cells = maps.get_by_role("table").first.locator("tbody td").all_inner_texts()
        for cell, weight in zip(cells, found.broken[head].flatten(), strict=True):
            assert_shows(cell, float(weight))
        expect(panel.get_by_role("link", name=bug.title)).to_have_attribute("href", f"https://github.com/{bug.thread}")

    tab.has_its_curtain(lesson.steps[0])
    expect(code).to_have_text(BUGS["bug view"].code)  # the question is about it
    expect(marked).to_have_count(0)
    expect(panel.or_(maps)).to_have_count(0)
    assert not faults_at_every_width(tab), "under the curtain"
    tab.page.get_by_role("textbox", name="Sentence").fill("how are you today")  # the visitor's own
    tab.lesson.get_by_role("button", name=lesson.steps[0].choices[1].text).click()
    expect(tab.lit).to_contain_text(lesson.steps[0].choices[2].text)
    expect(tab.lesson.locator(".option", has_text="your answer")).to_contain_text(lesson.steps[0].choices[1].text)
    shows(1, "how are you today")
    assert not faults_at_every_width(tab), "answered"
    nothing_serious(tab)

    tab.press("next →")
    tab.at(lesson, 2)
    expect(marked).to_have_count(0)
    tab.keys(lesson.steps[1].answer.lower())
    expect(tab.lit).to_contain_text(lesson.steps[1].choices[0].text)
    shows(2, "the cat sat on it")
