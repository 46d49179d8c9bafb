"""Claims on order, positions and padding."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from mha_core.measure import compare
from pages.kit.draw.numbers import count, precise, share, small

from .verdict import ROUNDING, Verdict, of_all


def order_does_not_matter(without: tuple[Tensor, Tensor], positions: tuple[Tensor, Tensor]) -> Verdict:
    """Without positions the words have the same vectors in every order.

    Args:
        without, positions: the vectors (i, c) of a sentence, and those of its words in another order, put back in
            place; without positions and with them.
        answers: all others; the same in the new order.
    """
    moved, marked = (compare.largest_difference(here, there) for here, there in (without, positions))
    same = moved <= ROUNDING
    return Verdict(
        of_all([same]),
        f"Without positions the vectors, put back in their old order, differ by at most {small(moved)}; "
        f"with positions by {small(marked)}."
        + (" A vector goes with its word: the same ones, in the new order." if same else ""),
        int(same),
        (("without positions", moved), ("with positions", marked)),
        "largest difference of a vector between the two orders",
    )


def better_without_positions(right: Mapping[str, tuple[Tensor, Tensor]]) -> Verdict:
    """A classifier answers more rows rightly without positions than with waves.

    Args:
        right: task -> bool (rows,), (rows,): answered rightly without positions, and with sinusoids.
        answers: in all tasks; in some; in none.
    """
    shares = {task: (float(a.double().mean()), float(b.double().mean())) for task, (a, b) in right.items()}
    worse = [without > with_waves for without, with_waves in shares.values()]
    rows = sum(len(pair[0]) for pair in right.values())
    told = "; ".join(
        f"{task}: {share(without, 3)} without, {share(waves, 3)} with" for task, (without, waves) in shares.items()
    )
    return Verdict(
        of_all(worse),
        f"Asked {count(rows, 'row')} that no model has seen, right answers: {told}. "
        f"Without positions is better in {sum(worse)} of {count(len(worse), 'task')}.",
        0 if all(worse) else 1 if any(worse) else 2,
        in_pairs(shares),
        "share of unseen rows that are answered rightly",
        full=1,
    )


def positions_cost_accuracy(right: Mapping[str, tuple[Tensor, Tensor]]) -> Verdict:
    """Positions make a classifier worse, by more than the standard error that so many test rows leave.

    Args:
        right: way to train -> bool (seeds, rows), (seeds, rows): answered rightly without positions, and with.
        answers: in every way; in some; in none.
    """
    shares = {way: (float(a.double().mean()), float(b.double().mean())) for way, (a, b) in right.items()}
    errors = {way: math.sqrt(p * (1 - p) / right[way][0].shape[1]) for way, (p, _) in shares.items()}
    worse = {way: without - with_them > errors[way] for way, (without, with_them) in shares.items()}
    told = "; ".join(
        f"{way}: {share(without, 3)} without, {share(with_them, 3)} with"
        for way, (without, with_them) in shares.items()
    )
    runs = sum(len(one) for one in {id(one): one for pair in right.values() for one in pair}.values())
    return Verdict(
        of_all(list(worse.values())),
        f"Right answers of {count(runs, 'recorded run')}: {told}. A standard error is "
        f"{share(max(errors.values()), 3)}; accuracy falls by more in {sum(worse.values())} of "
        f"{count(len(worse), 'way')}.",
        0 if all(worse.values()) else 1 if any(worse.values()) else 2,
        in_pairs(shares),
        "share of test rows that are answered rightly, mean over the seeds",
        full=1,
    )


def padding_does_no_harm(alone: Tensor, masked: Tensor, unmasked: Tensor, added: int) -> Verdict:
    """A short text may be filled up without a mask.

    Args:
        alone, masked, unmasked: (c,), the sentence's vector by itself, and in a batch whose padding is masked or not.
        added: how many [PAD] it got.
        answers: the same; nearly; clearly another one.
    """
    with_mask, without = compare.cosine(masked, alone), compare.cosine(unmasked, alone)
    moved = float(torch.linalg.vector_norm(unmasked - alone))
    return Verdict(
        of_all([moved <= ROUNDING]),
        f"With {added} [PAD] behind it the sentence’s vector has cosine {precise(without)} to the one that it has "
        f"alone, if nobody is kept from looking at them; {precise(with_mask)} if they are masked.",
        0 if moved <= ROUNDING else 1 if without >= 0.95 else 2,
        (("padding masked", with_mask), ("not masked", without)),
        "cosine to the vector of the sentence alone",
        full=1,
    )


def in_pairs(shares: Mapping[str, tuple[float, float]]) -> tuple[tuple[str, float], ...]:
    """The bars of shares without positions and with: name -> (without, with)."""
    return tuple(
        (f"{name}, {how}", value)
        for name, pair in shares.items()
        for how, value in zip(("without", "with"), pair, strict=True)
    )
