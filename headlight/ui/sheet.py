"""Sheets: matrices, tables and bars as plain data, which the browser renders (assets/web/sheets/sheet.js).

Every function returns one block, and `canvas.sheet` shows a list of them. Numbers are formatted here; texts may hold
anything, as they become text nodes. Rows and columns are counted from 0, in events too.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from .numbers import cell_text, exact, number, share

Block = dict[str, Any]
Event = dict[str, Any]
Edit = Literal["number", "switch", "choice"]
Mark = Literal["good", "bad", "focus"]
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
    """Return a heading with a note beside it."""
    return {"kind": "title", "text": text, "note": note}


def text(text: str, *, muted: bool = False) -> Block:
    """Return a paragraph; `muted` for secondary text."""
    return {"kind": "text", "text": text, "muted": muted}


def continuation(prompt: str, continuation: Sequence[tuple[str, float]], separator: str) -> Block:
    """Return a muted prompt and its continuation, each token in a colour as strong as its probability.

    The separator stands before each token.
    """
    tokens = [[separator, token, share(chance, 2), round(100 * chance)] for token, chance in continuation]
    return {"kind": "continuation", "given": prompt, "tokens": tokens}


def verdict(result: Literal["", "holds", "does not hold"], heading: str, reason: str) -> Block:
    """Return a result with its reason, announced by screen readers; without a result, an empty placeholder."""
    return {"kind": "verdict", "result": result, "heading": heading, "reason": reason}


def notices(sentences: Sequence[str]) -> Block:
    """Return warnings, announced by screen readers; nothing is shown without any."""
    return {"kind": "notices", "sentences": list(sentences)}


def row(blocks: Sequence[Block], signs: Sequence[str] = (), *, even: bool = False) -> Block:
    """Return blocks side by side, wrapping on a narrow screen; with `even` panels share the width equally.

    `signs` are texts between them, such as "·", "=" or "÷ √2".
    """
    items: list[Block] = []
    for index, block in enumerate(blocks):
        items.append(block)
        if index < len(signs) and index + 1 < len(blocks):
            items.append({"kind": "sign", "text": signs[index]})
    return {"kind": "row", "blocks": items, "even": even}


def chain(blocks: Sequence[Block], signs: Sequence[str]) -> Block:
    """Return small matrices in one line, as in a sum; a sign wraps together with the matrix after it."""
    small = [block | {"compact": True} if "compact" in block else block for block in blocks]
    pairs = [row([{"kind": "sign", "text": sign}, block]) for sign, block in zip(signs, small[1:], strict=True)]
    return row([small[0], *pairs]) | {"chain": True}


def columns(panels: Sequence[Block]) -> Block:
    """Return panels in two columns, one on a narrow screen."""
    return row(panels) | {"columns": True}


def pictures(panels: Sequence[Block]) -> Block:
    """Return panels as wide as their matrices, as many in a row as fit; texts below a matrix wrap."""
    return row(panels) | {"pictures": True}


def terms(name: str, rows: Sequence[tuple[str, str, str, str]], *, long: bool = False) -> Block:
    """Return terms with their meanings; the last two of each row are path and title of a page.

    `long` gives room to long names, such as those in code.
    """
    return {"kind": "terms", "name": name, "rows": [list(line) for line in rows], "long": long}


def links(choices: Sequence[tuple[str, str]]) -> Block:
    """Return a row of links to other pages: text, and path with query."""
    return {"kind": "links", "links": [list(choice) for choice in choices]}


def lessons(cards: Sequence[Mapping[str, Any]], paths: Sequence[Mapping[str, Any]]) -> Block:
    """Return a card for each lesson with the progress stored in the browser, and paths by time and audience."""
    return {"kind": "lessons", "cards": list(cards), "ways": list(paths)}


def claims(groups: Sequence[tuple[str, Sequence[tuple[str, str, str, str]]]]) -> Block:
    """Return groups of claims, each with its question, source, link and page; the next one stands in large type."""
    return {"kind": "claims", "groups": list(groups)}


def panel(heading: str, blocks: Sequence[Block], note: str = "") -> Block:
    """Return a framed section with its own heading."""
    return {"kind": "panel", "heading": heading, "note": note, "blocks": list(blocks)}


class Matrix(Block):
    """A matrix block that also keeps its numbers on the server, for exports (`tables.tables_from_blocks`)."""

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
    cell_kind: Edit = "number",
    invalid: Mapping[tuple[int, int], tuple[str, str]] | None = None,
    sums: Sequence[float] | None = None,
    colour: Literal["weights", "signed"] | None = None,
    shares: Rows | None = None,
    compact: bool = False,
    marks: Sequence[tuple[int, int]] = (),
    note: str = "",
) -> Block:
    """Return a matrix as a table.

    Args:
        name: title.
        values: a list for each row; −inf and inf are shown as −∞ and ∞.
        rows: labels of the rows.
        cols: labels of the columns.
        formula: shown beside the title.
        axes: two letters of the axes (b, i, j, c, h, d) whose sizes are shown, "" for none.
        decimals: decimals of every number, none if all values are integers.
        write: formatter of a read-only matrix, in place of `decimals`.
        edit: edits are sent as {"edit": this name, "row": 0, "col": 1, "text": "0.5"}; None = read only.
        cell_kind: "number" makes every cell a field, "switch" a button that sends "0" or "1", "choice" a button that
            sends its own text.
        invalid: (row, column) -> (the text in the field, why it is invalid).
        sums: one a row, shown as a last column.
        colour: the background: "weights" by the colour scale of the maps (0 to 1), "signed" by sign and size.
        shares: values that colour the cells, if they differ from `values`.
        compact: small cells, for several matrices side by side.
        marks: cells to frame.
        note: shown below.
    """
    invalid_cells = invalid or {}
    is_integral = all(value.is_integer() for line in values for value in map(float, line) if math.isfinite(value))
    digits = 0 if is_integral else decimals
    to_text = exact if edit else write or (lambda value: number(value, digits))
    cells = [[to_text(value) for value in line] for line in values]
    for (i, j), (typed, _) in invalid_cells.items():
        cells[i][j] = typed
    sizes = (len(values), len(cols))
    block = {
        "kind": "matrix" if edit is None else cell_kind,
        "name": name,
        "formula": formula,
        "axes": [
            [letter, f"{size} {_AXES[letter][size != 1]}"]  # the letter selects the colour
            for letter, size in zip(axes.split(), sizes, strict=bool(axes))
        ],
        "rows": list(rows),
        "cols": list(cols),
        "cells": cells,
        "levels": _levels(values if shares is None else shares, colour),
        "colour": colour,
        "compact": compact,
        "edit": edit,
        "invalid": [[i, j, reason] for (i, j), (_, reason) in sorted(invalid_cells.items())],
        "sums": None if sums is None else [number(value, decimals) for value in sums],
        "marks": [list(pair) for pair in marks],
        "note": note,
    }
    return Matrix(block, values)


def attention_map(
    name: str, tokens: Sequence[str], weights: Rows, *, keys: Sequence[str] | None = None, **more: Any
) -> Block:
    """Return the weights (i, j) of a sentence in small cells: rows are queries, columns keys.

    `keys` are labels of the columns if they differ from the tokens; `more` are arguments of `matrix`.
    """
    more |= {"cols": tokens if keys is None else keys, "write": cell_text, "colour": "weights", "compact": True}
    return matrix(name, weights, rows=tokens, **more)


def patches(
    name: str,
    pixels: Sequence[Sequence[float]],
    tokens: Sequence[str],
    weights: Rows,
    inside: Sequence[int],
) -> Block:
    """Return an image in patches, overlaid with one token's weights; a click on a token shows its row.

    Args:
        name: title.
        pixels: (side, side), 0 to 1.
        tokens: tokens without a patch, then the patches row by row.
        weights: (tokens, tokens).
        inside: indices of the patches to frame.
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
    """Return shares from 0 to 1 in small cells, coloured by their size."""
    write = partial(share, decimals=decimals)
    return matrix(name, values, rows=rows, cols=cols, axes="", write=write, colour="weights", compact=True)


