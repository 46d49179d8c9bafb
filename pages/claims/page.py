"""Claims: statements of texts and of Headlight, each a step of the course."""

from headlight.lessons.course import course
from headlight.lessons.schema import Lesson
from headlight.ui import pages, sheet
from pages.frame import canvas
from pages.frame.layout import page

OWN_SOURCE = "Headlight’s own question"


def show() -> None:
    """Show the next claim in large type, and all of them in groups, with links to their steps."""
    with page("claims") as frame, frame.stage:
        groups = [(lesson.title, _rows(lesson)) for lesson in course().lessons.values() if lesson.claims]
        canvas.sheet("claims", [sheet.notices([*frame.notices, *course().errors]), sheet.claims(groups)])


def _rows(lesson: Lesson) -> list[tuple[str, str, str, str]]:
    steps = enumerate(lesson.steps, 1)
    return [(s.question, s.source or OWN_SOURCE, lesson.address(n), pages.PAGES[s.page].title) for n, s in steps]
