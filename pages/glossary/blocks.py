"""The sheets of the page Glossary: the questions of learners, and the terms."""

from collections.abc import Sequence

from headlight.ui import pages, sheet
from headlight.ui.terms import QUESTIONS, TERMS, Term

TITLE = "Questions that learners ask"


def blocks() -> list[sheet.Block]:
    """Return a card for each group of terms."""
    return [sheet.columns([_card(name, terms) for name, terms in TERMS.items()])]


def questions() -> sheet.Block:
    """Return the questions with their answers."""
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
