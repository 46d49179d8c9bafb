"""The result of a classifier: the confusion matrix, the report per class, and how sure one can be."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class OfClass:
    """One class: the share of its predictions that are right, the share of its rows that were found, their harmonic
    mean, and how many rows it has. A share of nothing is None."""

    precision: float | None
    recall: float | None
    f1: float | None
    support: int


def confusion(labels: Sequence[int], predicted: Sequence[int], classes: int) -> list[list[int]]:
    """Counts (classes, classes): a row is the true class, a column the predicted one."""
    counts = [[0] * classes for _ in range(classes)]
    for label, guess in zip(labels, predicted, strict=True):
        counts[label][guess] += 1
    return counts


def per_class(counts: Sequence[Sequence[int]]) -> list[OfClass]:
    """The classification report of a confusion matrix, one entry a class."""
    report = []
    for number, row in enumerate(counts):
        right, support, guessed = row[number], sum(row), sum(other[number] for other in counts)
        shares = (_share(right, guessed), _share(right, support), _share(2 * right, guessed + support))
        report.append(OfClass(*shares, support))
    return report


def accuracy(counts: Sequence[Sequence[int]]) -> float | None:
    """The share of rows of a confusion matrix that were answered rightly; None without rows."""
    return _share(sum(row[number] for number, row in enumerate(counts)), sum(map(sum, counts)))


def averages(classes: Sequence[OfClass]) -> tuple[OfClass, OfClass]:
    """The means of a report over its classes: each counts once, and each as often as it has rows.

    These are the rows "macro avg" and "weighted avg" of scikit-learn's `classification_report`, which counts a share of
    nothing as 0 too.
    """
    rows = [one.support for one in classes]
    return _average(classes, [1] * len(classes)), _average(classes, rows)


def interval(share: float, rows: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share that was counted on so many rows. It stays within 0 and 1."""
    if rows < 1:
        return 0.0, 1.0
    z = 1.959964
    middle = (share + z * z / (2 * rows)) / (1 + z * z / rows)
    reach = z / (1 + z * z / rows) * math.sqrt(share * (1 - share) / rows + z * z / (4 * rows * rows))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def mean_and_sd(values: Sequence[float]) -> tuple[float, float]:
    """Mean and sample standard deviation; the latter is 0 for a single value."""
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def _average(classes: Sequence[OfClass], counts: Sequence[int]) -> OfClass:
    """The mean of classes that count so many times."""
    total, columns = sum(counts), zip(*((one.precision, one.recall, one.f1) for one in classes), strict=True)

    def mean(values: Sequence[float | None]) -> float:
        return sum((value or 0.0) * count for value, count in zip(values, counts, strict=True)) / total

    precision, recall, f1 = map(mean, columns) if total else (None, None, None)
    return OfClass(precision, recall, f1, sum(one.support for one in classes))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
