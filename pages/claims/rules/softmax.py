"""Claims on scores, masks and the softmax."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from mha_core.attention.functional import softmax_over_keys
from mha_core.measure import by_hand, measures
from pages.kit.draw.numbers import count, number, scientific, share, small, weight

from .verdict import Verdict, of_all

HARDLY = 0.01  # a gradient below it counts as gone
ALIKE = 10  # times an even share: below it, weights are of one order of magnitude
_DIVIDED = ("q k / √d", "q k")


def large_number_is_infinity(scores: Tensor, allow: Tensor, rounding: float) -> Verdict:
    """−1e9 on forbidden scores gives the weights of −∞.

    Args:
        scores: (i, j). allow: bool (i, j), True = may look.
        rounding: the largest difference of a weight that counts as none.
        answers: in every row; in all but those that may look at nobody; in none.
    """
    ours, _, large = by_hand.softmax_three_ways(scores, allow)
    some = allow.any(dim=1)
    usual = measures.largest_difference(large[some], ours[some])
    empty = float(large[~some].masked_fill(allow[~some], 0).sum(dim=1).max()) if bool((~some).any()) else 0.0
    smallest = torch.finfo(torch.float16).min
    return Verdict(
        of_all([True, not empty]) if usual <= rounding else "does not hold",
        f"In the rows that may look at some key the two differ by {small(usual)}. {count(int((~some).sum()), 'row')} "
        f"may look at nobody: there −1e9 gives forbidden keys {weight(empty)} of the weight. "
        f"In float16, whose least number is {number(smallest, 0)}, there is no −1e9.",
        2 if usual > rounding else 1 if empty else 0,
        (("rows that may look at some key", usual), ("weight on forbidden keys in the others", empty)),
        "difference between −1e9 and −∞",
    )


def rows_sum_to_one(weights: Tensor, scores: Tensor, allow: Tensor, rounding: float) -> Verdict:
    """The weights of every row sum to 1.

    Args:
        weights: (layers, h, i, j), nothing masked. scores: (h, i, j) of one layer. allow: bool (i, j), True = may look.
        rounding: the largest relative difference that counts as none.
        answers: every row; some; none.
    """
    apart = (weights.sum(dim=-1) - 1).abs().flatten()
    ones = apart <= rounding
    some = allow.any(dim=1)
    before = softmax_over_keys(scores.clone(), allow).sum(dim=-1)
    after = (torch.softmax(scores, dim=-1) * allow).sum(dim=-1)[:, some]
    least, empty = float(before[:, some].min()), [float(of.abs().max()) for of in before[:, ~some].unbind(dim=1)]
    return Verdict(
        of_all([bool(ones.all())]),
        f"{int(ones.sum()):,} of {count(len(ones), 'row')} sum to 1: the farthest lies "
        f"{scientific(float(apart.max()))} from it, and up to {scientific(rounding)} is rounding in float32. Masked "
        f"before the softmax, the {count(int(some.sum()), 'row')} of a map that may look at some key sum to "
        f"{number(least, 6)} at least; {count(len(empty), 'row')} may look at no key and "
        f"{'sums' if len(empty) == 1 else 'sum'} to {number(max(empty, default=0.0), 0)}. Were the weights masked "
        f"after the softmax, a row would sum to as little as {weight(float(after.min()))}.",
        0 if bool(ones.all()) else 1 if bool(ones.any()) else 2,
        (
            ("not masked, least", float(weights.sum(dim=-1).min())),
            ("masked before, least", least),
            ("masked after, least", float(after.min())),
            *(("may look at no key", value) for value in empty),
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


def weights_begin_alike(products: Mapping[str, Tensor], d: int, claimed: str) -> Verdict:
    """At the start the weights of a row are of one order of magnitude.

    Args:
        products: how q and k were drawn -> (…, i, j), products q k of d numbers each, not divided.
        d: numbers in q and k.
        claimed: the one of these draws that the claim speaks of.
        answers: the largest weight of a row is below 10 times an even share; larger, up to half of the row; more.
    """
    largest = {
        name: tuple(_mean_largest(scores) for scores in (raw / math.sqrt(d), raw)) for name, raw in products.items()
    }
    spread = {name: float((raw / math.sqrt(d)).std()) for name, raw in products.items()}
    n, most = products[claimed].shape[-1], largest[claimed][0]
    told = "; ".join(
        f"with {name} the scores q k / √d have a standard deviation of {number(spread[name], 1)}, and the largest "
        f"weight of a row is {weight(divided)} on average ({weight(undivided)} without the division)"
        for name, (divided, undivided) in largest.items()
    )
    return Verdict(
        of_all([most < ALIKE / n]),
        f"W{told[1:]}. An even share of {n} keys is {number(1 / n)}.",
        0 if most < ALIKE / n else 1 if most <= 0.5 else 2,
        (
            *(
                (f"{name}, {how}", value)
                for name, pair in largest.items()
                for how, value in zip(_DIVIDED, pair, strict=True)
            ),
            ("an even share", 1 / n),
        ),
        "largest weight of a row, mean over the rows",
        full=1,
    )


def _mean_largest(scores: Tensor) -> float:
    return float(torch.softmax(scores, dim=-1).amax(dim=-1).mean())


def _lost(scores: Tensor) -> float:
    """The share of rows whose Jacobian, diag(w) − w wᵀ, has a norm below `HARDLY`."""
    w = torch.softmax(scores.double(), dim=-1)
    jacobian = torch.diag_embed(w) - w[..., :, None] * w[..., None, :]
    return float((torch.linalg.matrix_norm(jacobian) < HARDLY).double().mean())
