"""Time first, as the annotated implementations write it: (length, batch, …), scores [i, j, b, h]."""

from __future__ import annotations

import math
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..errors import MaskError
from ..positions.base import Position
from ..trace import Tracer, no_trace
from .base import EVERYTHING, AttentionLayer, add_once
from .functional import softmax_over_keys, split_heads
from .weights import Weights, from_linears, into_linears

__all__ = ["ProjectAndSplit", "SequenceFirstAttention"]


class ProjectAndSplit(nn.Module):
    """A Linear and the split into heads, (…, c) -> (…, h, d): (length, batch, c) and (batch, c) alike."""

    def __init__(self, d_model: int, n_heads: int, bias: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(d_model, d_model, bias=bias)
        self.n_heads = n_heads

    def forward(self, x: Tensor) -> Tensor:
        return split_heads(self.linear(x), self.n_heads)


class SequenceFirstAttention(AttentionLayer):
    """Multi-head attention with time first. See `AttentionLayer` for arguments, shapes and errors.

    Batch first is turned into time first at the border, and back. Its mask is (len_q, len_k, batch), one for all heads.
    `time_first` is the layer itself; `scores` is there to be overridden.
    """

    can = EVERYTHING - {"head_mask"}

    def __init__(
        self, d_model: int, n_heads: int, *, bias: bool = True, out_bias: bool | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__(d_model, n_heads, bias=bias, out_bias=out_bias, dropout=dropout)
        self.query = ProjectAndSplit(d_model, n_heads, self.bias)
        self.key = ProjectAndSplit(d_model, n_heads, self.bias)
        self.value = ProjectAndSplit(d_model, n_heads, self.bias)
        self.out = nn.Linear(d_model, d_model, bias=self.out_bias)

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        allow: Tensor | None,
        position: Position,
        heads: Tensor | None,
        temperature: float,
        need_weights: bool,
        trace: Tracer,
    ) -> tuple[Tensor, Tensor | None]:
        query, key, value = add_once(position, query, key, value)
        trace("x", query, "b i c", "position.add(query)")
        query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        trace("x.transpose", query, "i b c", "x.transpose(0, 1), time first")
        mask = None if allow is None else allow[:, 0].permute(1, 2, 0)
        out, weights = self.time_first(
            query, key, value, mask, position=position, heads=heads, temperature=temperature, trace=trace
        )
        out = out.transpose(0, 1)
        trace("out", out, "b i c", "out.transpose(0, 1), batch first")
        return out, weights.permute(2, 3, 0, 1) if need_weights else None

    def time_first(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        position: Position | None = None,
        heads: Tensor | None = None,
        temperature: float = 1.0,
        trace: Tracer = no_trace,
    ) -> tuple[Tensor, Tensor]:
        """query (i, b, c), key and value (j, b, c) -> out (i, b, c), weights (i, j, b, h).

        Args:
            mask: bool (i|1, j, b|1), True = may look.

        Raises:
            MaskError: a mask of another kind or shape.
        """
        q, k, v = self.query(query), self.key(key), self.value(value)
        if position is not None and "rotate" in position.acts:
            q, k = (x.permute(2, 0, 1, 3) for x in position.rotate(q.permute(1, 2, 0, 3), k.permute(1, 2, 0, 3)))
        trace("q", q, "i b h d", "one query a token and head")
        trace("k", k, "j b h d", "one key a token and head")
        trace("v", v, "j b h d", "one value a token and head")

        scores = self.scores(q, k) * (1 / math.sqrt(self.d_head))
        bias = None if position is None else position.bias(q.permute(1, 2, 0, 3), k.shape[0])
        scores = (scores if bias is None else scores + bias.permute(2, 3, 0, 1)) / temperature
        trace("scores", scores, "i j b h", "(einsum('ibhd,jbhd->ijbh', q, k) / √d_head + bias) / temperature")
        allow = None if mask is None else self.prepare_mask(mask, q.shape[0], k.shape[0], q.shape[1])
        weights = softmax_over_keys(scores, allow, trace, "i j b h", dim=1)
        mixed = torch.einsum("ijbh,jbhd->ibhd", F.dropout(weights, self.dropout, self.training), v)
        if heads is not None:
            mixed = mixed * heads[..., None]
        trace("mixed", mixed, "i b h d", "einsum('ijbh,jbhd->ibhd', weights, v), 0 for a head that is off")

        joined = mixed.reshape(*mixed.shape[:2], self.d_model)
        trace("joined", joined, "i b c", "mixed.reshape(i, b, d_model)")
        out = self.out(joined)
        trace("out.project", out, "i b c", "joined Wᵒ")
        return out, weights

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """q (i, b, h, d), k (j, b, h, d) -> (i, j, b, h), not yet scaled; override it for relative attention."""
        return torch.einsum("ibhd,jbhd->ijbh", q, k)

    def prepare_mask(self, mask: Tensor, len_q: int, len_k: int, batch: int) -> Tensor:
        """(i|1, j, b|1) -> (i|1, j, b|1, 1): the first and the last axis may be 1, all heads share it.

        Raises:
            MaskError: not bool, or another shape.
        """
        if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
            got = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
            raise MaskError(f"mask must be a bool tensor (True = may look), got {got}; compare it with 0")
        fits = (
            mask.dim() == 3 and mask.shape[0] in (1, len_q) and mask.shape[1] == len_k and mask.shape[2] in (1, batch)
        )
        if not fits:
            raise MaskError(f"mask has shape {tuple(mask.shape)}; need ({len_q} or 1, {len_k}, {batch} or 1)")
        return mask.unsqueeze(-1)

    def load(self, weights: Weights) -> Self:
        weights.check(self.d_model, self._biases())
        into_linears(weights, **self._linears())
        return self

    def save(self) -> Weights:
        return from_linears(**self._linears())

    def _linears(self) -> dict[str, list[nn.Linear]]:
        return {"q": [self.query.linear], "k": [self.key.linear], "v": [self.value.linear], "o": [self.out]}
