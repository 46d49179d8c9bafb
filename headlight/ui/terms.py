"""The words of the field, each in one sentence, with the page where one meets it: assets/glossary.toml.

The glossary lists them. On every page the first use of one is marked, and a bubble says its sentence: base/terms.js.
"""

import tomllib
from collections.abc import Sequence
from typing import NamedTuple

from headlight import ROOT


class Term(NamedTuple):
    """A glossary entry.

    Attributes:
        page: the package of the page that shows it.
        everyday: an everyday word too, which texts do not mark.
        also: its synonyms.
    """

    name: str
    meaning: str
    page: str
    everyday: bool = False
    also: Sequence[str] = ()


_FILE = ROOT / "assets" / "glossary.toml"
TERMS = {
    group: tuple(Term(name, **term) for name, term in terms.items())
    for group, terms in tomllib.loads(_FILE.read_text("utf-8")).items()
}
MARKED = {term.name: term.meaning for terms in TERMS.values() for term in terms if not term.everyday}
