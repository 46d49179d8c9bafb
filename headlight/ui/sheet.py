"""Sheets: matrices, tables and bars as plain data, which the browser draws (assets/web/sheets/sheet.js).

Every function here returns one block; `canvas.sheet` draws a list of them in order. Numbers come as lists and leave as
the text to show. Texts may hold anything, they become text nodes. Rows and columns are counted from 0 here and in
events.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from .numbers import exact, in_a_cell, number, share

Block = dict[str, Any]
Event = dict[str, Any]
Edit = Literal["number", "switch", "choice"]
Mark = Literal["good", "bad", "here"]
Rows = Sequence[Sequence[float]]

_AXES = {
    "b": ("text", "texts"),
    "i": ("query", "queries"),
    "j": ("key", "keys"),
    "h": ("head", "heads"),
    "d": ("feature", "features"),
    "c": ("channel", "channels"),
    "v": ("word", "words"),
}


def title(text: str, note: str = "") -> Block:
    """A heading and a line of smaller words beside it."""
    return {"kind": "title", "text": text, "note": note}


def text(text: str, *, muted: bool = False) -> Block:
    """A paragraph; `muted` for what is read second."""
    return {"kind": "text", "text": text, "muted": muted}


def continuation(given: str, drawn: Sequence[tuple[str, float]], joined_by: str) -> Block:
    """A text, muted, and how a model goes on with it: each token in a colour as strong as its probability.

    `joined_by`: what stands before a token.
    """
    tokens = [[joined_by, token, share(chance, 2), round(100 * chance)] for token, chance in drawn]
    return {"kind": "continuation", "given": given, "tokens": tokens}


def verdict(result: Literal["", "holds", "does not hold"], heading: str, said: str) -> Block:
    """What was found, a sentence and why, read aloud when it comes; without a result, a place that waits for it."""
    return {"kind": "verdict", "result": result, "heading": heading, "said": said}


def notices(sentences: Sequence[str]) -> Block:
    """Sentences that must not be overlooked, read aloud when they come; draws nothing when there are none."""
    return {"kind": "notices", "sentences": list(sentences)}


def row(blocks: Sequence[Block], signs: Sequence[str] = (), *, even: bool = False) -> Block:
    """Blocks side by side, wrapping where the screen is narrow; `signs` stand between them ("·", "=", "÷ √2").

    `even`: panels share the width equally, whatever they hold.
    """
    placed: list[Block] = []
    for at, block in enumerate(blocks):
        placed.append(block)
        if at < len(signs) and at + 1 < len(blocks):
            placed.append({"kind": "sign", "text": signs[at]})
    return {"kind": "row", "blocks": placed, "even": even}


def chain(blocks: Sequence[Block], signs: Sequence[str]) -> Block:
    """Small matrices in one line, as a sum is written; where they wrap, a sign goes with the matrix behind it."""
    small = [block | {"compact": True} if "compact" in block else block for block in blocks]
    pairs = [row([{"kind": "sign", "text": sign}, block]) for sign, block in zip(signs, small[1:], strict=True)]
    return row([small[0], *pairs]) | {"chain": True}


def columns(panels: Sequence[Block]) -> Block:
    """Panels one below the other in two columns, whatever their heights; in one where the screen is narrow."""
    return row(panels) | {"columns": True}


def pictures(panels: Sequence[Block]) -> Block:
    """Panels as wide as their matrices, as many in a row as fit; words below a matrix wrap."""
    return row(panels) | {"pictures": True}


def terms(name: str, rows: Sequence[tuple[str, str, str, str]], *, long: bool = False) -> Block:
    """Words and what they mean; of each row the last two are the path and the title of the page to go to.

    `long`: the words are names out of code, with room for them.
    """
    return {"kind": "terms", "name": name, "rows": [list(line) for line in rows], "long": long}


def search(label: str) -> Block:
    """A box that leaves of the terms on the sheet those that have what is typed."""
    return {"kind": "search", "label": label}


def links(choices: Sequence[tuple[str, str]]) -> Block:
    """Links to other pages in a row: text, and the path with its query."""
    return {"kind": "links", "links": [list(choice) for choice in choices]}


def lessons(cards: Sequence[Mapping[str, Any]], ways: Sequence[Mapping[str, Any]]) -> Block:
    """A card for each lesson, and what the browser has done of it; `ways` choose among them by time and audience."""
    return {"kind": "lessons", "cards": list(cards), "ways": list(ways)}


def panel(heading: str, blocks: Sequence[Block], note: str = "") -> Block:
    """A framed part of the page under a heading of its own."""
    return {"kind": "panel", "heading": heading, "note": note, "blocks": list(blocks)}


class Matrix(Block):
    """A matrix as a block; its numbers stay on the server, for whoever takes them along (`tables.of_blocks`)."""

    def __init__(self, block: Block, values: Rows) -> None:
        super().__init__(block)
        self.numbers = values

    def __or__(self, more: Block) -> "Matrix":  # type: ignore[override]
        return Matrix({**self, **more}, self.numbers)


def matrix(
    name: str,
    values: Rows,
    *,
    rows: Sequence[str],
    cols: Sequence[str],
    formula: str = "",
    axes: str = "i j",
    decimals: int = 4,
    write: Callable[[float], str] | None = None,
    edit: str | None = None,
    how: Edit = "number",
    invalid: Mapping[tuple[int, int], tuple[str, str]] | None = None,
    sums: Sequence[float] | None = None,
    colour: Literal["weights", "signed"] | None = None,
    shares: Rows | None = None,
    compact: bool = False,
    marks: Sequence[tuple[int, int]] = (),
    note: str = "",
) -> Block:
    """A matrix as a table.

    Args:
        name, formula: what stands above it.
        values: a row a list; −inf and inf are written as −∞ and ∞.
        rows, cols: labels, one a row and column.
        axes: two letters of the axes (b, i, j, c, h, d), for the coloured sizes; "" = the sizes are not told.
        decimals: of every number, none where the whole matrix is of integers.
        write: how a number is written instead, in a matrix that is only read.
        edit: edits are sent as {"edit": this name, "row": 0, "col": 1, "text": "0.5"}; None = read only.
        how: "number" makes every cell a field, "switch" makes it a button that sends "0" or "1", "choice" one that
            sends its own text.
        invalid: (row, column) -> (the text typed there, why it cannot be used).
        sums: one a row, shown as a last column.
        colour: the background: "weights" by the ramp of the maps (0 to 1), "signed" by sign and size.
        shares: what colours the cells, where that is not their values.
        compact: small cells, for several matrices side by side.
        marks: cells to frame.
    """
    bad = invalid or {}
    whole = all(value.is_integer() for line in values for value in map(float, line) if math.isfinite(value))
    digits = 0 if whole else decimals
    to_text = exact if edit else write or (lambda value: number(value, digits))
    shown = [[to_text(value) for value in line] for line in values]
    for (i, j), (typed, _) in bad.items():
        shown[i][j] = typed
    sizes = (len(values), len(cols))
    block = {
        "kind": "matrix" if edit is None else how,
        "name": name,
        "formula": formula,
        "axes": [_axis(letter, size) for letter, size in zip(axes.split(), sizes, strict=bool(axes))],
        "rows": list(rows),
        "cols": list(cols),
        "cells": shown,
        "levels": _levels(values if shares is None else shares, colour),
        "colour": colour,
        "compact": compact,
        "edit": edit,
        "invalid": [[i, j, reason] for (i, j), (_, reason) in sorted(bad.items())],
        "sums": None if sums is None else [number(value, decimals) for value in sums],
        "marks": [list(pair) for pair in marks],
        "note": note,
    }
    return Matrix(block, values)


def attention_map(
    name: str,
    tokens: Sequence[str],
    weights: Rows,
    note: str = "",
    *,
    keys: Sequence[str] | None = None,
    marks: Sequence[tuple[int, int]] = (),
) -> Block:
    """The weights (i, j) of a sentence with their numbers, in small cells: rows are queries, columns keys.

    `keys`: the tokens that are looked at, where they are others; `marks`: cells to frame.
    """
    cols = tokens if keys is None else keys
    how: dict[str, Any] = {"write": in_a_cell, "colour": "weights", "compact": True}
    return matrix(name, weights, rows=tokens, cols=cols, marks=marks, note=note, **how)


def patches(
    name: str,
    pixels: Sequence[Sequence[float]],
    tokens: Sequence[str],
    weights: Rows,
    inside: Sequence[int],
) -> Block:
    """A picture in patches with the weights of one token's row over it; a press on a token shows its row.

    Args:
        pixels: (side, side), 0 to 1.
        tokens: those of no patch, then the patches row by row.
        weights: (tokens, tokens).
        inside: numbers of the patches to frame, counted from 0.
    """
    return {
        "kind": "patches",
        "name": name,
        "across": math.isqrt(sum("," in token for token in tokens)),
        "pixels": [round(255 * value) for line in pixels for value in line],
        "tokens": list(tokens),
        "weights": [[round(float(value), 4) for value in line] for line in weights],
        "inside": list(inside),
    }


def shares(name: str, values: Rows, rows: Sequence[str], cols: Sequence[str], decimals: int = 3) -> Block:
    """Shares from 0 to 1 in small cells, each as strong as it is large."""

    def write(value: float) -> str:
        return share(value, decimals)

    return matrix(name, values, rows=rows, cols=cols, axes="", write=write, colour="weights", compact=True)


def bars(
    name: str,
    labels: Sequence[str],
    values: Sequence[float],
    note: str = "",
    decimals: int = 4,
    most: float | None = None,
) -> Block:
    """Signed horizontal bars, each with its number; many are laid out in columns. `most`: the value of a full bar."""
    largest = most or max((abs(value) for value in values if math.isfinite(value)), default=0.0) or 1.0
    return {
        "kind": "bars",
        "name": name,
        "labels": list(labels),
        "values": [number(value, decimals) for value in values],
        "sizes": [round(value / largest, 4) if math.isfinite(value) else math.copysign(1, value) for value in values],
        "note": note,
    }


def code(lines: Sequence[str], marks: Sequence[int] = ()) -> Block:
    return {"kind": "code", "lines": list(lines), "marks": list(marks)}


def steps(steps: Sequence[tuple[str, str]]) -> Block:
    """Numbers written large, one behind the other, each with how it comes from the one before."""
    return {"kind": "steps", "steps": [list(step) for step in steps]}


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    caption: str = "",
    marks: Mapping[tuple[int, int], Mark] | None = None,
    *,
    prose: bool = False,
    order: tuple[int, bool] | None = None,
) -> Block:
    """A table of texts; columns of numbers stand to the right.

    Args:
        marks: (row, column) -> how to colour a cell, or with column −1 the whole row. The text must say the same.
        prose: cells hold phrases: they wrap, and the table shows its whole height.
        order: the column that the rows are sorted by, and whether the largest comes first; then the head of each column
            is a button that sends {"sort": its number}. None = the table is only read.
    """
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in head]
    return {
        "kind": "table",
        "head": list(head),
        "rows": [list(line) for line in rows],
        "right": [bool(column) and all(map(_is_number, column)) for column in columns],
        "caption": caption,
        "marks": [[i, j, how] for (i, j), how in sorted((marks or {}).items())],
        "prose": prose,
        "order": None if order is None else list(order),
    }


def buttons(name: str, choices: Sequence[tuple[str, Event, bool | None]], *, code: bool = False) -> Block:
    """Buttons in a row: text, the event that a click sends, and whether it is pressed (None = it has no such state).

    `code`: each is a line of code, one below the other.
    """
    row = [{"text": text, "event": event, "pressed": pressed} for text, event, pressed in choices]
    return {"kind": "buttons", "name": name, "buttons": row, "code": code}


def _axis(letter: str, size: int) -> list[str]:
    """An axis as its letter, which is its colour, and its size in words."""
    one, many = _AXES[letter]
    return [letter, f"{size} {one if size == 1 else many}"]


def _levels(values: Rows, colour: str | None) -> list[list[int]] | None:
    """The strength of each cell's background: 0 to 255 for weights, −100 to 100 for signed numbers."""
    if colour is None:
        return None
    if colour == "weights":
        return [[round(255 * min(1.0, max(0.0, value))) for value in line] for line in values]
    finite = [abs(value) for line in values for value in line if math.isfinite(value)]
    largest = max(finite, default=0.0) or 1.0
    return [[round(100 * (value / largest)) if math.isfinite(value) else 0 for value in line] for line in values]


def _is_number(text: str) -> bool:
    one = r"[−<>≈+-]?\s?[\d.,]+(e[−+-]?\d+)?"
    return bool(re.fullmatch(rf"{one}( ?[×%]| (±|to) {one}|–{one}| \({one}( (to|of) {one})?\)|)|[−]?∞|—|never|", text))
