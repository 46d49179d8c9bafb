"""Confusion, report and interval, against counting by hand."""

import math
from collections import Counter

import torch
from hypothesis import given
from hypothesis import strategies as st

from mha_core.training.report import class_report, confusion, interval, mean_and_sd
from tests.closeness import quoted, same_function

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=60)


@given(ROWS)
def test_the_report_counts_pairs_and_averages_them(rows: list[tuple[int, int]]) -> None:
    """Recall averaged by rows is the accuracy; the others go by their definition, a share of nothing being NaN."""
    counts = confusion([label for label, _ in rows], [guess for _, guess in rows], 4)
    assert {(i, j): int(counts[i, j]) for i in range(4) for j in range(4) if counts[i, j]} == dict(Counter(rows))
    report, expected = class_report(counts), []
    for number in range(4):
        found = [guess for label, guess in rows if label == number]
        guessed = [label for label, guess in rows if guess == number]
        right, both = found.count(number), len(found) + len(guessed)
        parts = ((right, len(guessed)), (right, len(found)), (2 * right, both))
        expected.append([part / whole if whole else math.nan for part, whole in parts])
    shares = torch.tensor(expected, dtype=torch.float64)
    assert torch.equal(report[:4].isnan(), shares.isnan())
    filled = shares.nan_to_num()
    same_function(report[:4].nan_to_num(), filled)
    same_function(report[4], filled.mean(0))
    if rows:
        same_function(report[5], torch.stack([filled[label] for label, _ in rows]).mean(0))
        same_function(report[5, 1], sum(label == guess for label, guess in rows) / len(rows))
    else:
        assert bool(report[5].isnan().all())


@given(st.integers(1, 2000), st.floats(0, 1))
def test_the_interval_solves_wilsons_equation(rows: int, share: float) -> None:
    """Its ends are the true shares p that lie 1.96 standard errors √(p (1 − p) / n) from the share that was seen."""
    share = round(share * rows) / rows
    for end in interval(share, rows):
        assert 0 <= end <= 1
        if (distance := abs(share - end)) > 1 / 10**4:
            quoted(distance / (end * (1 - end) / rows) ** 0.5, "1.9600")


def test_an_interval_of_nothing_and_a_mean() -> None:
    assert interval(0.0, 0) == (0.0, 1.0)
    assert mean_and_sd([0.5]) == (0.5, 0.0)
    mean, spread = mean_and_sd([1.0, 3.0])
    assert mean == 2.0
    same_function(spread, 2**0.5)
