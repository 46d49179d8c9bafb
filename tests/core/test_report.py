"""Confusion, report and interval, against counting by hand."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mha_core.training.report import accuracy, averages, confusion, interval, mean_and_sd, per_class
from tests.closeness import quoted, same_function

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=60)


@given(ROWS)
def test_the_report_counts_pairs_and_averages_them(rows: list[tuple[int, int]]) -> None:
    """Recall averaged by rows is the accuracy; the others go by their definition, a share of nothing being 0."""
    counts = confusion([label for label, _ in rows], [guess for _, guess in rows], 4)
    assert {(i, j): counts[i][j] for i in range(4) for j in range(4) if counts[i][j]} == dict(Counter(rows))
    report, precision = per_class(counts), []
    for number, each in enumerate(report):
        found = [guess for label, guess in rows if label == number]
        guessed = [label for label, guess in rows if guess == number]
        right = found.count(number)
        precision.append(right / max(1, len(guessed)))
        assert each.support == len(found)
        assert each.recall == (right / len(found) if found else None)
        assert each.precision == (right / len(guessed) if guessed else None)
        if each.precision and each.recall:
            same_function(each.f1, 2 / (1 / each.precision + 1 / each.recall))
        else:
            assert each.f1 == (0 if found or guessed else None)
    macro, weighted = averages(report)
    assert macro.support == weighted.support == len(rows)
    same_function(macro.precision, sum(precision) / 4)
    if not rows:
        assert accuracy(counts) is None
        assert weighted.precision is None
        return
    same_function(accuracy(counts), sum(label == guess for label, guess in rows) / len(rows))
    same_function(weighted.recall, accuracy(counts))
    same_function(weighted.precision, sum(precision[label] for label, _ in rows) / len(rows))


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