def bars(
    name: str,
    labels: Sequence[str],
    values: Sequence[float],
    note: str = "",
    decimals: int = 4,
    scale: float | None = None,
) -> Block:
    """Return signed horizontal bars with their numbers, in columns if there are many.

    `scale` is the value of a full bar, default the largest.
    """
    full = scale or max((abs(value) for value in values if math.isfinite(value)), default=0.0) or 1.0
    return {
        "kind": "bars",
        "name": name,
        "labels": list(labels),
        "values": [number(value, decimals) for value in values],
        "sizes": [round(value / full, 4) if math.isfinite(value) else math.copysign(1, value) for value in values],
        "note": note,
    }


def code(lines: Sequence[str], marks: Sequence[int] = (), file: str = "") -> Block:
    """Return lines of code, some of them marked; with the name of a file they can be copied and downloaded."""
    return {"kind": "code", "lines": list(lines), "marks": list(marks), "file": file}


def steps(steps: Sequence[tuple[str, str]]) -> Block:
    """Return numbers in large type in a row, each with how it follows from the previous one."""
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
    """Return a table of texts; columns of numbers are aligned to the right.

    Args:
        head: heads of the columns.
        rows: texts of the cells.
        caption: caption.
        marks: (row, column) -> how to colour a cell, or with column −1 the whole row. The text must say the same.
        prose: cells hold phrases, which wrap, and the table shows its whole height.
        order: the column that the rows are sorted by, and whether it is descending; then the head of each column is a
            button that sends {"sort": its number}. None = read only.
    """
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in head]
    return {
        "kind": "table",
        "head": list(head),
        "rows": [list(line) for line in rows],
        "right": [bool(column) and all(map(_is_number, column)) for column in columns],
        "caption": caption,
        "marks": [[i, j, mark] for (i, j), mark in sorted((marks or {}).items())],
        "prose": prose,
        "order": None if order is None else list(order),
    }


def buttons(name: str, choices: Sequence[tuple[str, Event, bool | None]], *, code: bool = False) -> Block:
    """Return a row of buttons: text, event of a click, and the pressed state or None without one.

    `code` shows each as a line of code, one below the other.
    """
    row = [{"text": text, "event": event, "pressed": pressed} for text, event, pressed in choices]
    return {"kind": "buttons", "name": name, "buttons": row, "code": code}


def _levels(values: Rows, colour: str | None) -> list[list[int]] | None:
    """Return the strength of each cell's background: 0 to 255 for weights, −100 to 100 for signed numbers."""
    if colour is None:
        return None
    if colour == "weights":
        return [[round(255 * min(1.0, max(0.0, value))) for value in line] for line in values]
    finite = [abs(value) for line in values for value in line if math.isfinite(value)]
    scale = max(finite, default=0.0) or 1.0
    return [[round(100 * (value / scale)) if math.isfinite(value) else 0 for value in line] for line in values]


def _is_number(text: str) -> bool:
    num = r"[−<>≈+-]?\s?[\d.,]+(e[−+-]?\d+)?"
    return bool(re.fullmatch(rf"{num}( ?[×%]| (±|to) {num}|–{num}| \({num}( (to|of) {num})?\)|)|[−]?∞|—|never|", text))
