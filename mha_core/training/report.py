"""Results of a classifier: the confusion matrix, the report per class, and confidence intervals."""

import math
import statistics
from collections.abc import Sequence

import torch
from torch import Tensor


def confusion(labels: Sequence[int], predicted: Sequence[int], classes: int) -> Tensor:
    """Count predictions, int64 (classes, classes): a row is the true class, a column the predicted one."""
    true, answers = (torch.tensor(numbers, dtype=torch.int64) for numbers in (labels, predicted))
    return (classes * true + answers).bincount(minlength=classes**2).reshape(classes, classes)


def class_report(counts: Tensor) -> Tensor:
    """Return precision, recall and F1 of each class, and their macro and weighted average, float64 (classes + 2, 3).

    A share of nothing is NaN. The averages count it as 0, as scikit-learn's `classification_report` does.
    """
    right, support, guesses = counts.diag().double(), counts.sum(1).double(), counts.sum(0)
    shares = torch.stack([right / guesses, right / support, 2 * right / (guesses + support)], dim=1)
    filled = shares.nan_to_num()
    return torch.cat([shares, filled.mean(0)[None], (support @ filled / support.sum())[None]])


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
