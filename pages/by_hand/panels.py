"""The matrices and panels of the worked examples."""

import math
from collections.abc import Sequence
from typing import Literal

from torch import Tensor

from headlight.ui import sheet
from headlight.ui.sheet import Block
from mha_core.measure.by_hand import Stages

from . import remarks
from .workbook import MASKS, TOKENS, Workbook

Labels = Sequence[str]
TWO, FOUR = ("0", "1"), ("0", "1", "2", "3")


def matrix(
    name: str,
    value: Tensor,
    rows: Labels,
    cols: Labels,
    axes: str,
    formula: str = "",
    colour: Literal["weights", "signed"] | None = None,
    sums: Tensor | None = None,
) -> Block:
    """Return a computed matrix, which cannot be edited."""
    row_sums = None if sums is None else sums.flatten().tolist()
    return sheet.matrix(
        name, value.tolist(), rows=rows, cols=cols, axes=axes, formula=formula, colour=colour, sums=row_sums
    )


def projections(book: Workbook, head: str) -> list[Block]:
    """Return the editable projection matrices; `head` is "" for a single head."""
    size = FOUR if head else TWO
    return [book.block(f"w{name}{head}", f"W{name}", size, TWO, "c d") for name in "qkv"]


def projected_x(q: Tensor, k: Tensor, v: Tensor) -> Block:
    """Return q, k and v as projections of x."""
    parts = (("q", q, "i"), ("k", k, "j"), ("v", v, "j"))
    matrices = [matrix(name, value, TOKENS, TWO, f"{axis} d", f"x W{name}") for name, value, axis in parts]
    return sheet.chain(matrices, [""] * 2)


def scores(q: Tensor, k: Tensor, scores: Tensor, rows: Labels, cols: Labels) -> Block:
    """Return the panel of the product q kᵀ."""
    parts = [
        matrix("q", q, rows, TWO, "i d"),
        matrix("kᵀ", k.T, TWO, cols, "d j"),
        matrix("scores", scores, rows, cols, "i j", "q kᵀ"),
    ]
    return sheet.panel("Scores", [sheet.chain(parts, ["·", "="])], "how well each query matches each key")


def division(book: Workbook, stages: Sequence[Stages]) -> Block:
    """Return the choice whether scores are divided by √d, with its effect on the weights."""
    choices = [("scores", {"divide": False}, not book.divide), ("scores ÷ √2", {"divide": True}, book.divide)]
    note = sheet.text(remarks.division(book, stages), muted=True)
    return sheet.row([sheet.buttons("Softmax of", choices), note])


def mask(book: Workbook, name: str, rows: Labels, cols: Labels) -> Block:
    """Return the panel of a mask with its presets."""
    cells = book.block(name, "allow", rows, cols, "i j")
    return sheet.panel(
        "Mask", [book.presets(name, MASKS, "Masks"), cells], "1: this query may attend to this key; press to change"
    )


def _softmax(book: Workbook, stages: Stages, rows: Labels, cols: Labels) -> list[Block]:
    """Return the steps from the scores to the weights, without those that change nothing."""
    steps = []
    if book.divide:
        steps.append(matrix("scaled", stages.scaled, rows, cols, "i j", "scores / √2"))
    if bool((stages.masked == -math.inf).any()):
        steps.append(matrix("masked", stages.masked, rows, cols, "i j", "−∞ if forbidden"))
    formula = "exp(score − max)" if bool(stages.subtracted.any()) else "exp(score)"
    steps.append(matrix("exp", stages.exps, rows, cols, "i j", formula, sums=stages.sums))
    total = stages.weights.sum(dim=-1)
    steps.append(matrix("weights", stages.weights, rows, cols, "i j", "exp / row sum", "weights", total))
    return steps


def softmax_and_output(
    book: Workbook, stages: Stages, v: Tensor, rows: Labels, cols: Labels, notes: list[str], v_formula: str
) -> list[Block]:
    """Return the panel from the scores to the output; `v_formula` is the formula of v."""
    steps = _softmax(book, stages, rows, cols)
    output = [
        matrix("v", v, cols, TWO, "j d", v_formula),
        matrix("out", stages.mixed, rows, TWO, "i d", "weights · v"),
    ]
    chain = sheet.chain([*steps, *output], [*["→"] * (len(steps) - 1), "·", "="])
    note = "row by row over the keys; each output is a weighted mean (barycentre) of the values"
    blocks = [division(book, [stages]), chain, *map(sheet.text, notes)]
    return [sheet.panel("Softmax, then the weighted sum of the values", blocks, note)]


def head(book: Workbook, head: int, q: Tensor, k: Tensor, v: Tensor, stages: Stages) -> Block:
    """Return the panel of one head."""
    scores = matrix("scores", q @ k.T, TOKENS, TOKENS, "i j", "q kᵀ")
    mixed = matrix("mixed", stages.mixed, TOKENS, TWO, "i d", "weights · v")
    steps = [scores, *_softmax(book, stages, TOKENS, TOKENS), mixed]
    inputs = [sheet.row(projections(book, str(head))) | {"chain": True}, projected_x(q, k, v)]
    chain = sheet.chain(steps, ["→"] * (len(steps) - 1))
    return sheet.panel(f"Head {head}", [*inputs, chain, *map(sheet.text, remarks.sharpness(stages, TOKENS))])


def formula(book: Workbook, formulas: Sequence[Block]) -> Block:
    """Return the panel of the paper's formulas with the example's sizes."""
    note = "sizes have the colours of their axes"
    return sheet.panel(
        "As the paper writes it", formulas, note if book.divide else f"{note}; the scores here are not divided"
    )
