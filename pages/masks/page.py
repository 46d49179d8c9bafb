"""Masks: who may look at whom, as rules and painted by hand, with the weights before and after."""

from pages.kit.draw.view import View
from pages.kit.frame import view_page

VIEW = View("painter", "masks", "masks/painter.js")


def show() -> None:
    view_page.show("masks", VIEW)
