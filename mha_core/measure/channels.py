"""Attention scores split into the contributions of their channels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..errors import SizeError, Unsupported
from ..pretrained.attention_hook import Call
from ..trace import Step


@dataclass(frozen=True)
class Channels:
    """Score of one query and one key, (Σ q k · scale + bias) / temperature, with its parts.

    Attributes:
        q: (d,) float64, after any rotation.
        k: (d,) float64, after any rotation.
        scale: 1 / √d_head, or the factor of another model.
        bias: added to the scaled sum by the positional encoding or by another model; 0 without one.
        temperature: divides the score.
        score: as the forward pass computed it.
    """

    q: Tensor
    k: Tensor
    scale: float
    bias: float
    temperature: float
    score: float

    @property
    def products(self) -> Tensor:
        """Contribution of each channel to the dot product, (d,) float64."""
        return self.q * self.k

    @property
    def positive(self) -> float:
        """Sum of the positive products."""
        return float(self.products.clamp(min=0).sum())

    @property
    def negative(self) -> float:
        """Sum of the negative products."""
        return float(self.products.clamp(max=0).sum())

    @property
    def scaled(self) -> float:
        """Scaled dot product, Σ q k · scale."""
        return float(self.products.sum()) * self.scale

    @property
    def total(self) -> float:
        """Score recomputed from the channels."""
        return (self.scaled + self.bias) / self.temperature

    def strongest(self, share: float) -> list[int]:
        """Return the fewest channels that make up this share of Σ |q k|, largest first."""
        sizes, order = self.products.abs().sort(descending=True, stable=True)
        n_below = int((sizes.cumsum(dim=0) < share * sizes.sum()).sum())
        return order[: n_below + 1].tolist() if sizes.sum() > 0 else []


def channels(
    steps: Sequence[Step], head: int, row: int, key: int, *, temperature: float = 1.0, biased: bool = False
) -> Channels:
    """Decompose the score of one pair by channels, from the recorded steps of a layer, such as `Run.steps`.

    Args:
        steps: of an implementation that has all heads in one tensor, such as "fused".
        head: counted from 0.
        row: the query, counted from 0.
        key: counted from 0.
        temperature: of the recorded pass.
        biased: set if the encoding adds a bias; it is computed as the score minus the sum of the channels.

    Raises:
        Unsupported: q, k or scores are not recorded.
        SizeError: there is no such head, query or key.
    """
    by_name = {step.name: step.value for step in steps if step.axes in ("b h i d", "b h j d", "b h i j")}
    if not {"q", "k", "scores"} <= by_name.keys():
        raise Unsupported("these steps have no q, k and scores of all heads: run the model with trace_layer=…")
    q, k, scores = (by_name[name][0].detach() for name in ("q", "k", "scores"))
    h, i, j = scores.shape
    if head not in range(h) or row not in range(i) or key not in range(j):
        raise SizeError(f"head={head}, row={row}, key={key}: there are {h} heads, {i} queries and {j} keys")
    q_row, k_row, score = q[head, row].cpu().double(), k[head, key].cpu().double(), float(scores[head, row, key])
    scale = 1 / math.sqrt(len(q_row))
    bias = score * temperature - float(torch.dot(q_row, k_row)) * scale if biased else 0.0
    return Channels(q_row, k_row, scale, bias, temperature, score)


def call_channels(call: Call, head: int, row: int, key: int, *, temperature: float = 1.0) -> Channels:
    """Decompose a score of a transformers model, from a call that recorded "q", "k", "scores" and "scaling".

    The remainder beyond rounding is attributed to a bias (position bias or score capping). The score of a masked pair
    is recomputed from the channels.
    """
    q, k, scores = (call.parts[name][0] for name in ("q", "k", "scores"))
    q_row = q[head, row].cpu().double()
    k_row = k[head * len(k) // len(q), key].cpu().double()
    scale, score = float(call.parts["scaling"]), float(scores[head, row, key])
    result = Channels(q_row, k_row, scale, 0.0, temperature, score)
    if score <= torch.finfo(scores.dtype).min / 2:
        return replace(result, score=result.total)
    remainder = score * temperature - result.scaled
    rounding = (len(q_row) + 4) * torch.finfo(q.dtype).eps * float(result.products.abs().sum()) * scale
    return result if abs(remainder) <= rounding else replace(result, bias=remainder)
