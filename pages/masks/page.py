"""Masks page: which tokens may look at which, as rules or painted, with the weights before and after."""

from pages.frame import view_page
from pages.frame.view import View

VIEW = View("painter", "masks", "masks/painter.js")


def show() -> None:
    """Show the page."""
    view_page.show("masks", VIEW)
