"""One part of an encoding's portrait, what it is drawn for, and what all parts share. No streamlit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pages.kit.draw import sheet
from pages.kit.draw.figures import Figure
from pages.kit.draw.sheet import Block

from .encodings import Encoding

__all__ = ["TITLES", "Part", "View", "cut", "drawn", "heading", "sample"]

TITLES = {
    "none": "No encoding",
    "sinusoidal": "Sinusoids",
    "learned": "MiniLM's learned table",
    "rotary": "Rotary (RoPE)",
    "alibi": "ALiBi",
    "t5": "T5's relative bias",
    "shaw": "Shaw's relative keys",
}


@dataclass(frozen=True)
class View:
    """What is looked at, counted from 0.

    Attributes:
        tokens: of the sentence.
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
    """One part of a portrait: its place, words and numbers, and a chart with its description."""

    slot: str
    blocks: list[Block]
    figure: Figure | None = None
    alt: str = ""


def heading(encoding: Encoding, what: str, note: str = "") -> Block:
    """The heading of a part: on a phone the parts of two encodings follow one another."""
    return sheet.title(f"{TITLES[encoding.name]}: {what}", note)


def sample(size: int, most: int) -> list[int]:
    """Every place, or every second, third, … so that there are at most `most`."""
    return list(range(0, size, math.ceil(size / most)))


def drawn(rows: int, columns: int, shape: tuple[int, int]) -> str:
    """How much of a matrix is drawn, if not all."""
    parts = zip(("row", "column"), (rows, columns), shape, strict=True)
    said = [f"one {name} in {math.ceil(size / drawn)}" for name, drawn, size in parts if drawn < size]
    return f"; drawn is {' and '.join(said)}" if said else ""


def cut(token: str) -> str:
    return token if len(token) <= 10 else token[:9] + "…"
