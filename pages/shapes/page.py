"""Shapes: every tensor on the way through one layer, in any spelling, and two spellings side by side."""

from pages.kit.draw.view import View
from pages.kit.frame import view_page

VIEW = View("step_view", "steps", "shapes/steps.js")


def show() -> None:
    view_page.show("shapes", VIEW)
