"""What is looked at in a picture, and its texts in the link: `at` = layer.head.row.key, `look` = how it is drawn, and
`view` = another view of the run under the large map.

Parsing and writing only. All numbers count from 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .limits import MAX_LOOK_LENGTH

DEFAULT_AT = "3.1"
_PLACES = r"\d{1,4}(-\d{1,4})*"
SCALES = ("root", "linear", "own")
_DRAWN = ("nospecials", "all", "open", "table", "lines", "sort", "difference")
MEANS = ("mean", "meanall", "meanseen")  # of a layer's heads, of all layers', of those in sight
VIEWS = ("heads", "flow", "channels")  # as assets/web/explore/other_views.js has them
_SWITCHES = (*_DRAWN, "surprise", *MEANS, "values", "words", "nofirst", "renorm")


@dataclass(frozen=True)
class Cursor:
    """Layer and head in focus; `row` is the query in focus and `key` a chosen key, None = chosen by the page."""

    layer: int
    head: int
    row: int | None = None
    key: int | None = None

    def __str__(self) -> str:
        numbers = [self.layer, self.head]
        if self.row is not None:
            numbers += [self.row] if self.key is None else [self.row, self.key]
        return ".".join(map(str, numbers))

    @classmethod
    def of(cls, text: str) -> Cursor:
        """What a usable text says."""
        return cls(*(int(number) for number in text.split(".")))

    def fits(self, tokens: Sequence[str], columns: Sequence[str] | None = None) -> bool:
        """True when the sentence has this row and key; `columns`: what has the key, where that is another."""
        sides = ((self.row, tokens), (self.key, tokens if columns is None else columns))
        return all(place is None or place < len(side) for place, side in sides)

    def on(self, tokens: Sequence[str], columns: Sequence[str] | None = None, *, goes_on: bool = False) -> Cursor:
        """The same on a sentence: a row or key that it does not have is dropped, and a missing row is chosen.

        Chosen is the first "it", whose referent is the classic question; otherwise the first word, and of a text
        that the model goes on with the last one.
        """
        n = len(tokens)
        if self.row is not None and self.row < n:
            return self if self.fits(tokens, columns) else replace(self, key=None)
        row = n - 1 if goes_on else tokens.index("it") if "it" in tokens else min(1, n - 1)
        return replace(self, row=row, key=None)


@dataclass(frozen=True)
class DisplayOptions:
    """How the maps are drawn; nothing here changes a number."""

    scale: str = "root"
    switches: frozenset[str] = frozenset()
    hidden: frozenset[tuple[int, int]] = field(default_factory=frozenset)
    solo: tuple[int, int] | None = None
    keys: tuple[int, ...] = ()  # chosen beside the one of the place, sorted

    @property
    def mean(self) -> str:
        """Which of `MEANS` stands in the place of one head's map, "" for none."""
        return next((kind for kind in MEANS if kind in self.switches), "")

    def __str__(self) -> str:
        words = [] if self.scale == "root" else [self.scale]
        words += [switch for switch in _SWITCHES if switch in self.switches]
        words += ["hide" + write_heads(self.hidden)] if self.hidden else []
        words += ["solo" + write_heads([self.solo])] if self.solo else []
        words += ["keys" + write_places(self.keys)] if self.keys else []
        return "_".join(words)


def parse_at(text: str, layers: int, heads: int) -> Cursor | None:
    """`at` of a link, None when it is not one of this model's."""
    if not re.fullmatch(r"\d{1,4}\.\d{1,4}(\.\d{1,4}(\.\d{1,4})?)?", text, re.ASCII):
        return None
    numbers = [int(number) for number in text.split(".")]
    return Cursor.of(text) if numbers[0] < layers and numbers[1] < heads else None


def parse_look(text: str, layers: int, heads: int) -> DisplayOptions | None:
    """`look` of a link, None when a word of it is not known or it is too long."""
    if len(text) > MAX_LOOK_LENGTH:
        return None
    scale, switches, hidden, solo = "root", set(), frozenset[tuple[int, int]](), None
    keys: tuple[int, ...] = ()
    for word in text.split("_") if text else []:
        if word in SCALES:
            scale = word
        elif word in _SWITCHES:
            switches.add(word)
        elif word == "random":
            continue  # of older links: heads are measured on random tokens in the view of all heads
        elif word.startswith("hide") and (found := parse_heads(word[4:], layers, heads)):
            hidden = frozenset(found)
        elif word.startswith("solo") and (found := parse_heads(word[4:], layers, heads)) and len(found) == 1:
            solo = found[0]
        elif word.startswith("keys") and (places := parse_places(word[4:])):
            keys = places
        else:
            return None
    return DisplayOptions(scale, frozenset(switches), hidden, solo, keys)


def parse_view(text: str) -> tuple[str, str]:
    """`heads.previous.entropy` -> `heads` and its own state, `previous.entropy`; two empty texts of what is no view."""
    name, _, state = text.partition(".")
    return (name, state) if name in VIEWS else ("", "")


def parse_heads(text: str, layers: int, heads: int) -> tuple[tuple[int, int], ...] | None:
    """ "3.5-3.9" -> ((3, 5), (3, 9)), sorted and without repeats; "" is none; None when it names what is not there."""
    if not text:
        return ()
    if not re.fullmatch(r"\d{1,4}\.\d{1,4}(-\d{1,4}\.\d{1,4})*", text, re.ASCII):
        return None
    pairs = {(int(layer), int(head)) for layer, head in (pair.split(".") for pair in text.split("-"))}
    return tuple(sorted(pairs)) if all(layer < layers and head < heads for layer, head in pairs) else None


def write_heads(pairs: frozenset[tuple[int, int]] | tuple[tuple[int, int], ...] | list[tuple[int, int]]) -> str:
    return "-".join(f"{layer}.{head}" for layer, head in sorted(pairs))


def parse_places(text: str) -> tuple[int, ...] | None:
    """Tokens of a link, "4-0" -> (0, 4), sorted and without repeats; "" is none; None when it is no such text."""
    if not text:
        return ()
    return tuple(sorted(set(map(int, text.split("-"))))) if re.fullmatch(_PLACES, text, re.ASCII) else None


def write_places(places: Sequence[int]) -> str:
    return "-".join(map(str, places))


def head_name(layer: int, head: int) -> str:
    """The name of a head in the control and in the link."""
    return f"L{layer} H{head}"


def named_heads(layers: int, heads: int) -> dict[str, tuple[int, int]]:
    """Every head of a model by its name."""
    return {head_name(layer, head): (layer, head) for layer in range(layers) for head in range(heads)}
