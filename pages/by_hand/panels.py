"""The matrices and panels that the worked examples are made of."""

import math
from collections.abc import Sequence
from typing import Literal

from torch import Tensor

from headlight.ui import sheet
from headlight.ui.sheet import Block
from mha_core.measure.by_hand import Stages

from . import remarks
from .workbook import MASKS, TOKENS, Workbook

Pair = Sequence[str]
TWO, FOUR = ("0", "1"), ("0", "1", "2", "3")


def computed(
    name: str,
    value: Tensor,
    rows: Pair,
    cols: Pair,
    axes: str,
    formula: str = "",
    colour: Literal["weights", "signed"] | None = None,
    sums: Tensor | None = None,
) -> Block:
    added = None if sums is None else sums.flatten().tolist()
    return sheet.matrix(
        name, value.tolist(), rows=rows, cols=cols, axes=axes, formula=formula, colour=colour, sums=added
    )


def projections(book: Workbook, head: str) -> list[Block]:
    size = FOUR if head else TWO
    return [book.block(f"w{name}{head}", f"W{name}", size, TWO, "c d") for name in "qkv"]


def projected(q: Tensor, k: Tensor, v: Tensor) -> Block:
    parts = (("q", q, "i"), ("k", k, "j"), ("v", v, "j"))
    made = [computed(name, value, TOKENS, TWO, f"{axis} d", f"x W{name}") for name, value, axis in parts]
    return sheet.chain(made, [""] * 2)


def scores(q: Tensor, k: Tensor, scores: Tensor, rows: Pair, cols: Pair) -> Block:
    parts = [
        computed("q", q, rows, TWO, "i d"),
        computed("kᵀ", k.T, TWO, cols, "d j"),
        computed("scores", scores, rows, cols, "i j", "q kᵀ"),
    ]
    return sheet.panel("Scores", [sheet.chain(parts, ["·", "="])], "how well each query matches each key")


def division(book: Workbook, stages: Sequence[Stages]) -> Block:
    """The choice whether scores are divided by √d, with what that does to the weights shown: of one head or several."""
    chosen = [("scores", {"divide": False}, not book.divide), ("scores ÷ √2", {"divide": True}, book.divide)]
    told = sheet.text(remarks.division(book, stages), muted=True)
    return sheet.row([sheet.buttons("Softmax of", chosen), told])


def mask(book: Workbook, name: str, rows: Pair, cols: Pair) -> Block:
    """The mask: 1 = may look."""
    cells = book.block(name, "allow", rows, cols, "i j")
    return sheet.panel(
        "Mask", [book.presets(name, MASKS, "Masks"), cells], "1: this query may attend to this key; press to change"
    )


def _softmax(book: Workbook, done: Stages, rows: Pair, cols: Pair) -> list[Block]:
    """The steps from the scores to the weights, as far as something happens in them."""
    steps = []
    if book.divide:
        steps.append(computed("scaled", done.scaled, rows, cols, "i j", "scores / √2"))
    if bool((done.masked == -math.inf).any()):
        steps.append(computed("masked", done.masked, rows, cols, "i j", "−∞ if forbidden"))
    formula = "exp(score − max)" if bool(done.subtracted.any()) else "exp(score)"
    steps.append(computed("exp", done.exps, rows, cols, "i j", formula, sums=done.sums))
    total = done.weights.sum(dim=-1)
    steps.append(computed("weights", done.weights, rows, cols, "i j", "exp / row sum", "weights", total))
    return steps


def softmax_and_output(
    book: Workbook, done: Stages, v: Tensor, rows: Pair, cols: Pair, said: list[str], v_is: str
) -> list[Block]:
    """From the scores to the output; `v_is`: where the values come from."""
    steps = _softmax(book, done, rows, cols)
    output = [
        computed("v", v, cols, TWO, "j d", v_is),
        computed("out", done.mixed, rows, TWO, "i d", "weights · v"),
    ]
    chain = sheet.chain([*steps, *output], [*["→"] * (len(steps) - 1), "·", "="])
    note = "row by row over the keys; each output is a weighted mean (barycentre) of the values"
    blocks = [division(book, [done]), chain, *map(sheet.text, said)]
    return [sheet.panel("Softmax, then the weighted sum of the values", blocks, note)]


def head(book: Workbook, head: int, q: Tensor, k: Tensor, v: Tensor, done: Stages) -> Block:
    scores = computed("scores", q @ k.T, TOKENS, TOKENS, "i j", "q kᵀ")
    mixed = computed("mixed", done.mixed, TOKENS, TWO, "i d", "weights · v")
    steps = [scores, *_softmax(book, done, TOKENS, TOKENS), mixed]
    inputs = [sheet.row(projections(book, str(head))) | {"chain": True}, projected(q, k, v)]
    chain = sheet.chain(steps, ["→"] * (len(steps) - 1))
    return sheet.panel(f"Head {head}", [*inputs, chain, *map(sheet.text, remarks.sharpness(done, TOKENS))])


def formula(book: Workbook, formulas: Sequence[Block]) -> Block:
    """What is computed above, as the paper writes it with these sizes."""
    note = "sizes have the colours of their axes"
    return sheet.panel(
        "As the paper writes it", formulas, note if book.divide else f"{note}; above, the scores are not divided"
    )
