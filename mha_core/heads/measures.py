"""Every head of a run as a few numbers: the mean weight that it gives to known cells, how far it looks and how widely.

Each is a mean over rows, so that the same over several texts is the mean weighted by their `rows`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import SizeError
from .kinds import KINDS, head_scores, rows_of

MEASURES = (*KINDS, "entropy", "distance", "value")
_WITHOUT = {  # why a text has no cell of a kind
    "same": "no token stands twice in it",
    "induction": "no token comes again in it",
}
_ONE_TOKEN = "it takes two tokens"
_ELSEWHERE = "these maps look at other tokens than those that look, so places cannot be compared"
_NO_VALUES = "only the maps are known here, not the values"


@dataclass(frozen=True)
class HeadMeasures:
    """All heads by every measure of `MEASURES` that can be had.

    Attributes:
        values: measure -> (layers, h), float32, on the CPU.
        rows: measure -> of how many rows it is the mean.
        missing: each other measure -> why there is none.
    """

    values: dict[str, Tensor]
    rows: dict[str, int]
    missing: dict[str, str]


def head_measures(weights: Tensor, ids: Sequence[int] | None, lengths: Tensor | None = None) -> HeadMeasures:
    """All measures of all heads.

    Args:
        weights: (layers, h, i, j).
        ids: the i tokens; None where the keys are others than they, where the entropy alone means something.
        lengths: (layers, h, j), how long what each key hands over is, as of `measure.value_norms`; None = not known.

    Raises:
        SizeError: the maps are of another number of tokens.
    """
    n = weights.shape[2]
    values, rows = {"entropy": entropy(weights)}, {"entropy": n}
    missing = {} if lengths is not None else {"value": _NO_VALUES}
    if lengths is not None:
        values["value"], rows["value"] = value_share(weights, lengths), n
    if ids is None:
        missing |= dict.fromkeys((*KINDS, "distance"), _ELSEWHERE)
    else:
        values["distance"], rows["distance"] = distance(weights), n
        found = {kind: rows for kind, rows in rows_of(ids).items() if rows}
        scores = head_scores(weights, ids)
        values |= {kind: scores[kind] for kind in found}
        rows |= found
        missing |= {kind: _WITHOUT.get(kind, _ONE_TOKEN) for kind in KINDS if kind not in found}
    return HeadMeasures({name: values[name] for name in MEASURES if name in values}, rows, missing)


def entropy(weights: Tensor) -> Tensor:
    """How widely a head looks: −Σ w log₂ w of a row, in bits, on average over the rows: (layers, h).

    0 = at one key, log₂ n = at n keys alike; a row that may look at nothing counts as 0. Shannon 1948; of heads, Clark
    et al. 2019, "What Does BERT Look At?".

    Args:
        weights: (layers, h, i, j).
    """
    return _by_layer(lambda maps: torch.special.entr(maps).sum(dim=-1).mean(dim=-1) / math.log(2), weights)


def distance(weights: Tensor) -> Tensor:
    """How far a head looks: Σ w |i − j| of a row, in tokens, on average over the rows: (layers, h).

    Vig and Belinkov 2019, "Analyzing the Structure of Attention in a Transformer Language Model".

    Args:
        weights: (layers, h, i, i).

    Raises:
        SizeError: the keys are others than the queries.
    """
    i, j = weights.shape[2:]
    if i != j:
        raise SizeError(f"weights {tuple(weights.shape)}: the distance needs as many keys as queries")
    place = torch.arange(i, device=weights.device, dtype=torch.float32)
    steps = (place[:, None] - place).abs()
    return _by_layer(lambda maps: (maps * steps).sum(dim=(-1, -2)) / i, weights)


def value_share(weights: Tensor, lengths: Tensor) -> Tensor:
    """How much of what its layer hands over comes from a head: a share, on average over the rows: (layers, h).

    Of a row a head hands over Σ w ‖f(x)‖, its weights times the lengths of what they fetch; the shares of a layer's
    heads sum to 1. A weight alone does not tell it: Kobayashi et al. 2020, "Attention is Not Only a Weight".

    Args:
        weights: (layers, h, i, j), 0 for a head or a value that is off.
        lengths: (layers, h, j), ‖f(x)‖.

    Raises:
        SizeError: they do not fit together.
    """
    if weights.shape[:2] + weights.shape[3:] != lengths.shape:
        raise SizeError(f"weights {tuple(weights.shape)}, lengths {tuple(lengths.shape)}: need (layers, h, i, j) and j")

    pairs = zip(weights.detach(), lengths, strict=True)
    # (layers, h, i)
    handed = torch.stack(
        [(maps.float() @ own.to(maps.device, torch.float32)[..., None])[..., 0] for maps, own in pairs]
    )
    sums = handed.sum(dim=1, keepdim=True)
    return torch.where(sums > 0, handed / sums, 0.0).mean(dim=-1).cpu()


def _by_layer(measure: Callable[[Tensor], Tensor], weights: Tensor) -> Tensor:
    """The measure of each layer, (h, i, j) -> (h,), as float32 on the CPU; nothing as large as all maps is written."""
    return torch.stack([measure(maps.detach().float()) for maps in weights]).cpu()
