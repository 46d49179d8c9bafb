"""Differences between tensors, maps and runs, one number each.

Relative difference means ‖a − b‖ / ‖b‖ over the whole tensor; 0 against 0 is 0.
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
    """Cosine of the angle between two vectors (d,), on any device; 1 = the same direction.

    Raises:
        SizeError: two shapes.
    """
    _same_shape(a, b)
    return float(torch.nn.functional.cosine_similarity(a.cpu(), b.cpu(), dim=0))


def relative_difference(a: Tensor, b: Tensor) -> float:
    """‖a − b‖ / ‖b‖ over the whole tensor.

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
    """max |a − b|.

    Raises:
        SizeError: two shapes.
    """
    _same_shape(a, b)
    return float((a - b).detach().abs().max()) if a.numel() else 0.0


def worst_row_sum(weights: Tensor) -> float:
    """The row sum that lies farthest from 1, over every row of (…, i, j). An empty row gives 0."""
    sums = weights.detach().sum(dim=-1).flatten()
    return float(sums[(sums - 1).abs().argmax()])


def previous_token_weight(weights: Tensor) -> float:
    """The mean weight that a token gives to the one before it, over one map (i, j); the first token has none."""
    return float(weights.detach().diagonal(offset=-1).mean())


def row_distances(a: Tensor, b: Tensor) -> Tensor:
    """The total variation of each row of two maps (i, j) -> (i,): half of Σ |b − a|, the weight that went elsewhere.

    0 = the same row, 1 = nothing in common. An empty row lies 0.5 from any other.

    Raises:
        SizeError: two shapes.
    """
    _same_shape(a, b)
    return (b - a).detach().abs().sum(dim=-1) / 2


def vector_changes(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Vectors (…, c) of two runs -> their cosines (…), exactly 1 where no entry differs, and their largest |b − a| (…).

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
    """The cell of two maps that changed most, and b − a there."""

    row: int
    key: int
    value: float


def largest_change(a: Tensor, b: Tensor) -> Change:
    """The cell where two maps (i, j) differ most; the first such one.

    Raises:
        SizeError: two shapes.
    """
    _same_shape(a, b)
    change = (b - a).detach()
    row, key = divmod(int(change.abs().argmax()), change.shape[-1])
    return Change(row, key, float(change[row, key]))


@dataclass(frozen=True)
class Repeated:
    """A token that occurs more than once: its places, and the largest difference between its rows, max |a − b|."""

    places: tuple[int, ...]
    difference: float


def repeated_words(weights: Tensor, ids: Sequence[int]) -> Repeated | None:
    """The token whose rows differ most, over all maps (…, i, j); None when no token occurs twice.

    Of several that differ by the same to four digits it is the first: which of them rounding moves most is a
    processor's matter.
    """
    places: dict[int, list[int]] = {}
    for place, token in enumerate(ids):
        places.setdefault(token, []).append(place)
    repeated = []
    for same in places.values():
        if len(same) > 1:
            rows = weights.detach()[..., same, :]
            repeated.append(Repeated(tuple(same), float((rows.amax(dim=-2) - rows.amin(dim=-2)).max())))
    return max(repeated, key=lambda one: round(one.difference, 4), default=None)


def new_places(ids: Sequence[int], reordered: Sequence[int]) -> list[int]:
    """The place of each token of `ids` in the same tokens in another order; equal ones keep their order.

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
    """max |a − b| of the output vectors of the same tokens in two orders, the new order undone.

    Raises:
        HeadlightError: they are not the same tokens.
    """
    places = new_places(run.ids, reordered.ids)
    return largest_difference(run.hidden[-1].cpu(), reordered.hidden[-1].cpu()[places])


def ablate_each_head(
    model: Model,
    text: str,
    *,
    on_progress: Callable[[float], object] = lambda done: None,
    **switches: Any,
) -> Tensor:
    """The cosine of the sentence vector to itself with one head more off, for each head alone: (layers, h), on the CPU.

    Switches and errors as in `Model.run`; `on_progress` is called with the share that is done, 0 to 1.
    """
    whole = model.run(text, **switches).sentence
    without = model.ablate_each_head(text, **switches, on_progress=on_progress)
    return torch.nn.functional.cosine_similarity(without, whole.to(without.device), dim=-1).cpu()


def _same_shape(a: Tensor, b: Tensor) -> None:
    if a.shape != b.shape:
        raise SizeError(f"shapes {tuple(a.shape)} and {tuple(b.shape)} cannot be compared; they must be equal")
