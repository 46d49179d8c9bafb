"""The sheet of the page Claims."""

from headlight.lessons.course import course
from headlight.lessons.schema import Lesson
from headlight.ui import pages, sheet

OWN_SOURCE = "Headlight’s own question"


def blocks() -> list[sheet.Block]:
    """Return the next claim in large type, and all of them in groups, with links to their steps."""
    return [sheet.claims([(lesson.title, _rows(lesson)) for lesson in course().lessons.values() if lesson.claims])]


def _rows(lesson: Lesson) -> list[tuple[str, str, str, str]]:
    steps = enumerate(lesson.steps, 1)
    return [(s.question, s.source or OWN_SOURCE, lesson.address(n), pages.PAGES[s.page].title) for n, s in steps]
