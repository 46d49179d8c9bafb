"""torch's fused kernel, F.scaled_dot_product_attention. It never builds the weights, so it has no maps to show."""

from __future__ import annotations

import math
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..positions.base import Position
from ..trace import Tracer, no_trace, second_pass
from .base import AttentionLayer, add_once
from .functional import softmax_over_keys, split_heads
from .weights import Weights, from_linears, into_linears

__all__ = ["SdpaAttention"]


class SdpaAttention(AttentionLayer):
    """Multi-head attention around torch's kernel. See `AttentionLayer` for arguments, shapes and errors.

    The result always comes from the kernel. Maps, when asked for, are made in a second, explicit pass beside it, and so
    are the steps scores, masked and weights of a trace.
    """

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
        q, k, v = (
            split_heads(linear(x), self.n_heads).transpose(1, 2)
            for linear, x in ((self.query, query), (self.key, key), (self.value, value))
        )
        q, k = position.rotate(q, k)
        trace("q", q, "b h i d", "one query a token and head")
        trace("k", k, "b h j d", "one key a token and head")
        trace("v", v, "b h j d", "one value a token and head")

        bias = position.bias(q, k.shape[2])
        scale = 1 / (math.sqrt(self.d_head) * temperature)
        bias = None if bias is None else bias / temperature
        weights = None
        if need_weights or trace is not no_trace:
            scores = q @ k.mT * scale
            scores = scores if bias is None else scores + bias
            second_pass(trace)("scores", scores, "b h i j", "(q kᵀ / √d_head + bias) / temperature")
            weights = softmax_over_keys(scores, allow, second_pass(trace))
        dropout = self.dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(q, k, v, _as_one(allow, bias), dropout_p=dropout, scale=scale)
        if bias is not None and allow is not None:
            mixed = mixed.masked_fill(~allow.any(dim=-1, keepdim=True), 0.0)
        if heads is not None:
            mixed = mixed * heads[..., None, None]
        trace("mixed", mixed, "b h i d", "F.scaled_dot_product_attention(q, k, v, …), 0 for a head that is off")

        joined = mixed.transpose(1, 2).flatten(2)
        trace("joined", joined, "b i c", "mixed.transpose(1, 2).flatten(2)")
        out = self.out(joined)
        trace("out", out, "b i c", "joined Wᵒ")
        return out, weights if need_weights else None

    def load(self, weights: Weights) -> Self:
        weights.check(self.d_model, self._biases())
        into_linears(weights, **self._linears())
        return self

    def save(self) -> Weights:
        return from_linears(**self._linears())

    def _linears(self) -> dict[str, list[nn.Linear]]:
        return {"q": [self.query], "k": [self.key], "v": [self.value], "o": [self.out]}


def _as_one(allow: Tensor | None, bias: Tensor | None) -> Tensor | None:
    """The kernel's one mask: bool, or a float that is added to the scores, −∞ where not allowed.

    A row of only −∞ would be NaN, so an empty row keeps its bias; its result is filled with 0 afterwards.
    """
    if allow is None or bias is None:
        return allow if bias is None else bias
    return bias.masked_fill(~allow & allow.any(dim=-1, keepdim=True), -torch.inf)
