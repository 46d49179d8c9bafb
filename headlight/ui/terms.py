"""The glossary: terms of the field with one sentence each, from assets/glossary.toml.

The Glossary lists them. On every page the first use of a term is marked and has a tooltip: base/terms.js.
"""

from collections.abc import Sequence
from typing import NamedTuple

from headlight import read_toml


class Term(NamedTuple):
    """A term of the glossary."""

    name: str
    meaning: str  # its meaning, one sentence
    page: str  # package of the page that shows it
    everyday: bool = False  # an everyday word, which is not marked
    also: Sequence[str] = ()  # its synonyms
    query: str = ""  # of the page's address, and the place on it, as "?lesson=dropout#at-lesson-room"


TERMS = {
    group: tuple(Term(name, **term) for name, term in terms.items()) for group, terms in read_toml("glossary").items()
}
MARKED = {term.name: term.meaning for terms in TERMS.values() for term in terms if not term.everyday}
