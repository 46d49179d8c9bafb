"""The page Glossary: the questions of learners and every term, in one sentence, with what shows it."""

from collections.abc import Sequence

import streamlit as st

from headlight.ui import pages, sheet
from headlight.ui.terms import QUESTIONS, TERMS, Term
from pages.frame import canvas
from pages.frame.layout import page


def show() -> None:
    """Draw the folded questions and a card for each group of terms; the search of the bar leads to all."""
    with page("glossary") as frame, frame.stage:
        with st.expander("Questions that learners ask", key="folded_questions"):
            canvas.sheet("questions", [_questions()])
        cards = [_card(name, terms) for name, terms in TERMS.items()]
        canvas.sheet("glossary", [sheet.notices(frame.notices), sheet.columns(cards)])


def _questions() -> sheet.Block:
    from headlight.lessons.course import course  # imports the core, for which the first page must not wait

    addresses = [course().address(question.link) for question in QUESTIONS]
    rows = [
        (question.text, question.answer, address, pages.PAGES[pages.page_at(address)].title)
        for question, address in zip(QUESTIONS, addresses, strict=True)
    ]
    return sheet.terms("questions", rows, long=True)


def _card(name: str, terms: Sequence[Term]) -> sheet.Block:
    rows = [
        (term.name, _meaning(term), pages.path(term.page) + term.query, pages.PAGES[term.page].title) for term in terms
    ]
    return sheet.panel(name, [sheet.terms(name, rows)])


def _meaning(term: Term) -> str:
    return f"{term.meaning} Also called {', '.join(term.also)}." if term.also else term.meaning
