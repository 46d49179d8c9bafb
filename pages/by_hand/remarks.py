"""Sentences on the worked examples, each computed from the matrices shown."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from headlight.ui.numbers import cut, difference, number, weight
from mha_core import IMPLEMENTATIONS
from mha_core.attention.functional import softmax_over_keys
from mha_core.measure.by_hand import MAX_EXPONENT, Stages, weights_of

from .workbook import Workbook

Pair = Sequence[str]
ONE_HOT = 0.999  # a weight above it leaves next to nothing for the others


def of_map(done: Stages, allow: Tensor, rows: Pair, *, same: bool = True) -> list[str]:
    """What must be said about a map. `same`: queries and keys are the same words."""
    own = not_itself(allow, rows) if same else []
    return [*empty_rows(allow, rows), *own, *sharpness(done, rows)]


def empty_rows(allow: Tensor, rows: Pair) -> list[str]:
    empty = [i for i in range(len(rows)) if not bool(allow[i].any())]
    return [f"Row {i} “{cut(rows[i], 20)}” may look at no key, so its weights and its output are 0." for i in empty]


def not_itself(allow: Tensor, rows: Pair) -> list[str]:
    """Rows that may look at others but not at themselves."""
    found = [i for i in range(len(rows)) if not bool(allow[i, i]) and bool(allow[i].any())]
    return [
        f"Row {i} “{cut(rows[i], 20)}” may not look at itself, so its output contains nothing of its own value."
        for i in found
    ]


def division(book: Workbook, stages: Sequence[Stages]) -> str:
    """What dividing the scores by √2 does to the largest of these weights."""
    plain = [done.masked * book.divisor(2) for done in stages]
    without, divided = (
        max(float(softmax_over_keys(scores / by, scores.isfinite()).max()) for scores in plain)
        for by in (1.0, math.sqrt(2))
    )
    return f"A sum of d products grows like √d. Largest weight: {weight(divided)} divided, {weight(without)} not."


def sharpness(done: Stages, rows: Pair) -> list[str]:
    """When softmax has become all or nothing, and when exp would overflow."""
    said = []
    if done.weights.shape[1] > 1:
        top, second = done.masked.topk(2, dim=-1).values.T
        sharp = (done.weights.amax(dim=-1) > ONE_HOT) & second.isfinite()  # not those with a single key to look at
        if bool(sharp.any()):
            lead = float((top - second)[sharp].min())
            ahead = number(lead, 1)
            where = f"In {int(sharp.sum())} of {len(rows)} rows one weight is above {ONE_HOT}"
            left = math.exp(-lead)
            share = f"at most {number(left)}" if left else "less than 1e−300"
            rest = f"so the next one has exp(−{ahead}), {share}, of its weight"
            said.append(f"{where}: its score is ahead of the next by at least {ahead}, {rest}.")
    if bool(done.subtracted.any()):
        limit = f"exp of more than {MAX_EXPONENT} overflows in float32"
        said.append(f"Before exp, each row’s largest score is subtracted: {limit}, and the weights stay the same.")
    return said


def against_the_layer(book: Workbook, w: dict[str, list[Tensor]], out: Tensor) -> str:
    """The difference to the app's own layer with the same weights."""
    layer = IMPLEMENTATIONS["efficient"](4, 2, bias=False).double().load(weights_of(w["q"], w["k"], w["v"], book["wo"]))
    temperature = 1.0 if book.divide else 1 / math.sqrt(2)  # the layer always divides by √d
    with torch.no_grad():
        by_layer, _ = layer(book["x4"], allow=book.allow("a4"), temperature=temperature)
    written = difference(float((by_layer - out).abs().max()))
    return f"The app's own layer “efficient”, loaded with these weights: largest difference to this output {written}."
