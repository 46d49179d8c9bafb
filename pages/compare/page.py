"""Compare: one sentence under two settings, or two sentences, with the difference and what it says."""

from pages.kit.draw.view import View
from pages.kit.frame import view_page

VIEW = View("pair_view", "pair", "compare/pair.js")


def show() -> None:
    view_page.show("compare", VIEW)
