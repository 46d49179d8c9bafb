"""The matrices of the worked examples: their defaults, and the user's edits.

Matrices are named as in the link: x, s, a and wq, wk, wv for one head; e and a2 for two sentences; x4, a4, wo and wq0
to wv1 for two heads; x4, w0 and w1 for the stacked ones. Names with a are masks of 0 and 1.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from headlight.link.fields import DEFAULTS
from headlight.link.limits import MAX_MATRICES_LENGTH, MAX_TEXT_LENGTH, MAX_WORDS
from headlight.ui import events, sheet
from headlight.ui.numbers import exact
from headlight.ui.sheet import Block

from . import codec
from .codec import Matrix

TOKENS = ("how", "are", "you")
SWITCHES = frozenset({"a", "a2", "a4"})
MASKS: dict[str, Callable[[int, int], bool]] = {  # button -> whether query i may attend to key j
    "no mask": lambda i, j: True,
    "causal": lambda i, j: j <= i,
    "only other words": lambda i, j: i != j,
    "no key for row 0": lambda i, j: i > 0,
}
MAX_CELL_LENGTH = 40  # characters of a cell; the browser has the same limit
SIZES = {"large": 1.0, "÷ 1,000": 1 / 1000}  # button -> factor of all inputs

# small enough to be followed with a pencil
_EMBEDDINGS: Matrix = ((1.1, 1.2), (2.1, 2.2), (3.1, 3.2))
_SCORES: Matrix = ((0.5, 0.1, 0.4), (0.1, 0.8, 0.3), (0.4, 0.3, 0.1))
_FOUR: Matrix = ((1.0, 10.0, 100.0, 1000.0), (2.0, 20.0, 200.0, 2000.0), (3.0, 30.0, 300.0, 3000.0))

Value = Callable[[str], Any]
InvalidCells = Mapping[tuple[int, int], tuple[str, str]]


@dataclass(frozen=True)
class Workbook:
    """The current matrices, words and switches.

    Attributes:
        matrices: every matrix by name, edited or by default.
        invalid: name -> (row, column) -> the typed text and the reason why it is invalid.
        queries, keys: the words of the two sentences.
        divide: whether scores are divided by √d.
        products: whether scores are computed as q kᵀ instead of given.
    """

    matrices: Mapping[str, Matrix]
    invalid: Mapping[str, InvalidCells] = field(default_factory=dict)
    queries: Sequence[str] = TOKENS
    keys: Sequence[str] = TOKENS
    divide: bool = False
    products: bool = False

    def __getitem__(self, name: str) -> Tensor:
        """Return a matrix as float64."""
        return torch.tensor(self.matrices[name], dtype=torch.float64)

    def allow(self, name: str) -> Tensor:
        """Return a mask, True where attention is allowed."""
        return self[name] == 1

    def divisor(self, d: int) -> float:
        """Return √d, or 1 if scores are not divided."""
        return math.sqrt(d) if self.divide else 1.0

    def block(
        self, name: str, title: str, rows: Sequence[str], cols: Sequence[str], axes: str, note: str = ""
    ) -> Block:
        """Return an editable matrix."""
        edit: sheet.Edit = "switch" if name in SWITCHES else "number"
        values, invalid = self.matrices[name], self.invalid.get(name)
        return sheet.matrix(
            title, values, rows=rows, cols=cols, axes=axes, edit=name, cell_kind=edit, invalid=invalid, note=note
        )

    def presets(self, name: str, choices: Iterable[str], label: str) -> Block:
        """Return buttons that fill a matrix."""
        current = self.matrices[name]
        return sheet.buttons(
            label, [(text, {"fill": name, "preset": text}, preset(current, name, text) == current) for text in choices]
        )


def parse_words(value: Value) -> tuple[list[str], list[str]]:
    """Return the first words of both sentences; a text that is too long is replaced by its default.

    `value` returns the value of a key of the link.
    """
    texts = {key: str(value(key)) for key in ("qw", "kw")}
    queries, keys = (text if len(text) <= MAX_TEXT_LENGTH else DEFAULTS[key] for key, text in texts.items())
    return queries.split()[:MAX_WORDS], keys.split()[:MAX_WORDS]


def from_link(value: Value, invalid: Mapping[str, InvalidCells] = MappingProxyType({})) -> tuple[Workbook, bool]:
    """Return the workbook of a link, and whether its matrices were valid; `value` as in `parse_words`."""
    queries, keys = parse_words(value)
    unchanged = defaults(queries, keys)
    edited = codec.parse(value("m"), unchanged, SWITCHES)
    divide, products = bool(value("sqrt")), value("src") != DEFAULTS["src"]
    return Workbook({**unchanged, **(edited or {})}, invalid, queries, keys, divide, products), edited is not None


def to_link(book: Workbook) -> str:
    """Return the matrices as a value of the link."""
    return codec.write(book.matrices, defaults(book.queries, book.keys))


def apply_event(book: Workbook, event: Mapping[str, Any]) -> Workbook:
    """Return the workbook after an event of the sheet: an edited cell, a button of a matrix, or a reset.

    A text that is no number leaves the matrix as it is and goes to `invalid`. Invalid events are ignored, because they
    come from a browser.
    """
    if isinstance(event.get("reset"), list):
        names = [name for name in event["reset"] if isinstance(name, str) and name in book.matrices]
        unchanged = defaults(book.queries, book.keys)
        return _with_matrices(book, {name: unchanged[name] for name in names})
    name = events.text(event, "edit" if "edit" in event else "fill") or ""
    if name not in book.matrices:
        return book
    if "fill" in event:
        filled_matrix = preset(book.matrices[name], name, events.text(event, "preset") or "")
        filled = book if filled_matrix is None else _with_matrices(book, {name: filled_matrix})
        return filled if len(to_link(filled)) <= MAX_MATRICES_LENGTH else book
    row, col, text = events.integer(event, "row"), events.integer(event, "col"), events.text(event, "text")
    matrix = book.matrices[name]
    if row is None or col is None or text is None or len(text) > MAX_CELL_LENGTH:
        return book
    if row not in range(len(matrix)) or col not in range(len(matrix[0])):
        return book
    others = {place: reason for place, reason in book.invalid.get(name, {}).items() if place != (row, col)}
    parse_cell = codec.parse_switch if name in SWITCHES else codec.parse_number
    try:
        lines = [list(line) for line in matrix]
        lines[row][col] = parse_cell(text)
        edited = replace(
            book, matrices={**book.matrices, name: tuple(map(tuple, lines))}, invalid={**book.invalid, name: others}
        )
        if len(to_link(edited)) > MAX_MATRICES_LENGTH:
            raise ValueError(
                f"the link holds at most {MAX_MATRICES_LENGTH:,} characters; reset a matrix or shorten some numbers"
            )
    except ValueError as error:
        reason = f"{error}; {exact(matrix[row][col])} is still used"
        return replace(book, invalid={**book.invalid, name: {**others, (row, col): (text, reason)}})
    return edited


def with_words(book: Workbook, queries: Sequence[str], keys: Sequence[str]) -> Workbook:
    """Return the workbook with other words: old words keep their numbers, a mask is kept while its size fits."""
    matrices = defaults(queries, keys)
    old = dict(zip(distinct_words(book.queries, book.keys), book.matrices["e"], strict=True))
    initial = dict(zip(distinct_words(book.queries, book.keys), defaults(book.queries, book.keys)["e"], strict=True))
    words = zip(distinct_words(queries, keys), matrices["e"], strict=True)
    matrices["e"] = tuple(old[word] if old.get(word) != initial.get(word) else default for word, default in words)
    same_size = (len(book.queries), len(book.keys)) == (len(queries), len(keys))
    if same_size:
        matrices["a2"] = book.matrices["a2"]
    rest = {name: matrix for name, matrix in book.matrices.items() if name not in ("e", "a2")}
    invalid = {name: cells for name, cells in book.invalid.items() if name not in ("e", "a2")}
    return replace(book, matrices={**matrices, **rest}, invalid=invalid, queries=queries, keys=keys)


def distinct_words(queries: Sequence[str], keys: Sequence[str]) -> list[str]:
    """Return the words of both sentences without repeats, in the order of the rows of `e`."""
    return list(dict.fromkeys([*queries, *keys]))


def defaults(queries: Sequence[str] = TOKENS, keys: Sequence[str] = TOKENS) -> dict[str, Matrix]:
    """Return the default of every matrix; new words continue the pattern 4.1 4.2, 5.1 5.2 and so on."""
    words = distinct_words(queries, keys)
    order = [*TOKENS, *(word for word in words if word not in TOKENS)]
    place = {word: number for number, word in enumerate(order, 1)}
    # (4, 2): each selects two adjacent channels
    picks = [tuple(line[first : first + 2] for line in _identity(4)) for first in (0, 2)]
    return {
        "x": _EMBEDDINGS,
        "s": _SCORES,
        "a": _ones(3, 3),
        **{f"w{name}": _identity(2) for name in "qkv"},
        "e": tuple((float(f"{place[word]}.1"), float(f"{place[word]}.2")) for word in words),
        "a2": _ones(len(queries), len(keys)),
        "x4": _FOUR,
        "a4": _ones(3, 3),
        **{f"w{name}{head}": pick for name in "qkv" for head, pick in enumerate(picks)},
        "wo": _identity(4),
        "w0": _times(picks[0], 10),
        "w1": _times(picks[0], 20),  # w0 and w1 select the same two channels
    }


def preset(matrix: Matrix, name: str, key: str) -> Matrix | None:
    """Return a matrix after a click on a preset; None if there is no such preset."""
    if name in SWITCHES and key in MASKS:
        return tuple(tuple(float(MASKS[key](i, j)) for j in range(len(matrix[0]))) for i in range(len(matrix)))
    return _times(_FOUR, SIZES[key]) if name == "x4" and key in SIZES else None


def _with_matrices(book: Workbook, matrices: Mapping[str, Matrix]) -> Workbook:
    """Return the workbook with other matrices, without invalid texts for them."""
    invalid = {name: cells for name, cells in book.invalid.items() if name not in matrices}
    return replace(book, matrices={**book.matrices, **matrices}, invalid=invalid)


def _ones(rows: int, cols: int) -> Matrix:
    return ((1.0,) * cols,) * rows


def _identity(size: int) -> Matrix:
    return tuple(tuple(float(i == j) for j in range(size)) for i in range(size))


def _times(matrix: Matrix, factor: float) -> Matrix:
    return tuple(tuple(round(value * factor, 6) for value in line) for line in matrix)
