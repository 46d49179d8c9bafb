"""The sheet of the page Lessons: the cards of lessons and claims, and the texts."""

from typing import Any

from headlight import read_toml
from headlight.lessons.course import Course, course
from headlight.lessons.schema import AUDIENCES, PATHS, Lesson
from headlight.ui import pages, sheet

_TEXTS = read_toml("texts")["texts"]


def blocks() -> list[sheet.Block]:
    """Return the cards and the texts."""
    lessons = course()
    cards = [card(lesson) for lesson in lessons.lessons.values() if not lesson.claims]
    if lessons.claims():
        cards.append(claims_card(lessons))
    title = sheet.title("Coming from a tutorial? Find its parts here.")
    return [sheet.lessons(cards, paths(lessons)), title, sheet.columns(texts(lessons))]


def card(lesson: Lesson) -> dict[str, Any]:
    """Return the data of a lesson's card."""
    facts = {key: getattr(lesson, key) for key in ("id", "course", "title", "objective", "minutes")}
    steps = [lesson.address(number) for number in range(1, len(lesson.steps) + 1)]
    return facts | {"steps": steps, "audiences": list(lesson.audiences)}


def claims_card(lessons: Course) -> dict[str, Any]:
    """Return the data of the card of all claims, which has no id."""
    minutes = sum(lesson.minutes for lesson in lessons.lessons.values() if lesson.claims)
    texts = {"title": "True or false?", "objective": pages.PAGES["claims"].line, "minutes": minutes}
    return texts | {
        "id": "",
        "course": "",
        "steps": [*lessons.claims().values()],
        "audiences": ["students", "engineers"],
    }


def paths(lessons: Course) -> list[dict[str, Any]]:
    """Return every non-empty path through the course: minutes, audience, and the steps of each lesson."""
    options = [(minutes, audience, lessons.path(minutes, audience)) for minutes in PATHS for audience in AUDIENCES]
    return [
        {"minutes": minutes, "audience": audience, "lessons": {lesson: list(steps) for lesson, steps in path.items()}}
        for minutes, audience, path in options
        if path
    ]


def texts(lessons: Course) -> list[sheet.Block]:
    """Return a panel for each text of assets/texts.toml; its claims link to steps of the course."""
    claims, by_path = lessons.claims(), {pages.path(name): info.title for name, info in pages.PAGES.items()}

    def row(element: dict[str, str]) -> tuple[str, str, str, str]:
        claim = element["link"].removeprefix("/claims?claim=")
        address = f"{claims[claim]}#at-headlight-lesson" if claim in claims else element["link"].removeprefix("/")
        title = "Claims" if claim in claims else by_path[address.partition("?")[0]]
        return element["name"], element["said"], address, title

    return [
        sheet.panel(
            text["name"],
            [sheet.terms(text["name"], [*map(row, text["elements"])], long=True)],
            text["line"],
        )
        for text in _TEXTS
    ]
