"""The page Glossary: the questions of learners and every term, in one sentence, with what shows it."""

import streamlit as st

from headlight.ui import sheet
from pages.frame import canvas
from pages.frame.layout import page
from pages.glossary.blocks import TITLE, blocks, questions


def show() -> None:
    """Draw the folded questions and a card for each group of terms; the search of the bar leads to all."""
    with page("glossary") as frame, frame.stage:
        with st.expander(TITLE, key="folded_questions"):
            canvas.sheet("questions", [questions()])
        canvas.sheet("glossary", [sheet.notices(frame.notices), *blocks()])
