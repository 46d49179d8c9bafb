"""Texts: a card a text, its elements in its order, each with the link that opens it here."""

from __future__ import annotations

from pages.kit.draw import canvas, pages, sheet
from pages.kit.frame.layout import page
from pages.kit.frame.share import offer_tutorial

from .catalog import Text, texts


def show() -> None:
    """The cards, and the tutorial to take along."""
    with page("texts") as here, here.stage:
        canvas.sheet("texts", [sheet.notices(here.answer_link()), sheet.columns([card(text) for text in texts()])])
        offer_tutorial("tutorial")


def card(text: Text) -> sheet.Block:
    """A text with what it has."""
    rows = [(one.name, one.said, one.address, pages.PAGES[one.page].title) for one in text.elements]
    return sheet.panel(text.name, [sheet.terms(text.name, rows, long=True)], text.line)
