"""The matrices of the worked examples: what they start from, and what the visitor made of them.

Matrices are named as in the link: x, s, a and wq, wk, wv for one head; e and a2 for two sentences; x4, a4, wo and wq0
to wv1 for two heads; x4, w0 and w1 for the stacked ones. Those named a are masks of 0 and 1.
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
MASKS: dict[str, Callable[[int, int], bool]] = {  # what a button makes of query i and key j
    "everyone": lambda i, j: True,
    "causal": lambda i, j: j <= i,
    "others only": lambda i, j: i != j,
    "no key for row 0": lambda i, j: i > 0,
}
MAX_CELL_LENGTH = 40  # characters of a text in a cell; the browser sends no more
SIZES = {"large": 1.0, "÷ 1,000": 1 / 1000}  # what a button takes the four numbers of a word times

# small enough to be followed with a pencil
_EMBEDDINGS: Matrix = ((1.1, 1.2), (2.1, 2.2), (3.1, 3.2))
_SCORES: Matrix = ((0.5, 0.1, 0.4), (0.1, 0.8, 0.3), (0.4, 0.3, 0.1))
_FOUR: Matrix = ((1.0, 10.0, 100.0, 1000.0), (2.0, 20.0, 200.0, 2000.0), (3.0, 30.0, 300.0, 3000.0))

Value = Callable[[str], Any]
Wrong = Mapping[tuple[int, int], tuple[str, str]]


@dataclass(frozen=True)
class Workbook:
    """Matrices and words as they are now.

    Attributes:
        matrices: every matrix by name, edited or as given.
        wrong: name -> (row, column) -> the text typed there and why it cannot be used.
        queries, keys: the words of the two sentences.
        divide: scores ÷ √d.
        products: scores from q kᵀ, not as given.
    """

    matrices: Mapping[str, Matrix]
    wrong: Mapping[str, Wrong] = field(default_factory=dict)
    queries: Sequence[str] = TOKENS
    keys: Sequence[str] = TOKENS
    divide: bool = False
    products: bool = False

    def __getitem__(self, name: str) -> Tensor:
        return torch.tensor(self.matrices[name], dtype=torch.float64)

    def allow(self, name: str) -> Tensor:
        """A mask, True = may look."""
        return self[name] == 1

    def divisor(self, d: int) -> float:
        """√d, or 1 with the division switched off."""
        return math.sqrt(d) if self.divide else 1.0

    def block(
        self, name: str, title: str, rows: Sequence[str], cols: Sequence[str], axes: str, note: str = ""
    ) -> Block:
        """A matrix whose cells can be changed."""
        how: sheet.Edit = "switch" if name in SWITCHES else "number"
        values, wrong = self.matrices[name], self.wrong.get(name)
        return sheet.matrix(
            title, values, rows=rows, cols=cols, axes=axes, edit=name, how=how, invalid=wrong, note=note
        )

    def presets(self, name: str, choices: Iterable[str], label: str) -> Block:
        now = self.matrices[name]
        return sheet.buttons(
            label, [(text, {"fill": name, "preset": text}, preset(now, name, text) == now) for text in choices]
        )


def words_of(value: Value) -> tuple[list[str], list[str]]:
    """The first words of both sentences, those as given in place of too long a one. `value`: what a key says."""
    texts = {key: str(value(key)) for key in ("qw", "kw")}
    queries, keys = (text if len(text) <= MAX_TEXT_LENGTH else DEFAULTS[key] for key, text in texts.items())
    return queries.split()[:MAX_WORDS], keys.split()[:MAX_WORDS]


def of_link(value: Value, wrong: Mapping[str, Wrong] = MappingProxyType({})) -> tuple[Workbook, bool]:
    """Matrices and switches as a link says them, and whether its matrices could be used. `value`: as in `words_of`."""
    queries, keys = words_of(value)
    unchanged = defaults(queries, keys)
    edited = codec.parse(value("m"), unchanged, SWITCHES)
    divide, products = bool(value("sqrt")), value("src") != DEFAULTS["src"]
    return Workbook({**unchanged, **(edited or {})}, wrong, queries, keys, divide, products), edited is not None


def to_link(book: Workbook) -> str:
    return codec.write(book.matrices, defaults(book.queries, book.keys))


def changed(book: Workbook, event: Mapping[str, Any]) -> Workbook:
    """The workbook after an event of the sheet: an edited cell, a button of a matrix, or a reset.

    A text that is no number leaves the matrix as it is and is kept in `wrong`; an event that makes no sense does
    nothing: it comes from a browser and may say anything.
    """
    if isinstance(event.get("reset"), list):
        names = [name for name in event["reset"] if isinstance(name, str) and name in book.matrices]
        unchanged = defaults(book.queries, book.keys)
        return _with(book, {name: unchanged[name] for name in names})
    name = events.text(event, "edit" if "edit" in event else "fill") or ""
    if name not in book.matrices:
        return book
    if "fill" in event:
        made = preset(book.matrices[name], name, events.text(event, "preset") or "")
        filled = book if made is None else _with(book, {name: made})
        return filled if len(to_link(filled)) <= MAX_MATRICES_LENGTH else book
    row, col, text = events.whole(event, "row"), events.whole(event, "col"), events.text(event, "text")
    matrix = book.matrices[name]
    if row is None or col is None or text is None or len(text) > MAX_CELL_LENGTH:
        return book
    if row not in range(len(matrix)) or col not in range(len(matrix[0])):
        return book
    others = {place: why for place, why in book.wrong.get(name, {}).items() if place != (row, col)}
    read = codec.parse_switch if name in SWITCHES else codec.parse_number
    try:
        lines = [list(line) for line in matrix]
        lines[row][col] = read(text)
        edited = replace(
            book, matrices={**book.matrices, name: tuple(map(tuple, lines))}, wrong={**book.wrong, name: others}
        )
        if len(to_link(edited)) > MAX_MATRICES_LENGTH:
            raise ValueError(
                f"the link holds at most {MAX_MATRICES_LENGTH:,} characters; reset a matrix or shorten some numbers"
            )
    except ValueError as error:
        why = f"{error}; {exact(matrix[row][col])} is still used"
        return replace(book, wrong={**book.wrong, name: {**others, (row, col): (text, why)}})
    return edited


def reworded(book: Workbook, queries: Sequence[str], keys: Sequence[str]) -> Workbook:
    """The same with other words: a word that stays keeps its numbers, a mask stays while its size does."""
    matrices = defaults(queries, keys)
    old = dict(zip(distinct(book.queries, book.keys), book.matrices["e"], strict=True))
    was = dict(zip(distinct(book.queries, book.keys), defaults(book.queries, book.keys)["e"], strict=True))
    words = zip(distinct(queries, keys), matrices["e"], strict=True)
    matrices["e"] = tuple(old[word] if old.get(word) != was.get(word) else given for word, given in words)
    same_size = (len(book.queries), len(book.keys)) == (len(queries), len(keys))
    if same_size:
        matrices["a2"] = book.matrices["a2"]
    rest = {name: matrix for name, matrix in book.matrices.items() if name not in ("e", "a2")}
    wrong = {name: cells for name, cells in book.wrong.items() if name not in ("e", "a2")}
    return replace(book, matrices={**matrices, **rest}, wrong=wrong, queries=queries, keys=keys)


def distinct(queries: Sequence[str], keys: Sequence[str]) -> list[str]:
    """The words of both sentences, each once, in order of appearance: the rows of the embeddings `e`."""
    return list(dict.fromkeys([*queries, *keys]))


def defaults(queries: Sequence[str] = TOKENS, keys: Sequence[str] = TOKENS) -> dict[str, Matrix]:
    """Every matrix as given. Other words go on in their pattern: 4.1 4.2, 5.1 5.2, …"""
    words = distinct(queries, keys)
    order = [*TOKENS, *(word for word in words if word not in TOKENS)]
    place = {word: at for at, word in enumerate(order, 1)}
    # (4, 2): each takes two neighbouring numbers out of four
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
        "w1": _times(picks[0], 20),  # both pick the first two numbers
    }


def preset(now: Matrix, name: str, key: str) -> Matrix | None:
    """The matrix `name` after a button, from `now`; None when there is no such button."""
    if name in SWITCHES and key in MASKS:
        return tuple(tuple(float(MASKS[key](i, j)) for j in range(len(now[0]))) for i in range(len(now)))
    return _times(_FOUR, SIZES[key]) if name == "x4" and key in SIZES else None


def _with(book: Workbook, matrices: Mapping[str, Matrix]) -> Workbook:
    """With other matrices, and without what was typed wrongly in them."""
    wrong = {name: cells for name, cells in book.wrong.items() if name not in matrices}
    return replace(book, matrices={**book.matrices, **matrices}, wrong=wrong)


def _ones(rows: int, cols: int) -> Matrix:
    return ((1.0,) * cols,) * rows


def _identity(size: int) -> Matrix:
    return tuple(tuple(float(i == j) for j in range(size)) for i in range(size))


def _times(matrix: Matrix, factor: float) -> Matrix:
    return tuple(tuple(round(value * factor, 6) for value in line) for line in matrix)
