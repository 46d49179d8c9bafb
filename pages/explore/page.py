"""Explore: type a sentence, see every head of a real model, and switch one thing at a time."""

from pages.frame import view_page
from pages.frame.view import View

from . import own_file

VIEW = View("maps", "maps", "explore/explore.js")


def show() -> None:
    view_page.show("explore", VIEW, own_file.show)
