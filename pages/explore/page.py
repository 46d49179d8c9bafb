"""Explore: type a sentence, see every head of a real model, and switch one thing at a time."""

from pages.kit.draw.view import View
from pages.kit.frame import view_page

from . import own_file

VIEW = View("maps", "maps", "explore/explore.js")


def show() -> None:
    view_page.show("explore", VIEW, own_file.show)
