"""Compare: one sentence under two settings, or two sentences, with the difference and what it says."""

from pages.frame import view_page
from pages.frame.view import View

VIEW = View("pair_view", "pair", "compare/pair.js")


def show() -> None:
    view_page.show("compare", VIEW)
