"""Cursor and display options of a picture, and their texts in links.

`at` is layer.head.row.key, `look` the display options, and `view` another view of the run under the large map. All
numbers count from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .limits import MAX_LOOK_LENGTH

DEFAULT_AT = "3.1"
SCALES = ("root", "linear", "own")  # √weight, weight, weight relative to the largest of its map
_DRAWING_SWITCHES = ("nospecials", "all", "open", "table", "lines", "sort", "difference")
MEANS = ("mean", "meanall", "meanseen")  # over the layer's heads, all heads, the visible heads
VIEWS = ("heads", "flow", "channels", "residual", "lens", "cache")  # the same as in assets/web/explore/other_views.js
_SWITCHES = (*_DRAWING_SWITCHES, "surprise", *MEANS, "values", "words", "nofirst", "renorm")


@dataclass(frozen=True)
class Cursor:
    """The layer, head, query (`row`) and key in focus; without a row or key, the page chooses one."""

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
    def from_text(cls, text: str) -> Cursor:
        """Parse a valid text."""
        return cls(*(int(number) for number in text.split(".")))

    def fits(self, tokens: Sequence[str], columns: Sequence[str] | None = None) -> bool:
        """Return whether `row` is within the tokens and `key` within `columns` (default: the tokens)."""
        sides = ((self.row, tokens), (self.key, tokens if columns is None else columns))
        return all(place is None or place < len(side) for place, side in sides)

    def resolve(
        self, tokens: Sequence[str], columns: Sequence[str] | None = None, *, is_generative: bool = False
    ) -> Cursor:
        """Return a cursor that fits the tokens: drop an invalid row or key and choose a default row.

        The default is the first "it", the usual coreference example, otherwise the first word; for a generative model
        the last token.
        """
        n = len(tokens)
        if self.row is not None and self.row < n:
            return self if self.fits(tokens, columns) else replace(self, key=None)
        row = n - 1 if is_generative else tokens.index("it") if "it" in tokens else min(1, n - 1)
        return replace(self, row=row, key=None)


@dataclass(frozen=True)
class DisplayOptions:
    """Options for drawing the maps, which do not affect computed values."""

    scale: str = "root"
    switches: frozenset[str] = frozenset()
    hidden: frozenset[tuple[int, int]] = field(default_factory=frozenset)
    solo: tuple[int, int] | None = None
    keys: tuple[int, ...] = ()  # in addition to that of the cursor, sorted

    @property
    def mean(self) -> str:
        """The one of `MEANS` that replaces the map of one head; "" for none."""
        return next((kind for kind in MEANS if kind in self.switches), "")

    def __str__(self) -> str:
        words = [] if self.scale == "root" else [self.scale]
        words += [switch for switch in _SWITCHES if switch in self.switches]
        words += ["hide" + write_heads(self.hidden)] if self.hidden else []
        words += ["solo" + write_heads([self.solo])] if self.solo else []
        words += ["keys" + write_places(self.keys)] if self.keys else []
        return "_".join(words)


def parse_at(text: str, layers: int, heads: int) -> Cursor | None:
    """Parse `at` of a link; return None if the model has no such head."""
    if not re.fullmatch(r"\d{1,4}\.\d{1,4}(\.\d{1,4}(\.\d{1,4})?)?", text, re.ASCII):
        return None
    cursor = Cursor.from_text(text)
    return cursor if cursor.layer < layers and cursor.head < heads else None


def parse_look(text: str, layers: int, heads: int) -> DisplayOptions | None:
    """Parse `look` of a link; return None if it has an unknown word or is too long."""
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
            continue  # in older links; the view of all heads now measures on random tokens by itself
        elif word.startswith("hide") and (pairs := parse_heads(word[4:], layers, heads)):
            hidden = frozenset(pairs)
        elif word.startswith("solo") and (pairs := parse_heads(word[4:], layers, heads)) and len(pairs) == 1:
            solo = pairs[0]
        elif word.startswith("keys") and (places := parse_places(word[4:])):
            keys = places
        else:
            return None
    return DisplayOptions(scale, frozenset(switches), hidden, solo, keys)


def parse_view(text: str) -> tuple[str, str]:
    """Split "heads.previous.entropy" into ("heads", "previous.entropy"); ("", "") for an unknown view."""
    name, _, state = text.partition(".")
    return (name, state) if name in VIEWS else ("", "")


def parse_heads(text: str, layers: int, heads: int) -> tuple[tuple[int, int], ...] | None:
    """Parse heads: "3.5-3.9" -> ((3, 5), (3, 9)), sorted and unique; None if the model lacks one of them."""
    if not text:
        return ()
    if not re.fullmatch(r"\d{1,4}\.\d{1,4}(-\d{1,4}\.\d{1,4})*", text, re.ASCII):
        return None
    pairs = {(int(layer), int(head)) for layer, head in (pair.split(".") for pair in text.split("-"))}
    return tuple(sorted(pairs)) if all(layer < layers and head < heads for layer, head in pairs) else None


def write_heads(pairs: frozenset[tuple[int, int]] | tuple[tuple[int, int], ...] | list[tuple[int, int]]) -> str:
    """Write heads as `parse_heads` reads them."""
    return "-".join(f"{layer}.{head}" for layer, head in sorted(pairs))


def parse_places(text: str) -> tuple[int, ...] | None:
    """Parse token positions: "4-0" -> (0, 4), sorted and unique; None if the text is not valid."""
    if not text:
        return ()
    return (
        tuple(sorted(set(map(int, text.split("-"))))) if re.fullmatch(r"\d{1,4}(-\d{1,4})*", text, re.ASCII) else None
    )


def write_places(places: Sequence[int]) -> str:
    """Write token positions as `parse_places` reads them."""
    return "-".join(map(str, places))


def head_name(layer: int, head: int) -> str:
    """Return the name of a head in controls and links."""
    return f"L{layer} H{head}"


def heads_by_name(layers: int, heads: int) -> dict[str, tuple[int, int]]:
    """Return all heads of a model by name."""
    return {head_name(layer, head): (layer, head) for layer in range(layers) for head in range(heads)}


def parts_by_name(layers: int, heads: int) -> dict[str, tuple[str, Any]]:
    """Return every part that can be ablated by its name in links.

    The names are "L3 H5", "L3 MLP" and "L3", a whole layer; a part is a switch of `Model.run` and its element.
    """
    mlps = {f"L{layer} MLP": ("mlps_off", layer) for layer in range(layers)}
    return {
        **{name: ("heads_off", pair) for name, pair in heads_by_name(layers, heads).items()},
        **mlps,
        **{f"L{layer}": ("layers_off", layer) for layer in range(layers)},
    }


def ablated_parts(names: Iterable[str], layers: int, heads: int) -> dict[str, Any]:
    """Return the switches of `Model.run` for names of parts, each sorted and unique; names of no part are ignored."""
    parts = parts_by_name(layers, heads)
    ablations = {parts[name] for name in names if name in parts}
    switches = ("heads_off", "mlps_off", "layers_off")
    return {switch: tuple(sorted(item for kind, item in ablations if kind == switch)) for switch in switches}
