"""The page Shapes: every tensor of a layer in any implementation, and two implementations side by side."""

from pages.frame import view_page
from pages.frame.view import View

VIEW = View("step_view", "steps", "shapes/steps.js")


def show() -> None:
    """Draw the page."""
    view_page.show("shapes", VIEW)
