"""One score channel by channel: q · k is a sum of d products, and each of them says what this channel adds."""

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
    """The score of one query and one key, (Σ q k · scale + bias) / temperature, taken apart.

    Attributes:
        q, k: (d,) float64, as the product takes them: with rotary positions turned already.
        scale: 1 / √d_head, or what another model multiplies the sum by.
        bias: what the encoding of positions, or else another model, adds to the scaled sum; 0 where nothing is.
        temperature: divides the score.
        score: as the pass itself computed it.
    """

    q: Tensor
    k: Tensor
    scale: float
    bias: float
    temperature: float
    score: float

    @property
    def products(self) -> Tensor:
        """(d,) float64: what each channel adds to the sum."""
        return self.q * self.k

    @property
    def positive(self) -> float:
        """The sum of the products above 0."""
        return float(self.products.clamp(min=0).sum())

    @property
    def negative(self) -> float:
        """The sum of those below 0."""
        return float(self.products.clamp(max=0).sum())

    @property
    def scaled(self) -> float:
        """Σ q k · scale."""
        return float(self.products.sum()) * self.scale

    @property
    def total(self) -> float:
        """The score, from the channels."""
        return (self.scaled + self.bias) / self.temperature

    def strongest(self, share: float) -> list[int]:
        """The fewest channels whose products have this share of the size of all, Σ |q k|; the largest first."""
        sizes, order = self.products.abs().sort(descending=True, stable=True)
        short = int((sizes.cumsum(dim=0) < share * sizes.sum()).sum())
        return order[: short + 1].tolist() if sizes.sum() > 0 else []


def channels(
    steps: Sequence[Step], head: int, row: int, key: int, *, temperature: float = 1.0, biased: bool = False
) -> Channels:
    """The score of one pair by its channels, from the recorded steps of a layer, as `Run.steps`.

    Args:
        steps: of an implementation that has all heads in one tensor, such as "fused".
        biased: the encoding adds to the scores; what the channels leave of the score is then its share.

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
    own, other, score = q[head, row].cpu().double(), k[head, key].cpu().double(), float(scores[head, row, key])
    scale = 1 / math.sqrt(len(own))
    bias = score * temperature - float(torch.dot(own, other)) * scale if biased else 0.0
    return Channels(own, other, scale, bias, temperature, score)


def channels_of_call(call: Call, head: int, row: int, key: int, *, temperature: float = 1.0) -> Channels:
    """The same of a model of transformers, from a call that recorded "q", "k", "scores" and "scaling".

    What the channels leave of the score, beyond rounding, is its bias: that of its positions, or of a cap on scores. Of
    a pair that the mask forbids the score is what the channels make.
    """
    q, k, scores = (call.parts[name][0] for name in ("q", "k", "scores"))
    own = q[head, row].cpu().double()
    other = k[head * len(k) // len(q), key].cpu().double()
    scale, score = float(call.parts["scaling"]), float(scores[head, row, key])
    found = Channels(own, other, scale, 0.0, temperature, score)
    if score <= torch.finfo(scores.dtype).min / 2:
        return replace(found, score=found.total)
    rest = score * temperature - found.scaled
    rounding = (len(own) + 4) * torch.finfo(q.dtype).eps * float(found.products.abs().sum()) * scale
    return found if abs(rest) <= rounding else replace(found, bias=rest)
