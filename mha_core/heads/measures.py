"""Measures of every head of a run: scores for known patterns, entropy, distance and value share.

Each is a mean over rows, so that the measure of several texts is the mean weighted by their `rows`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import SizeError
from .kinds import KINDS, count_rows, head_scores

MEASURES = (*KINDS, "entropy", "distance", "value")
_MISSING_CELLS = {  # kind -> why a text has no cell of it
    "same": "no token is repeated",
    "induction": "no token is repeated after another one",
}
_ONE_TOKEN = "the text needs at least two tokens"
_CROSS = "queries and keys are different tokens here, so their positions cannot be compared"
_NO_VALUES = "only the maps are available here, not the values"


@dataclass(frozen=True)
class HeadMeasures:
    """Available measures of all heads.

    Attributes:
        values: measure -> (layers, h), float32, on the CPU.
        rows: measure -> the number of rows that it averages.
        missing: unavailable measure -> the reason.
    """

    values: dict[str, Tensor]
    rows: dict[str, int]
    missing: dict[str, str]


def head_measures(weights: Tensor, ids: Sequence[int] | None, lengths: Tensor | None = None) -> HeadMeasures:
    """Compute all available measures of all heads.

    Args:
        weights: (layers, h, i, j).
        ids: the i tokens; None in cross-attention, where only the entropy is defined.
        lengths: (layers, h, j), the norms of the transformed values, see `measure.value_norms`; None = not known.

    Raises:
        SizeError: the maps are of another number of tokens.
    """
    n = weights.shape[2]
    values, rows = {"entropy": entropy(weights)}, {"entropy": n}
    missing = {} if lengths is not None else {"value": _NO_VALUES}
    if lengths is not None:
        values["value"], rows["value"] = value_share(weights, lengths), n
    if ids is None:
        missing |= dict.fromkeys((*KINDS, "distance"), _CROSS)
    else:
        values["distance"], rows["distance"] = distance(weights), n
        counts = {kind: rows for kind, rows in count_rows(ids).items() if rows}
        scores = head_scores(weights, ids)
        values |= {kind: scores[kind] for kind in counts}
        rows |= counts
        missing |= {kind: _MISSING_CELLS.get(kind, _ONE_TOKEN) for kind in KINDS if kind not in counts}
    return HeadMeasures({name: values[name] for name in MEASURES if name in values}, rows, missing)


def entropy(weights: Tensor) -> Tensor:
    """Compute the mean entropy of each head's rows in bits, −Σ w log₂ w: (layers, h).

    0 = all on one key, log₂ n = equally on n keys; a row without an allowed key counts as 0. Shannon 1948; of heads,
    Clark et al. 2019, "What Does BERT Look At?".

    Args:
        weights: (layers, h, i, j).
    """
    return _by_layer(lambda maps: torch.special.entr(maps).sum(dim=-1).mean(dim=-1) / math.log(2), weights)


def distance(weights: Tensor) -> Tensor:
    """Compute the mean attention distance of each head in tokens, Σ w |i − j|: (layers, h).

    Vig and Belinkov 2019, "Analyzing the Structure of Attention in a Transformer Language Model".

    Args:
        weights: (layers, h, i, i).

    Raises:
        SizeError: the keys are not the queries.
    """
    i, j = weights.shape[2:]
    if i != j:
        raise SizeError(f"weights {tuple(weights.shape)}: the distance needs as many keys as queries")
    place = torch.arange(i, device=weights.device, dtype=torch.float32)
    steps = (place[:, None] - place).abs()
    return _by_layer(lambda maps: (maps * steps).sum(dim=(-1, -2)) / i, weights)


def value_share(weights: Tensor, lengths: Tensor) -> Tensor:
    """Compute the mean share of each head in the value norms that its layer adds: (layers, h).

    In a row a head adds Σ w ‖f(x)‖, its weights times the norms of the transformed values; the shares of a layer's
    heads sum to 1. Weights alone do not show it: Kobayashi et al. 2020, "Attention is Not Only a Weight".

    Args:
        weights: (layers, h, i, j), 0 for an ablated head or value.
        lengths: (layers, h, j), ‖f(x)‖.

    Raises:
        SizeError: they do not fit together.
    """
    if weights.shape[:2] + weights.shape[3:] != lengths.shape:
        raise SizeError(f"weights {tuple(weights.shape)}, lengths {tuple(lengths.shape)}: need (layers, h, i, j) and j")

    pairs = zip(weights.detach(), lengths, strict=True)
    # (layers, h, i)
    handed = torch.stack(
        [(maps.float() @ norms.to(maps.device, torch.float32)[..., None])[..., 0] for maps, norms in pairs]
    )
    sums = handed.sum(dim=1, keepdim=True)
    return torch.where(sums > 0, handed / sums, 0.0).mean(dim=-1).cpu()


def _by_layer(measure: Callable[[Tensor], Tensor], weights: Tensor) -> Tensor:
    """Apply a measure (h, i, j) -> (h,) layer by layer, so that no float32 copy of all maps is needed."""
    return torch.stack([measure(maps.detach().float()) for maps in weights]).cpu()
