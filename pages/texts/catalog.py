"""The texts: what each has, in its own order and words, and the link that opens that here (assets/texts.toml)."""

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl

from pages.kit.draw import pages

from . import sizes

_FILE = Path(__file__).parents[2] / "assets" / "texts.toml"


class Element(NamedTuple):
    """Something that a text has: its name there, what is to be said of it, and where it is here."""

    name: str
    said: str
    page: str
    address: str  # the page's path and what its link says

    @property
    def link(self) -> tuple[tuple[str, str], ...]:
        return tuple(parse_qsl(self.address.partition("?")[2]))


class SourceText(NamedTuple):
    """A text: what it is called here, a line on what it is, and its elements."""

    name: str
    line: str
    elements: tuple[Element, ...]


@cache
def texts() -> tuple[SourceText, ...]:
    """All of them; the numbers in their sentences are counted in models of their sizes."""
    numbers, by_path = sizes.counted(), {pages.path(name): name for name in pages.PAGES}

    def element(name: str, said: str, link: str) -> Element:
        address = link.removeprefix("/")
        return Element(name, said.format(**numbers), by_path[address.partition("?")[0]], address)

    found = tomllib.loads(_FILE.read_text("utf-8"))["texts"]
    return tuple(
        SourceText(text["name"], text["line"], tuple(element(**one) for one in text["elements"])) for text in found
    )
