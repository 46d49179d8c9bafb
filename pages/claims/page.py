"""Claims: statements of texts and of Headlight, each a step of the course."""

from headlight.lessons.course import course
from headlight.ui import sheet
from pages.claims.blocks import blocks
from pages.frame import canvas
from pages.frame.layout import page


def show() -> None:
    """Show the next claim in large type, and all of them in groups, with links to their steps."""
    with page("claims") as frame, frame.stage:
        canvas.sheet("claims", [sheet.notices([*frame.notices, *course().errors]), *blocks()])
