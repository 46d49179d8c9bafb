"""One part of an encoding's portrait, the place that it is drawn for, and what all parts share."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headlight.ui import sheet
from headlight.ui.figures import Figure
from headlight.ui.numbers import cut
from headlight.ui.sheet import Block

from .encodings import Encoding

HEIGHT = 290  # pixels of the charts that are always in sight
TITLES = {
    "none": "No encoding",
    "sinusoidal": "Sinusoids",
    "learned": "MiniLM's learned table",
    "rotary": "Rotary (RoPE)",
    "alibi": "ALiBi",
    "t5": "T5's relative bias",
    "shaw": "Shaw's relative keys",
}
MEANINGS = {
    "none": "Nothing is added or turned: the same word gets the same numbers wherever it stands.",
    "sinusoidal": "Waves from short to long: each place has its own pattern, which is added to the word.",
    "learned": "A learned table with a row for each place, which is added to the word.",
    "rotary": "Queries and keys turn by an angle that grows with the place: q · k knows places only by distance.",
    "alibi": "Scores fall with the distance, in some heads faster than in others: near words get more.",
    "t5": "Each head learns a number for each distance and adds it to the score; far distances share one.",
    "shaw": "Each distance has a learned vector, which is multiplied with the query like a key.",
}


@dataclass(frozen=True)
class Focus:
    """The place that is looked at, counted from 0.

    Attributes:
        channels: whose waves are drawn.
        pair, place: of the circle: the pair of channels and the position.
        head: whose bias is drawn large.
        far: how many positions are tried.
        limit: how many positions the model was trained for.
        theme: "dark" or "light".
    """

    tokens: Sequence[str]
    channels: Sequence[int]
    pair: int
    place: int
    head: int
    far: int
    limit: int
    theme: str


@dataclass(frozen=True)
class Part:
    """One part of a portrait: its place, words and numbers, and a chart with its description.

    `unit`: what its curves are measured in; those of one unit are compared when they stand side by side.
    """

    slot: str
    blocks: list[Block]
    figure: Figure | None = None
    alt: str = ""
    unit: str = ""


def part(
    slot: str, encoding: Encoding, what: str, note: str, blocks: list[Block], figure: Figure, alt: str, unit: str = ""
) -> Part:
    """A part under the encoding's name: on a phone the parts of two encodings follow one another."""
    return Part(slot, [sheet.title(f"{TITLES[encoding.name]}: {what}", note), *blocks], figure, alt, unit)


def sample(size: int, most: int) -> list[int]:
    """Every place, or every second, third, … so that there are at most `most`."""
    return list(range(0, size, math.ceil(size / most)))


def sampled(rows: int, columns: int, shape: tuple[int, int]) -> str:
    """The part of a matrix that is drawn, if not all."""
    parts = zip(("row", "column"), (rows, columns), shape, strict=True)
    said = [f"one {name} in {math.ceil(size / drawn)}" for name, drawn, size in parts if drawn < size]
    return f"; drawn is {' and '.join(said)}" if said else ""


def doubling(length: int) -> list[int]:
    """The places 0, 1, 2, 4, 8, … and the last."""
    doubled = [0, *(2**power for power in range(length.bit_length()))]
    return [place for place in doubled if place < length - 1] + [length - 1]


def token_names(view: Focus, places: Sequence[int]) -> list[str]:
    """Positions with their tokens: "3 street"."""
    return [f"{place} {cut(view.tokens[place], 10)}" for place in places]
