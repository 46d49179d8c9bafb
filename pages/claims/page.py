"""Claims: what texts say of attention, and questions of ours; each is a step of the course, judged by the numbers."""

from headlight.lessons.course import course
from headlight.lessons.schema import Lesson
from headlight.ui import pages, sheet
from pages.frame import canvas
from pages.frame.layout import page

OURS = "Headlight’s own question"


def show() -> None:
    """A panel for each group of claims, with the way to each of them."""
    with page("claims") as here, here.stage:
        groups = [panel(lesson) for lesson in course().lessons.values() if lesson.claims]
        canvas.sheet("claims", [sheet.notices([*here.said, *course().errors]), sheet.columns(groups)])


def panel(lesson: Lesson) -> sheet.Block:
    steps = enumerate(lesson.steps, 1)
    rows = [(one.ask, one.source or OURS, lesson.address(at), pages.PAGES[one.page].title) for at, one in steps]
    return sheet.panel(lesson.title, [sheet.terms(lesson.title, rows, long=True)])
