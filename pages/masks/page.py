"""Masks: who may look at whom, as rules and painted by hand, with the weights before and after."""

from pages.frame import view_page
from pages.frame.view import View

VIEW = View("painter", "masks", "masks/painter.js")


def show() -> None:
    view_page.show("masks", VIEW)
