"""One Linear for q, k and v together: the fast form, and the one that the app's models use."""

from __future__ import annotations

import math
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..positions.base import Position
from ..trace import Tracer, no_trace
from .base import AttentionLayer, add_once
from .functional import softmax_over_keys
from .own_backward import with_own_backward
from .weights import Weights, copy_of

__all__ = ["FusedAttention"]


class FusedAttention(AttentionLayer):
    """Multi-head attention with one input projection. See `AttentionLayer` for arguments, shapes and errors.

    Without bias and trace the middle is, the same up to rounding, torch's scaled_dot_product_attention when no maps are
    wanted, and `with_own_backward`, which can be differentiated once, when maps and gradients are. The explicit product
    follows transformers' order of operations, which makes its maps and ours equal to the bit.
    """

    def __init__(
        self, d_model: int, n_heads: int, *, bias: bool = True, out_bias: bool | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__(d_model, n_heads, bias=bias, out_bias=out_bias, dropout=dropout)
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=self.bias)
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
        q, k, v = self._project(query, key, value, trace)
        q, k = position.rotate(q, k)
        trace("q", q, "b h i d", "one query a token and head")
        trace("k", k, "b h j d", "one key a token and head")
        trace("v", v, "b h j d", "one value a token and head")

        bias = position.bias(q, k.shape[2])
        dropout = self.dropout if self.training else 0.0
        scale = 1 / (math.sqrt(self.d_head) * temperature)
        if bias is not None or trace is not no_trace or (need_weights and (dropout or not q.requires_grad)):
            scores = (q @ k.mT).mul_(scale)
            if bias is not None:
                scores = scores + bias / temperature
            trace("scores", scores, "b h i j", "(q kᵀ / √d_head + bias) / temperature")
            weights = softmax_over_keys(scores, allow, trace)
            mixed = F.dropout(weights, dropout) @ v if dropout else weights @ v
        elif need_weights:
            mixed, weights = with_own_backward(q, k, v, allow, scale)
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=allow, dropout_p=dropout, scale=scale)
        if heads is not None:
            mixed = mixed * heads[..., None, None]
        trace("mixed", mixed, "b h i d", "weights · v, 0 for a head that is off")

        joined = mixed.transpose(1, 2).flatten(2)
        trace("joined", joined, "b i c", "mixed.transpose(1, 2).flatten(2)")
        out = self.out(joined)
        trace("out", out, "b i c", "joined Wᵒ")
        return out, weights if need_weights else None

    def _project(self, query: Tensor, key: Tensor, value: Tensor, trace: Tracer) -> tuple[Tensor, Tensor, Tensor]:
        """-> q (b, h, i, d), k and v (b, h, j, d); one product for all three when they come from one tensor."""
        if key is query and value is query:
            qkv = self.qkv(query)
            trace("qkv.project", qkv, "b i (3 c)", "x Wqkv")
            qkv = qkv.view(*qkv.shape[:2], 3, self.n_heads, self.d_head)
            trace("qkv.view", qkv, "b i 3 h d", "qkv.view(b, i, 3, n_heads, d_head)")
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            return q, k, v
        weights = self.qkv.weight.chunk(3)
        biases = (None, None, None) if self.qkv.bias is None else self.qkv.bias.chunk(3)
        parts = []
        for name, axis, x, weight, bias in zip("qkv", "ijj", (query, key, value), weights, biases, strict=True):
            part = F.linear(x, weight, bias)
            trace(f"{name}.project", part, f"b {axis} c", f"x W{name}")
            part = part.view(*part.shape[:2], self.n_heads, self.d_head)
            trace(f"{name}.view", part, f"b {axis} h d", f"{name}.view(b, {axis}, n_heads, d_head)")
            parts.append(part.transpose(1, 2))
        return parts[0], parts[1], parts[2]

    def load(self, weights: Weights) -> Self:
        weights.check(self.d_model, self._biases())
        self.qkv.weight.data.copy_(torch.cat((weights.q, weights.k, weights.v)))
        self.out.weight.data.copy_(weights.o)
        if weights.q_bias is not None and weights.k_bias is not None and weights.v_bias is not None:
            self.qkv.bias.data.copy_(torch.cat((weights.q_bias, weights.k_bias, weights.v_bias)))
        if weights.o_bias is not None:
            self.out.bias.data.copy_(weights.o_bias)
        return self

    def save(self) -> Weights:
        qkv, qkv_bias = copy_of(self.qkv)
        o, o_bias = copy_of(self.out)
        q, k, v = qkv.chunk(3)
        q_bias, k_bias, v_bias = (None, None, None) if qkv_bias is None else qkv_bias.chunk(3)
        return Weights(q, k, v, o, q_bias, k_bias, v_bias, o_bias)
