"""What the tensors say of a claim."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Result = Literal["holds", "does not hold", "depends"]


@dataclass(frozen=True)
class Map:
    """Weights (i, j) of one head, or of their mean, and their tokens."""

    name: str
    weights: Tensor
    tokens: Sequence[str]


@dataclass(frozen=True)
class Verdict:
    """A verdict and what it rests on.

    Attributes:
        result: of the claim.
        said: why, with the numbers, in whole sentences.
        answer: the one of the claim's answers that the tensors give, counted from 0; None where it is none of them.
        numbers: (what, number), as bars.
        unit: what the numbers are.
        map: that shows it, if one does.
        full: the number of a full bar; None = the largest of them.
    """

    result: Result
    said: str
    answer: int | None
    numbers: tuple[tuple[str, float], ...]
    unit: str
    map: Map | None = None
    full: float | None = None


def of_all(cases: Sequence[bool]) -> Result:
    """A claim of several cases: it holds in all of them, in none, or it depends on the case."""
    return "holds" if all(cases) else "depends" if any(cases) else "does not hold"


def relative(a: Tensor, b: Tensor) -> float:
    """‖a − b‖ / ‖b‖ over the whole tensor, in float64: the same for one layer and for many."""
    a, b = a.double(), b.double()
    length = float(torch.linalg.vector_norm(b))
    return float(torch.linalg.vector_norm(a - b)) / length if length else float(not torch.equal(a, b))
