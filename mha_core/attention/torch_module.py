"""nn.MultiheadAttention itself, behind the house's border: masks turned round, one map a head."""

from __future__ import annotations

import math
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..errors import Unsupported
from ..positions.base import Position
from ..trace import Tracer, no_trace, second_pass
from .base import AttentionLayer, add_once
from .functional import softmax_over_keys, split_heads
from .weights import Weights, copy_of

__all__ = ["TorchAttention"]


class TorchAttention(AttentionLayer):
    """torch's own module. See `AttentionLayer` for arguments, shapes and errors.

    It cannot switch heads off, set a temperature, rotate or bias. Out and maps are the module's; as it shows nothing
    else, the steps between are computed a second time for a trace, and so are its maps while dropout is on: the module
    would return them after dropout.

    Raises:
        Unsupported: (in the pass) a row that may look at nothing in some heads only.
    """

    can = frozenset({"maps", "head_mask"})

    def __init__(
        self, d_model: int, n_heads: int, *, bias: bool = True, out_bias: bool | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__(d_model, n_heads, bias=bias, out_bias=out_bias, dropout=dropout)
        self.module = nn.MultiheadAttention(
            d_model, n_heads, dropout=dropout, bias=self.bias or self.out_bias, batch_first=True
        )
        if not self.bias:
            self.module.register_parameter("in_proj_bias", None)
        if not self.out_bias:
            self.module.out_proj.register_parameter("bias", None)

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
        empty = None if allow is None else ~allow.any(dim=-1, keepdim=True)
        blocked = None if allow is None or empty is None else self._blocked(allow, empty, len(query))
        own_maps = need_weights and not (self.training and self.dropout)
        out, weights = self.module(
            query, key, value, need_weights=own_maps, attn_mask=blocked, average_attn_weights=False
        )
        if empty is not None:
            bias = self.module.out_proj.bias
            out = torch.where(empty.all(dim=1), 0.0 if bias is None else bias, out)
            weights = None if weights is None else weights.masked_fill(empty, 0.0)
        if trace is not no_trace or (need_weights and weights is None):
            explicit = self._second_pass(query, key, value, allow, second_pass(trace))
            weights = explicit if weights is None else weights
        trace("out", out, "b i c", "nn.MultiheadAttention(x, x, x)")
        return out, weights if need_weights else None

    def _blocked(self, allow: Tensor, empty: Tensor, batch: int) -> Tensor:
        """allow (b|1, h|1, i, j) -> torch's attn_mask, True = blocked, (i, j) or (b·h, i, j).

        A row of nothing but True would be NaN, so an empty row is opened; its result is replaced afterwards.
        """
        if empty.shape[1] > 1 and bool((empty.any(dim=1) != empty.all(dim=1)).any()):
            raise Unsupported(
                "nn.MultiheadAttention cannot leave a row empty in some heads only: it mixes them; allow one key"
            )
        blocked = ~allow & ~empty
        if blocked.shape[:2] == (1, 1):
            return blocked[0, 0]
        return blocked.expand(batch, self.n_heads, -1, -1).flatten(0, 1)

    def _second_pass(self, query: Tensor, key: Tensor, value: Tensor, allow: Tensor | None, trace: Tracer) -> Tensor:
        """The steps that the module does not show, for the record; returns the maps."""
        weights = self.module.in_proj_weight.chunk(3)
        biases = (None,) * 3 if self.module.in_proj_bias is None else self.module.in_proj_bias.chunk(3)
        q, k, v = (
            split_heads(F.linear(x, weight, bias), self.n_heads).transpose(1, 2)
            for x, weight, bias in zip((query, key, value), weights, biases, strict=True)
        )
        trace("q", q, "b h i d", "one vector a token and head; torch shows no queries")
        trace("k", k, "b h j d", "one vector a token and head; torch shows no keys")
        trace("v", v, "b h j d", "one vector a token and head; torch shows no values")
        scores = q @ k.mT / math.sqrt(self.d_head)
        trace("scores", scores, "b h i j", "q kᵀ / √d_head")
        maps = softmax_over_keys(scores, allow, trace)
        mixed = maps @ v
        trace("mixed", mixed, "b h i d", "weights · v")
        trace("joined", mixed.transpose(1, 2).flatten(2), "b i c", "mixed.transpose(1, 2).flatten(2)")
        return maps

    def load(self, weights: Weights) -> Self:
        weights.check(self.d_model, self._biases())
        self.module.in_proj_weight.data.copy_(torch.cat((weights.q, weights.k, weights.v)))
        self.module.out_proj.weight.data.copy_(weights.o)
        if weights.q_bias is not None and weights.k_bias is not None and weights.v_bias is not None:
            self.module.in_proj_bias.data.copy_(torch.cat((weights.q_bias, weights.k_bias, weights.v_bias)))
        if weights.o_bias is not None:
            self.module.out_proj.bias.data.copy_(weights.o_bias)
        return self

    def save(self) -> Weights:
        own = self.module
        q, k, v = own.in_proj_weight.detach().clone().chunk(3)
        bias = own.in_proj_bias
        q_bias, k_bias, v_bias = (None, None, None) if bias is None else bias.detach().clone().chunk(3)
        o, o_bias = copy_of(own.out_proj)
        return Weights(q, k, v, o, q_bias, k_bias, v_bias, o_bias)
