"""Claims: statements of texts and of Headlight, each a step of the course."""

from headlight.lessons.course import course
from headlight.lessons.schema import Lesson
from headlight.ui import pages, sheet
from pages.frame import canvas
from pages.frame.layout import page

OWN_SOURCE = "Headlight’s own question"


def show() -> None:
    """Show a panel for each group of claims, with links to their steps."""
    with page("claims") as frame, frame.stage:
        groups = [_panel(lesson) for lesson in course().lessons.values() if lesson.claims]
        canvas.sheet("claims", [sheet.notices([*frame.notices, *course().errors]), sheet.columns(groups)])


def _panel(lesson: Lesson) -> sheet.Block:
    steps = enumerate(lesson.steps, 1)
    rows = [(s.question, s.source or OWN_SOURCE, lesson.address(n), pages.PAGES[s.page].title) for n, s in steps]
    return sheet.panel(lesson.title, [sheet.terms(lesson.title, rows, long=True)])
