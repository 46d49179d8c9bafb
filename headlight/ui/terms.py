"""The glossary: terms of the field, and the questions of learners, each with one sentence, from assets.

The Glossary lists both. On every page the first use of a term is marked and has a tooltip: base/terms.js.
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


class Question(NamedTuple):
    """A question of learners, from public threads."""

    text: str
    answer: str  # one sentence
    link: str  # address of what shows the answer, or a step of a lesson, as "silent.3"
    also: Sequence[str] = ()  # words of the threads


TERMS = {
    group: tuple(Term(name, **term) for name, term in terms.items()) for group, terms in read_toml("glossary").items()
}
QUESTIONS = tuple(Question(text, **question) for text, question in read_toml("questions").items())
MARKED = {term.name: term.meaning for terms in TERMS.values() for term in terms if not term.everyday}
