"""Claims on scores, masks and the softmax."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from mha_core.attention.functional import softmax_over_keys
from mha_core.measure import by_hand, compare
from pages.kit.draw.numbers import count, number, share, small, weight

from .verdict import ROUNDING, Verdict, of_all

HARDLY = 0.01  # a gradient below it counts as gone


def large_number_is_infinity(scores: Tensor, allow: Tensor) -> Verdict:
    """−1e9 on forbidden scores gives the weights of −∞.

    Args:
        scores: (i, j). allow: bool (i, j), True = may look.
        answers: in every row; in all but those that may look at nobody; in none.
    """
    ours, _, large = by_hand.softmax_three_ways(scores, allow)
    some = allow.any(dim=1)
    usual = compare.largest_difference(large[some], ours[some])
    empty = float(large[~some].masked_fill(allow[~some], 0).sum(dim=1).max()) if bool((~some).any()) else 0.0
    smallest = torch.finfo(torch.float16).min
    return Verdict(
        of_all([usual == 0, empty == 0]) if usual == 0 else "does not hold",
        f"In the rows that may look at some key the two differ by {small(usual)}. {count(int((~some).sum()), 'row')} "
        f"may look at nobody: there −1e9 gives forbidden keys {weight(empty)} of the weight. "
        f"In float16, whose least number is {number(smallest, 0)}, there is no −1e9.",
        2 if usual else 1 if empty else 0,
        (("rows that may look at some key", usual), ("weight on forbidden keys in the others", empty)),
        "difference between −1e9 and −∞",
    )


def rows_sum_to_one(scores: Tensor, allow: Tensor) -> Verdict:
    """Masked before the softmax, every row sums to 1.

    Args:
        scores: (h, i, j). allow: bool (i, j), True = may look.
        answers: each to 1; each to 1, but 0 where nothing is allowed; to something below 1.
    """
    before = softmax_over_keys(scores.clone(), allow).sum(dim=-1)
    after = (torch.softmax(scores, dim=-1) * allow).sum(dim=-1)
    some = allow.any(dim=1)
    one = bool(((before[:, some] - 1).abs() <= ROUNDING).all())
    empty, least = int((~some).sum()), float(after[:, some].min())
    return Verdict(
        of_all([one, one and not empty]),
        f"{count(int(some.sum()), 'row')} may look at some key: masked before the softmax, they sum to "
        f"{number(float(before[:, some].min()), 6)} at least. {count(empty, 'row')} may look at nobody and "
        f"{'sums' if empty == 1 else 'sum'} to 0. Were the weights masked after the softmax, a row would sum to as "
        f"little as {weight(least)}.",
        2 if not one else 1 if empty else 0,
        (
            ("masked before, least", float(before[:, some].min())),
            ("masked after, least", least),
            *([("may look at nobody", 0.0)] if empty else []),
        ),
        "sum of a row of weights",
        full=1,
    )


def division_keeps_gradients(scores: Mapping[int, Tensor]) -> Verdict:
    """Divided by √d, the softmax of long vectors still has a gradient.

    Args:
        scores: d -> (rows, j), products q k of random q and k with d numbers each, not divided.
        answers: for the largest d, without the division: no row has lost its gradient; up to half have; more.
    """
    lost = {d: (_lost(raw), _lost(raw / math.sqrt(d))) for d, raw in scores.items()}
    largest = max(lost)
    without, divided = lost[largest]
    sharp, soft = (
        float(torch.softmax(of, dim=-1).amax(dim=-1).mean())
        for of in (scores[largest], scores[largest] / math.sqrt(largest))
    )
    return Verdict(
        of_all([divided < without for without, divided in lost.values()]),
        f"With {largest} numbers in q and k, {share(without, 2)} of the rows have no gradient to speak of (below "
        f"{HARDLY}) without the division, {share(divided, 2)} with it. The largest weight of a row is "
        f"{weight(sharp)} without it and {weight(soft)} with it, on average: nearer to 1, less is left to change.",
        0 if without == 0 else 1 if without <= 0.5 else 2,
        tuple(
            (f"d {d}, {how}", value)
            for d, pair in lost.items()
            for how, value in zip(("q k", "q k / √d"), pair, strict=True)
        ),
        f"share of rows whose gradient of the weights by the scores is below {HARDLY}",
        full=1,
    )


def _lost(scores: Tensor) -> float:
    """The share of rows whose Jacobian, diag(w) − w wᵀ, has a norm below `HARDLY`."""
    w = torch.softmax(scores.double(), dim=-1)
    jacobian = torch.diag_embed(w) - w[..., :, None] * w[..., None, :]
    return float((torch.linalg.matrix_norm(jacobian) < HARDLY).double().mean())
