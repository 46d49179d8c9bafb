"""Differences between tensors, maps and runs, one number each.

The relative difference is ‖a − b‖ / ‖b‖ over the whole tensor; 0 against 0 is 0.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..errors import HeadlightError, SizeError
from ..models.model import Model
from ..models.run import Run


def cosine(a: Tensor, b: Tensor) -> float:
    """Return the cosine of the angle between two vectors (d,), on any device; 1 = the same direction.

    Raises:
        SizeError: two shapes.
    """
    _same_shape(a, b)
    return float(torch.nn.functional.cosine_similarity(a.cpu(), b.cpu(), dim=0))


def relative_difference(a: Tensor, b: Tensor) -> float:
    """Return ‖a − b‖ / ‖b‖ over the whole tensor.

    Raises:
        SizeError: two shapes.
    """
    _same_shape(a, b)
    a, b = a.detach(), b.detach()
    distance, length = float(torch.linalg.vector_norm(a - b)), float(torch.linalg.vector_norm(b))
    if distance == 0:
        return 0.0
    return distance / length if length else math.inf


def largest_difference(a: Tensor, b: Tensor) -> float:
    """Return the largest absolute difference, max |a − b|.

    Raises:
        SizeError: two shapes.
    """
    _same_shape(a, b)
    return float((a - b).detach().abs().max()) if a.numel() else 0.0


def worst_row_sum(weights: Tensor) -> float:
    """Return the row sum of (…, i, j) that is farthest from 1; an empty row has 0."""
    sums = weights.detach().sum(dim=-1).flatten()
    return float(sums[(sums - 1).abs().argmax()])


def previous_token_weight(weights: Tensor) -> float:
    """Return the mean weight that tokens give to the previous one, in one map (i, j).

    The first token has no previous one and does not count.
    """
    return float(weights.detach().diagonal(offset=-1).mean())


def row_distances(a: Tensor, b: Tensor) -> Tensor:
    """Compute the total variation of each row of two maps, (i, j) -> (i,): half of Σ |b − a|.

    0 = the same row, 1 = disjoint rows. An empty row is 0.5 away from any other.

    Raises:
        SizeError: two shapes.
    """
    _same_shape(a, b)
    return (b - a).detach().abs().sum(dim=-1) / 2


def vector_changes(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Compare vectors (…, c) of two runs: return their cosines (…) and largest |b − a| (…).

    The cosine is exactly 1 where no entry differs.

    Raises:
        SizeError: two shapes.
    """
    _same_shape(a, b)
    a, b = a.detach().cpu().double(), b.detach().cpu().double()
    changes = (b - a).abs().amax(dim=-1)
    cosines = torch.nn.functional.cosine_similarity(a, b, dim=-1)
    return torch.where(changes == 0, torch.ones_like(cosines), cosines), changes


@dataclass(frozen=True)
class Change:
    """Cell of two maps that changed most, and b − a there."""

    row: int
    key: int
    value: float


def largest_change(a: Tensor, b: Tensor) -> Change:
    """Return the cell where two maps (i, j) differ most, the first one of several.

    Raises:
        SizeError: two shapes.
    """
    _same_shape(a, b)
    change = (b - a).detach()
    row, key = divmod(int(change.abs().argmax()), change.shape[-1])
    return Change(row, key, float(change[row, key]))


@dataclass(frozen=True)
class Repeated:
    """Token that occurs more than once: its positions, and the largest difference between its rows, max |a − b|."""

    places: tuple[int, ...]
    difference: float


def repeated_words(weights: Tensor, ids: Sequence[int]) -> Repeated | None:
    """Return the repeated token whose rows differ most over all maps (…, i, j); None without a repeated token.

    Differences are compared to four digits and ties go to the first token, as rounding depends on the processor.
    """
    places: dict[int, list[int]] = {}
    for place, token in enumerate(ids):
        places.setdefault(token, []).append(place)
    repeated = []
    for positions in places.values():
        if len(positions) > 1:
            rows = weights.detach()[..., positions, :]
            repeated.append(Repeated(tuple(positions), float((rows.amax(dim=-2) - rows.amin(dim=-2)).max())))
    return max(repeated, key=lambda token: round(token.difference, 4), default=None)


def new_positions(ids: Sequence[int], reordered: Sequence[int]) -> list[int]:
    """Return the position of each token of `ids` in `reordered`; equal tokens keep their order.

    Raises:
        HeadlightError: they are not the same tokens.
    """
    free: dict[int, list[int]] = {}
    for place, token in reversed(list(enumerate(reordered))):
        free.setdefault(token, []).append(place)
    if sorted(ids) != sorted(reordered):
        raise HeadlightError(f"{len(reordered)} tokens are not the same {len(ids)} in another order; keep every word")
    return [free[token].pop() for token in ids]


def difference_in_new_order(run: Run, reordered: Run) -> float:
    """Return max |a − b| of the output vectors of the same tokens in two orders.

    Raises:
        HeadlightError: they are not the same tokens.
    """
    places = new_positions(run.ids, reordered.ids)
    return largest_difference(run.hidden[-1].cpu(), reordered.hidden[-1].cpu()[places])


def ablate_each_head(
    model: Model,
    text: str,
    *,
    on_progress: Callable[[float], object] = lambda done: None,
    **switches: Any,
) -> Tensor:
    """Return the cosine of the sentence vector with and without each single head: (layers, h), on the CPU.

    Args:
        model: the model.
        text: as in `Model.run`.
        on_progress: called with the share of the work that is done, 0 to 1.
        switches: as in `Model.run`.

    Raises:
        HeadlightError: as in `Model.run`.
    """
    sentence = model.run(text, **switches).sentence
    ablated = model.ablate_each_head(text, **switches, on_progress=on_progress)
    return torch.nn.functional.cosine_similarity(ablated, sentence.to(ablated.device), dim=-1).cpu()


def _same_shape(a: Tensor, b: Tensor) -> None:
    if a.shape != b.shape:
        raise SizeError(f"shapes {tuple(a.shape)} and {tuple(b.shape)} cannot be compared; they must be equal")
