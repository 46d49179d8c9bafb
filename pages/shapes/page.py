"""Shapes: every tensor on the way through one layer, in any spelling, and two spellings side by side."""

from pages.frame import view_page
from pages.frame.view import View

VIEW = View("step_view", "steps", "shapes/steps.js")


def show() -> None:
    view_page.show("shapes", VIEW)
