"""The page Compare: one sentence under two settings, or two sentences, and their difference."""

from pages.frame import view_page
from pages.frame.view import View

VIEW = View("pair_view", "pair", "compare/pair.js")


def show() -> None:
    """Draw the page."""
    view_page.show("compare", VIEW)
