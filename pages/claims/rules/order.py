"""Claims on order, positions and padding."""

import math
from collections.abc import Mapping

from torch import Tensor

from mha_core.measure import measures
from pages.kit.draw.numbers import count, precise, share, small

from .verdict import Verdict, of_all, relative

Pair = tuple[Tensor, Tensor]


def order_does_not_matter(without: Pair, positions: Pair, rounding: float) -> Verdict:
    """Without positions the words have the same vectors in every order.

    Args:
        without, positions: the vectors (i, c) of a sentence, and those of its words in another order, put back in
            place; without positions and with them.
        rounding: the largest difference, relative to the largest number, that counts as none.
        answers: all others; the same in the new order.
    """
    moved, marked = (measures.largest_difference(here, there) for here, there in (without, positions))
    same = moved <= rounding * float(without[0].abs().max())
    return Verdict(
        of_all([same]),
        f"Without positions the vectors, put back in their old order, differ by at most {small(moved)}; "
        f"with positions by {small(marked)}."
        + (" A vector goes with its word: the same ones, in the new order." if same else ""),
        int(same),
        (("without positions", moved), ("with positions", marked)),
        "largest difference of a vector between the two orders",
    )


def positions_are_needed(right: Mapping[str, Pair]) -> Verdict:
    """A classifier answers more rows rightly with positions than without, by more than the standard error.

    Args:
        right: task -> bool (…, rows), (…, rows): answered rightly without positions, and with sinusoids.
        answers: in all tasks; in some; in none.
    """
    shares, told = _shares(right), _told(right)
    better = [positions - without > _error(right[task]) for task, (without, positions) in shares.items()]
    return Verdict(
        of_all(better),
        f"Right answers to test rows: {told}. With positions is better, by more than a standard "
        f"error, in {sum(better)} of {count(len(better), 'task')}.",
        0 if all(better) else 1 if any(better) else 2,
        in_pairs(shares),
        "share of test rows that are answered rightly",
        full=1,
    )


def positions_cost_accuracy(right: Mapping[str, Pair]) -> Verdict:
    """Positions make a classifier worse, by more than the standard error that so many test rows leave.

    Args:
        right: way to train -> bool (seeds, rows), (seeds, rows): answered rightly without positions, and with.
        answers: in every way; in some; in none.
    """
    shares, told = _shares(right), _told(right)
    errors = {way: _error(pair) for way, pair in right.items()}
    worse = {way: without - positions > errors[way] for way, (without, positions) in shares.items()}
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


def a_mask_hides_padding(alone: Tensor, masked: Tensor, unmasked: Tensor, added: int, rounding: float) -> Verdict:
    """With a mask nobody attends to padding, so that a sentence in a batch is what it is alone.

    Args:
        alone, masked, unmasked: (c,), the sentence's vector by itself, and in a batch whose padding is masked or not.
        added: how many [PAD] it got.
        rounding: the largest relative difference that counts as none.
        answers: masked or not; only masked; not even then.
    """
    (kept, with_mask), (same, without) = (
        (relative(of, alone) <= rounding, measures.cosine(of, alone)) for of in (masked, unmasked)
    )
    return Verdict(
        of_all([kept]),
        f"With {added} [PAD] behind it the sentence’s vector has cosine {precise(with_mask)} to the one that it has "
        f"alone if they are masked, and {precise(without)} if nobody is kept from looking at them.",
        (0 if same else 1) if kept else 2,
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


def _shares(right: Mapping[str, Pair]) -> dict[str, tuple[float, float]]:
    """Name -> the share of right answers without positions, and with."""
    return {name: (float(a.double().mean()), float(b.double().mean())) for name, (a, b) in right.items()}


def _error(pair: Pair) -> float:
    """The standard error of the share without positions: other seeds answer the same rows."""
    share_without = float(pair[0].double().mean())
    return math.sqrt(share_without * (1 - share_without) / pair[0].shape[-1])


def _told(right: Mapping[str, Pair]) -> str:
    return "; ".join(
        f"{name}: {share(without, 3)} without, {share(positions, 3)} with"
        for name, (without, positions) in _shares(right).items()
    )
