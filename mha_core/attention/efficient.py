"""One Linear each for q, k and v; view, transpose, attend, transpose back: the form of most annotated sources."""

from __future__ import annotations

import math
from typing import Self

from torch import Tensor, nn
from torch.nn import functional as F

from ..positions.base import Position
from ..trace import Tracer
from .base import AttentionLayer, add_once
from .functional import softmax_over_keys
from .weights import Weights, from_linears, into_linears

__all__ = ["EfficientAttention"]


class EfficientAttention(AttentionLayer):
    """Multi-head attention with all heads in one product. See `AttentionLayer` for arguments, shapes and errors."""

    def __init__(
        self, d_model: int, n_heads: int, *, bias: bool = True, out_bias: bool | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__(d_model, n_heads, bias=bias, out_bias=out_bias, dropout=dropout)
        self.query = nn.Linear(d_model, d_model, bias=self.bias)
        self.key = nn.Linear(d_model, d_model, bias=self.bias)
        self.value = nn.Linear(d_model, d_model, bias=self.bias)
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
        q = self._project("q", self.query, query, "i", trace)
        k = self._project("k", self.key, key, "j", trace)
        v = self._project("v", self.value, value, "j", trace)
        q, k = position.rotate(q, k)
        trace("q", q, "b h i d", "one query a token and head")
        trace("k", k, "b h j d", "one key a token and head")
        trace("v", v, "b h j d", "one value a token and head")

        scores = q @ k.transpose(2, 3)
        trace("scores.product", scores, "b h i j", "q @ k.transpose(2, 3)")
        scores = scores / math.sqrt(self.d_head)
        bias = position.bias(q, k.shape[2])
        scores = (scores if bias is None else scores + bias) / temperature
        trace("scores", scores, "b h i j", "(q kᵀ / √d_head + bias) / temperature")
        weights = softmax_over_keys(scores, allow, trace)
        mixed = F.dropout(weights, self.dropout, self.training) @ v
        if heads is not None:
            mixed = mixed * heads[..., None, None]
        trace("mixed", mixed, "b h i d", "weights · v, 0 for a head that is off")

        mixed = mixed.transpose(1, 2)
        trace("mixed.transpose", mixed, "b i h d", "mixed.transpose(1, 2)")
        mixed = mixed.contiguous()
        trace("mixed.contiguous", mixed, "b i h d", "mixed.contiguous()")
        joined = mixed.view(*mixed.shape[:2], self.d_model)
        trace("joined", joined, "b i c", "mixed.view(b, i, d_model)")
        out = self.out(joined)
        trace("out", out, "b i c", "joined Wᵒ")
        return out, weights if need_weights else None

    def _project(self, name: str, linear: nn.Linear, x: Tensor, axis: str, trace: Tracer) -> Tensor:
        """(b, n, c) -> (b, h, n, d)."""
        projected: Tensor = linear(x)
        trace(f"{name}.project", projected, f"b {axis} c", f"x W{name}")
        viewed = projected.view(*projected.shape[:2], self.n_heads, self.d_head)
        trace(f"{name}.view", viewed, f"b {axis} h d", f"{name}.view(b, {axis}, n_heads, d_head)")
        turned = viewed.transpose(1, 2)
        trace(f"{name}.transpose", turned, f"b h {axis} d", f"{name}.transpose(1, 2)")
        return turned

    def load(self, weights: Weights) -> Self:
        weights.check(self.d_model, self._biases())
        into_linears(weights, **self._linears())
        return self

    def save(self) -> Weights:
        return from_linears(**self._linears())

    def _linears(self) -> dict[str, list[nn.Linear]]:
        return {"q": [self.query], "k": [self.key], "v": [self.value], "o": [self.out]}
