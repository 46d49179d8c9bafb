"""Every number that the article prints whose worked examples these are, beside what is computed from the same inputs.

And why they differ where they do.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from headlight.ui import sheet
from headlight.ui.numbers import count, exact, number
from headlight.ui.sheet import Block
from mha_core.measure.by_hand import softmax_steps

from .codec import Matrix
from .examples import IDS
from .workbook import TOKENS, Workbook, defaults

NOTE = (
    "in print: in the article on the transformer that these inputs are from; computed: from the inputs as given, "
    "whatever is changed above; a frame marks what differs"
)


@dataclass(frozen=True)
class PrintedRows:
    """A matrix in print.

    Attributes:
        example: of By hand, that begins with the same inputs.
        name: of the matrix; unique within its example.
        values: row by row, a row a word unless `of_weights`.
        of_weights: rows and columns are those of nn.Linear, (out, in).
    """

    example: str
    name: str
    values: Matrix
    decimals: int = 0
    of_weights: bool = False


PRINTED = (
    PrintedRows("one head", "ids", ((10,), (3,), (5,))),
    PrintedRows("one head", "x", ((1.1, 1.2), (2.1, 2.2), (3.1, 3.2)), 1),
    PrintedRows("one head", "scores", ((0.5, 0.1, 0.4), (0.1, 0.8, 0.3), (0.4, 0.3, 0.1)), 1),
    PrintedRows("one head", "weights", ((0.38, 0.26, 0.35), (0.23, 0.48, 0.29), (0.38, 0.34, 0.28)), 2),
    PrintedRows("one head", "out", ((2.0630, 2.1630), (2.1523, 2.2523), (2.0020, 2.1020)), 4),
    PrintedRows("two heads", "q, k, v of head 0", ((1, 10), (2, 20), (3, 30))),
    PrintedRows("two heads", "q, k, v of head 1", ((100, 1000), (200, 2000), (300, 4000))),
    PrintedRows("two heads", "mixed of head 0", ((1.1, 10.1), (2.1, 20.1), (3.1, 30.1)), 1),
    PrintedRows("two heads", "mixed of head 1", ((100.2, 1000.2), (200.2, 2000.2), (300.2, 4000.2)), 1),
    PrintedRows(
        "two heads",
        "joined",
        ((1.1, 10.1, 100.2, 1000.2), (2.1, 20.1, 200.2, 2000.2), (3.1, 30.1, 300.2, 4000.2)),
        1,
    ),
    PrintedRows("stacked weights", "x", ((1, 10, 100, 1000), (2, 20, 200, 2000), (3, 30, 300, 3000))),
    PrintedRows("stacked weights", "W of head 0", ((10, 0, 0, 0), (0, 10, 0, 0)), of_weights=True),
    PrintedRows("stacked weights", "W of head 1", ((20, 0, 0, 0), (0, 20, 0, 0)), of_weights=True),
    PrintedRows("stacked weights", "W", ((10, 0, 0, 0), (0, 10, 0, 0), (20, 0, 0, 0), (0, 20, 0, 0)), of_weights=True),
    PrintedRows("stacked weights", "x Wᵀ", ((10, 100, 20, 200), (20, 200, 40, 400), (30, 300, 60, 600))),
)


def of(example: str) -> tuple[PrintedRows, ...]:
    """What is printed of an example, in order."""
    return tuple(one for one in PRINTED if one.example == example)


@lru_cache(maxsize=8)
def panel(example: str) -> list[Block]:
    """Every printed matrix of an example with the computed one; nothing where nothing is printed."""
    rows = [_beside(one) for one in of(example)]
    return [sheet.panel("In print, and computed", rows, NOTE)] if rows else []


@lru_cache(maxsize=8)
def computed(example: str) -> dict[str, Tensor]:
    """The same matrices from the inputs as given, by their printed names."""
    book = Workbook(defaults())
    match example:
        case "one head":
            done = softmax_steps(book["s"], book["x"])
            ids = torch.tensor(IDS, dtype=torch.float64)[:, None]
            return {"ids": ids, "x": book["x"], "scores": book["s"], "weights": done.weights, "out": done.mixed}
        case "two heads":
            made: dict[str, Tensor] = {}
            for head in range(2):
                q, k, v = (book["x4"] @ book[f"w{name}{head}"] for name in "qkv")
                made[f"q, k, v of head {head}"] = q
                made[f"mixed of head {head}"] = softmax_steps(q @ k.T, v).mixed
            return made | {"joined": torch.cat([made[f"mixed of head {head}"] for head in range(2)], dim=1)}
        case "stacked weights":
            own = [book[f"w{head}"].T for head in range(2)]
            stacked = torch.cat(own)
            named = {f"W of head {head}": one for head, one in enumerate(own)}
            return {"x": book["x4"], **named, "W": stacked, "x Wᵀ": book["x4"] @ stacked.T}
    return {}


def different(one: PrintedRows) -> list[tuple[int, int]]:
    """The cells, (row, column), whose printed number is not the computed one to as many digits."""
    value = computed(one.example)[one.name]
    shown = value.round(decimals=one.decimals).tolist()
    half = 10**-one.decimals / 2
    return [
        (i, j)
        for i, line in enumerate(one.values)
        for j, printed in enumerate(line)
        if abs(printed - shown[i][j]) > half
    ]


def reason(one: PrintedRows) -> str:
    """What the two have in common, or why they differ: computed from both."""
    cells, value = different(one), computed(one.example)[one.name]
    if one.name == "out" and not cells:
        return _from_which_weights(one)
    if one.name == "x Wᵀ" and not cells:
        return _which_head(one)
    if not cells:
        return "Equal to the last printed digit." if one.decimals else "Equal."
    if one.name == "weights":
        return _cut(one, cells, value)
    if one.name.startswith("q, k, v"):
        (i, j), *_ = cells
        given = exact(one.values[i][j])
        return (
            f"{count(len(cells), 'number')} of “{TOKENS[i]}” differs: {given} in print, "
            f"{number(float(value[i, j]), 0)} computed, as in the inputs in print. So {given} is a slip, and it goes "
            "on into what follows there."
        )
    return (
        _one_hot(one, value)
        if one.name != "joined"
        else "The two heads side by side, in print as computed; they differ as the heads do."
    )


def _cut(one: PrintedRows, cells: list[tuple[int, int]], value: Tensor) -> str:
    """Whether each differing cell is the computed one with its further digits cut off."""
    step = 10**one.decimals
    cut = [(i, j) for i, j in cells if math.floor(float(value[i, j]) * step) / step == one.values[i][j]]
    all_cells = sum(map(len, one.values))
    said = f"{len(cells)} of {count(all_cells, 'cell')} differ"
    if cut == cells:
        said += ": their further digits are cut off in print, where the others are rounded"
    pairs = ", ".join(f"{number(float(value[i, j]), 5)} stands as {one.values[i][j]}" for i, j in cells)
    return f"{said}. {pairs}."


def _from_which_weights(one: PrintedRows) -> str:
    """That the printed output comes from weights with all their digits."""
    (weights,) = (other for other in of(one.example) if other.name == "weights")
    printed = torch.tensor(weights.values, dtype=torch.float64)
    mixed = (printed @ computed(one.example)["x"])[0]
    total = float(printed[0].sum())
    would = " ".join(number(float(part), one.decimals) for part in mixed)
    return (
        "Equal to the last printed digit, so it was computed with all digits of the weights: with those in print, "
        f"whose first row sums to {number(total, 2)}, its first row would be {would}."
    )


def _which_head(one: PrintedRows) -> str:
    """Which head's W the second half of the printed product is of; in print it is named after head 1, from 1, again."""
    made = computed(one.example)
    half = torch.tensor(one.values, dtype=torch.float64)[:, len(one.values[0]) // 2 :]
    of = [head for head in range(2) if torch.equal(half, made["x"] @ made[f"W of head {head}"].T)]
    names = " and ".join(f"W{'₁₂'[head]}" for head in of)
    return f"Equal. In print both halves are called QW₁ᵀ, heads counted from 1; the second is the product with {names}."


def _one_hot(one: PrintedRows, value: Tensor) -> str:
    """What was added in print instead of attending, and what attention makes of these inputs."""
    head = one.name[-1]
    (given,) = (other for other in of(one.example) if other.name == f"q, k, v of head {head}")
    added = torch.tensor(one.values, dtype=torch.float64) - torch.tensor(given.values, dtype=torch.float64)
    q = computed(one.example)[given.name]
    weights = softmax_steps(q @ q.T, q).weights
    said = ""
    if float(added.max() - added.min()) < 1e-9:
        shift = number(float(added.mean()), 1)
        said = f"In print, {shift} is added to each number of v, to show that attention changes it. "
    words = {TOKENS[at] for at in weights.argmax(dim=-1).tolist()}
    if len(words) == 1:
        out = " ".join(number(float(part), 0) for part in value[0])
        least = float(weights.amax(-1).min())
        share = "all its weight" if least == 1 else f"at least {math.floor(100 * least)} % of its weight"
        said += f"Attention itself puts {share} on “{words.pop()}” in every row: all become its value, {out}."
    return said


def _beside(one: PrintedRows) -> Block:
    value = computed(one.example)[one.name]
    rows: Sequence[str] = TOKENS
    cols = [str(place) for place in range(len(one.values[0]))]
    if one.of_weights:
        rows = [str(place) for place in range(len(one.values))]
    elif len(cols) == len(TOKENS):
        cols = list(TOKENS)
    marks = different(one)

    def half(name: str, values: list[list[float]]) -> Block:
        return sheet.matrix(
            f"{one.name}, {name}",
            values,
            rows=rows,
            cols=cols,
            axes="",
            write=lambda cell: number(cell, one.decimals),
            compact=True,
            marks=marks,
        )

    pair = [half("in print", [list(line) for line in one.values]), half("computed", value.tolist())]
    return sheet.row([*pair, sheet.text(reason(one))])
