"""The page Glossary: every term in one sentence, with its synonyms and the page that shows it."""

from collections.abc import Sequence

from headlight.ui import pages, sheet
from headlight.ui.terms import TERMS, Term
from pages.frame import canvas
from pages.frame.layout import page


def show() -> None:
    """Draw a card for each group of terms; the search of the bar leads to each term."""
    with page("glossary") as frame, frame.stage:
        cards = [_card(name, terms) for name, terms in TERMS.items()]
        canvas.sheet("glossary", [sheet.notices(frame.notices), sheet.columns(cards)])


def _card(name: str, terms: Sequence[Term]) -> sheet.Block:
    rows = [
        (term.name, _meaning(term), pages.path(term.page) + term.query, pages.PAGES[term.page].title) for term in terms
    ]
    return sheet.panel(name, [sheet.terms(name, rows)])


def _meaning(term: Term) -> str:
    return f"{term.meaning} Also called {', '.join(term.also)}." if term.also else term.meaning
