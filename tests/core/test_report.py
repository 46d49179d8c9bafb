"""Confusion, report and interval, against counting by hand."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_core.training.report import accuracy, averages, confusion, interval, mean_and_sd, per_class

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=60)


@given(ROWS)
def test_confusion_counts_pairs(rows: list[tuple[int, int]]) -> None:
    counts = confusion([label for label, _ in rows], [guess for _, guess in rows], 4)
    assert {(i, j): counts[i][j] for i in range(4) for j in range(4) if counts[i][j]} == dict(Counter(rows))


@given(ROWS)
def test_the_report_of_a_class(rows: list[tuple[int, int]]) -> None:
    report = per_class(confusion([label for label, _ in rows], [guess for _, guess in rows], 4))
    for number, each in enumerate(report):
        found = [guess for label, guess in rows if label == number]
        guessed = [label for label, guess in rows if guess == number]
        right = found.count(number)
        assert each.support == len(found)
        assert each.recall == (right / len(found) if found else None)
        assert each.precision == (right / len(guessed) if guessed else None)
        if each.precision and each.recall:
            assert each.f1 == pytest.approx(2 / (1 / each.precision + 1 / each.recall))
        else:
            assert each.f1 == (0 if found or guessed else None)


@given(ROWS)
def test_the_means_of_a_report(rows: list[tuple[int, int]]) -> None:
    """Recall averaged by rows is the accuracy; the others go by their definition, a share of nothing being 0."""
    counts = confusion([label for label, _ in rows], [guess for _, guess in rows], 4)
    macro, weighted = averages(per_class(counts))
    assert macro.support == weighted.support == len(rows)
    right = [label for label, guess in rows if label == guess]
    guessed = Counter(guess for _, guess in rows)
    precision = [right.count(number) / max(1, guessed[number]) for number in range(4)]
    assert macro.precision == pytest.approx(sum(precision) / 4)
    if not rows:
        assert accuracy(counts) is None
        assert weighted.precision is None
        return
    assert accuracy(counts) == pytest.approx(len(right) / len(rows)) == pytest.approx(weighted.recall)
    assert weighted.precision == pytest.approx(sum(precision[label] for label, _ in rows) / len(rows))


def test_rows_that_do_not_belong_together() -> None:
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        confusion([0, 1], [0], 2)


@given(st.integers(1, 2000), st.floats(0, 1))
def test_the_interval_solves_wilson_s_equation(rows: int, share: float) -> None:
    """Its ends are the true shares p that lie 1.96 standard errors √(p (1 − p) / n) from the share that was seen."""
    share = round(share * rows) / rows
    for end in interval(share, rows):
        assert 0 <= end <= 1
        assert abs(share - end) == pytest.approx(1.959964 * (end * (1 - end) / rows) ** 0.5, abs=1e-6)


def test_nothing_counted_says_nothing() -> None:
    assert interval(0.0, 0) == (0.0, 1.0)


def test_mean_and_spread() -> None:
    assert mean_and_sd([0.5]) == (0.5, 0.0)
    assert mean_and_sd([1.0, 3.0]) == pytest.approx((2.0, 2**0.5))
