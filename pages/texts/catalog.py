"""The texts: what each has, in its own order and words, and the link that opens that here (assets/texts.toml).

The numbers of parameters that their own models have are counted in models of their sizes.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl

import torch

from headlight.ui import pages
from mha_core import IMPLEMENTATIONS
from mha_core.training.initial_weights import stack_of
from mha_core.training.recipe import defaults

CLASSES = 5  # of the long post's news
MINILM_TOKENS = 30_522  # in the vocabulary that the long post gives up for one of its own
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
    """All of them, with the numbers in their sentences."""
    numbers, by_path = counted(), {pages.path(name): name for name in pages.PAGES}

    def element(name: str, said: str, link: str) -> Element:
        address = link.removeprefix("/")
        return Element(name, said.format(**numbers), by_path[address.partition("?")[0]], address)

    found = tomllib.loads(_FILE.read_text("utf-8"))["texts"]
    return tuple(
        SourceText(text["name"], text["line"], tuple(element(**one) for one in text["elements"])) for text in found
    )


def counted() -> dict[str, int]:
    """Every number that the sentences of the texts name."""
    post, post_embedding = classifier(1000)
    minilm_post, minilm_embedding = classifier(MINILM_TOKENS)
    return {
        "lesson": layer(384, 12, bias=False, out_bias=True),
        "lesson_biased": layer(384, 12, bias=True, out_bias=True),
        "post": post,
        "post_embedding": post_embedding,
        "minilm_tokens": MINILM_TOKENS,
        "minilm_post": minilm_post,
        "minilm_embedding": minilm_embedding,
    }


def classifier(vocabulary: int) -> tuple[int, int]:
    """Parameters of the long post's classifier with so many tokens: all, and those of its embedding."""
    with torch.device("meta"):  # sizes only, no numbers
        model = stack_of(defaults("news"), vocabulary, classes=CLASSES)
    return sum(one.numel() for one in model.parameters()), model.words.weight.numel()


def layer(d_model: int, n_heads: int, *, bias: bool, out_bias: bool) -> int:
    with torch.device("meta"):
        made = IMPLEMENTATIONS["efficient"](d_model, n_heads, bias=bias, out_bias=out_bias)
    return sum(one.numel() for one in made.parameters())
