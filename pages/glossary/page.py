"""Glossary: every term of the field in one sentence, with a link to a page that uses it."""

from collections.abc import Sequence

from headlight.ui import pages, sheet
from headlight.ui.terms import TERMS, Term
from pages.frame import canvas
from pages.frame.layout import page


def show() -> None:
    """Show a search box, and a card for each group of terms."""
    with page("glossary") as frame, frame.stage:
        canvas.sheet(
            "glossary",
            [
                sheet.notices(frame.notices),
                sheet.search("Search the glossary"),
                sheet.columns([_card(name, terms) for name, terms in TERMS.items()]),
            ],
        )


def _card(name: str, terms: Sequence[Term]) -> sheet.Block:
    rows = [(term.name, term.meaning, pages.path(term.page), pages.PAGES[term.page].title) for term in terms]
    return sheet.panel(name, [sheet.terms(name, rows)])
