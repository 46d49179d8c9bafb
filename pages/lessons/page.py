"""Lessons: a card with its progress for each lesson and one for the claims, and paths by time and audience.

Below it lists the elements of some texts in their order, each with a link to its counterpart here.
"""

import streamlit as st

from headlight.lessons.course import course
from headlight.ui import sheet
from headlight.ui.web import PREFIX, TUTORIAL
from pages.frame import canvas
from pages.frame.layout import page
from pages.lessons.blocks import blocks


def show() -> None:
    """Show errors in lesson files, the cards of lessons and claims, and the texts."""
    with page("lessons") as frame, frame.stage:
        canvas.sheet("lessons", [sheet.notices([*frame.notices, *course().errors]), *blocks()])
        st.link_button("The tutorial as a notebook, .ipynb", f"{PREFIX}/{TUTORIAL.name}")
