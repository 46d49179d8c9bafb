"""Sentences on the worked examples, computed from their matrices."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from headlight.ui.numbers import cut, difference, number, weight
from mha_core import IMPLEMENTATIONS
from mha_core.attention.functional import softmax_over_keys
from mha_core.measure.by_hand import MAX_EXPONENT, Stages, weights_from_matrices
from mha_core.token_text import quote

from .workbook import Workbook

Labels = Sequence[str]
ONE_HOT = 0.999  # the least weight of a row that counts as one-hot


def map_remarks(stages: Stages, allow: Tensor, rows: Labels, *, is_self: bool = True) -> list[str]:
    """Return the remarks on a map; `is_self` means that queries and keys are the same words."""
    self_notes = without_itself(allow, rows) if is_self else []
    return [*empty_rows(allow, rows), *self_notes, *sharpness(stages, rows)]


def empty_rows(allow: Tensor, rows: Labels) -> list[str]:
    """Name the rows without any allowed key."""
    empty = [i for i in range(len(rows)) if not bool(allow[i].any())]
    return [
        f"Row {i} {quote(cut(rows[i], 20))} may attend to no key, so its weights and its output are 0." for i in empty
    ]


def without_itself(allow: Tensor, rows: Labels) -> list[str]:
    """Name the rows that may look at other words but not at themselves."""
    blind = [i for i in range(len(rows)) if not bool(allow[i, i]) and bool(allow[i].any())]
    return [
        f"Row {i} {quote(cut(rows[i], 20))} may not attend to itself, so its output contains nothing of its own value."
        for i in blind
    ]


def division(book: Workbook, stages: Sequence[Stages]) -> str:
    """Compare the largest weight with and without the division by √2."""
    plain = [done.masked * book.divisor(2) for done in stages]
    raw, divided = (
        max(float(softmax_over_keys(scores / divisor, scores.isfinite()).max()) for scores in plain)
        for divisor in (1.0, math.sqrt(2))
    )
    growth = "A sum of d products grows like √d."
    return f"{growth} The largest weight is {weight(divided)} with the division by √2 and {weight(raw)} without it."


def sharpness(stages: Stages, rows: Labels) -> list[str]:
    """Describe a softmax that is nearly one-hot, and the subtraction of the maximum."""
    sentences = []
    if stages.weights.shape[1] > 1:
        top, second = stages.masked.topk(2, dim=-1).values.T
        sharp = (stages.weights.amax(dim=-1) > ONE_HOT) & second.isfinite()  # without rows that have a single key
        if bool(sharp.any()):
            lead = float((top - second)[sharp].min())
            ahead = number(lead, 1)
            scope = f"In {int(sharp.sum())} of {len(rows)} rows one weight is above {ONE_HOT}"
            left = math.exp(-lead)
            share = f"at most {number(left)}" if left else "less than 1e−300"
            rest = f"so the next one has exp(−{ahead}), {share}, of its weight"
            sentences.append(f"{scope}: its score is ahead of the next by at least {ahead}, {rest}.")
    if bool(stages.subtracted.any()):
        limit = f"exp of more than {MAX_EXPONENT} overflows in float32"
        sentences.append(f"Before exp, each row’s largest score is subtracted: {limit}, and the weights stay the same.")
    return sentences


def compare_with_layer(book: Workbook, w: dict[str, list[Tensor]], out: Tensor) -> str:
    """Compare the output with that of the app's own layer with the same weights."""
    layer = (
        IMPLEMENTATIONS["efficient"](4, 2, bias=False)
        .double()
        .load(weights_from_matrices(w["q"], w["k"], w["v"], book["wo"]))
    )
    temperature = 1.0 if book.divide else 1 / math.sqrt(2)  # the layer always divides by √d
    with torch.no_grad():
        by_layer, _ = layer(book["x4"], allow=book.allow("a4"), temperature=temperature)
    error = difference(float((by_layer - out).abs().max()))
    return f"The app’s own layer “efficient”, loaded with these weights: largest difference to this output {error}."
