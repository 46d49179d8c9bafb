"""Results of a classifier: the confusion matrix, the report per class, and confidence intervals."""

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ClassReport:
    """Precision, recall, F1 score and number of rows of one class; a share of nothing is None."""

    precision: float | None
    recall: float | None
    f1: float | None
    support: int


def confusion(labels: Sequence[int], predicted: Sequence[int], classes: int) -> list[list[int]]:
    """Count predictions, (classes, classes): a row is the true class, a column the predicted one."""
    pairs = Counter(zip(labels, predicted, strict=True))
    return [[pairs[label, guess] for guess in range(classes)] for label in range(classes)]


def per_class(counts: Sequence[Sequence[int]]) -> list[ClassReport]:
    """Return the classification report of a confusion matrix, one entry per class."""
    report = []
    for number, row in enumerate(counts):
        right, support, guessed = row[number], sum(row), sum(other[number] for other in counts)
        shares = (_share(right, guessed), _share(right, support), _share(2 * right, guessed + support))
        report.append(ClassReport(*shares, support))
    return report


def accuracy(counts: Sequence[Sequence[int]]) -> float | None:
    """Return the accuracy of a confusion matrix; None without rows."""
    return _share(sum(row[number] for number, row in enumerate(counts)), sum(map(sum, counts)))


def averages(classes: Sequence[ClassReport]) -> tuple[ClassReport, ClassReport]:
    """Return the macro average and the weighted average of a report over its classes.

    These are the rows "macro avg" and "weighted avg" of scikit-learn's `classification_report`, which counts a share of
    nothing as 0 too.
    """
    rows = [entry.support for entry in classes]
    return _average(classes, [1] * len(classes)), _average(classes, rows)


def interval(share: float, rows: int) -> tuple[float, float]:
    """Return Wilson's 95 % confidence interval of a share of this many rows, within 0 and 1."""
    if rows < 1:
        return 0.0, 1.0
    z = 1.959964
    middle = (share + z * z / (2 * rows)) / (1 + z * z / rows)
    reach = z / (1 + z * z / rows) * math.sqrt(share * (1 - share) / rows + z * z / (4 * rows * rows))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def mean_and_sd(values: Sequence[float]) -> tuple[float, float]:
    """Return mean and sample standard deviation; the latter is 0 for a single value."""
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def _average(classes: Sequence[ClassReport], counts: Sequence[int]) -> ClassReport:
    """Return the weighted mean of classes."""
    precision, recall, f1 = (
        statistics.fmean([getattr(entry, name) or 0.0 for entry in classes], counts) if sum(counts) else None
        for name in ("precision", "recall", "f1")
    )
    return ClassReport(precision, recall, f1, sum(entry.support for entry in classes))


def _share(part: int, total: int) -> float | None:
    return part / total if total else None
