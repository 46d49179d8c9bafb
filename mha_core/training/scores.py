"""Metrics over test rows: losses, right answers, and head scores."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from operator import add
from typing import Any

from torch import Tensor


@dataclass(frozen=True)
class Totals:
    """Summed loss and number of losses, number of right answers and of answers; over rows or positions."""

    loss: float = 0.0
    losses: int = 0
    right: int = 0
    answers: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(*map(add, astuple(self), astuple(other)))

    @property
    def mean_loss(self) -> float:
        """Mean loss; 0 over nothing."""
        return self.loss / max(1, self.losses)

    @property
    def accuracy(self) -> float:
        """Share of right answers; 0 over nothing."""
        return self.right / max(1, self.answers)


@dataclass(frozen=True)
class Outcome:
    """Result on the test rows: totals, the class of every row, and other fields of `events.Evaluation`."""

    totals: Totals
    predicted: list[int]
    more: dict[str, Any]


def head_scores(weights: Tensor, source: Tensor) -> tuple[list[float], list[float]]:
    """Compute the two scores that identify an induction head, one of each per head.

    Args:
        weights: (b, h, i, j).
        source: int64 (b, i), the key that holds the answer, -1 where there is none.

    Returns:
        induction: the mean weight on that key, over the positions that have one (0 without any).
        previous: the mean weight on the previous token, over all positions but the first.
    """
    has_answer = source >= 0
    picked = weights.gather(3, source.clamp(min=0)[:, None, :, None].expand(-1, weights.shape[1], -1, 1))[..., 0]
    induction = (picked * has_answer[:, None]).sum(dim=(0, 2)) / max(1, int(has_answer.sum()))
    previous = weights.diagonal(offset=-1, dim1=2, dim2=3).mean(dim=(0, 2))
    return [round(score, 6) for score in induction.tolist()], [round(score, 6) for score in previous.tolist()]


def aligned(weights: Tensor, origin: Tensor) -> tuple[int, int]:
    """Count the target tokens whose largest weight is on their source word, and those with a source word.

    Args:
        weights: (b, h, i, j), the cross-attention maps of a layer, averaged over the heads.
        origin: int64 (b, i), the position of that word, -1 where there is none.
    """
    has_source = origin >= 0
    return int(((weights.mean(dim=1).argmax(dim=-1) == origin) & has_source).sum()), int(has_source.sum())
