"""Texts: a card a text, its elements in its order, each with the link that opens it here."""

import streamlit as st

from headlight.ui import pages, sheet
from headlight.ui.web import PREFIX, TUTORIAL
from pages.frame import canvas
from pages.frame.layout import page

from .catalog import SourceText, texts


def show() -> None:
    """The cards, and the tutorial to take along."""
    with page("texts") as here, here.stage:
        canvas.sheet("texts", [sheet.notices(here.said), sheet.columns([card(text) for text in texts()])])
        st.link_button("The tutorial as a notebook, .ipynb", f"{PREFIX}/{TUTORIAL.name}")


def card(text: SourceText) -> sheet.Block:
    rows = [(one.name, one.said, one.address, pages.PAGES[one.page].title) for one in text.elements]
    return sheet.panel(text.name, [sheet.terms(text.name, rows, long=True)], text.line)
