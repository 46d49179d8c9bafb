"""Letters only: no transpose and no view on the way to the scores. After an einsum notebook."""

from __future__ import annotations

import math
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..positions.base import Position
from ..trace import Tracer
from .base import AttentionLayer, add_once
from .functional import softmax_over_keys
from .weights import Weights

__all__ = ["EinsumAttention"]


class EinsumAttention(AttentionLayer):
    """Multi-head attention in torch.einsum. See `AttentionLayer` for arguments, shapes and errors.

    Its matrices keep the heads apart: query, key, value and output are all (h, d, c), the biases (h, d) and (c,).
    """

    def __init__(
        self, d_model: int, n_heads: int, *, bias: bool = True, out_bias: bool | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__(d_model, n_heads, bias=bias, out_bias=out_bias, dropout=dropout)
        self.query, self.key, self.value, self.output = (self._matrix() for _ in range(4))
        self.query_bias, self.key_bias, self.value_bias = (
            nn.Parameter(torch.zeros(n_heads, self.d_head)) if self.bias else None for _ in range(3)
        )
        self.output_bias = nn.Parameter(torch.zeros(d_model)) if self.out_bias else None

    def _matrix(self) -> nn.Parameter:
        """(h, d, c) with the law of nn.Linear."""
        bound = 1 / math.sqrt(self.d_model)
        return nn.Parameter(torch.empty(self.n_heads, self.d_head, self.d_model).uniform_(-bound, bound))

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
        q = torch.einsum("bic,hdc->bhid", query, self.query)
        k = torch.einsum("bjc,hdc->bhjd", key, self.key)
        v = torch.einsum("bjc,hdc->bhjd", value, self.value)
        if self.query_bias is not None and self.key_bias is not None and self.value_bias is not None:
            q, k, v = q + self.query_bias[:, None], k + self.key_bias[:, None], v + self.value_bias[:, None]
        q, k = position.rotate(q, k)
        trace("q", q, "b h i d", "einsum('bic,hdc->bhid', x, Wq)")
        trace("k", k, "b h j d", "einsum('bjc,hdc->bhjd', x, Wk)")
        trace("v", v, "b h j d", "einsum('bjc,hdc->bhjd', x, Wv)")

        scores = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(self.d_head)
        bias = position.bias(q, k.shape[2])
        scores = (scores if bias is None else scores + bias) / temperature
        trace("scores", scores, "b h i j", "(einsum('bhid,bhjd->bhij', q, k) / √d_head + bias) / temperature")
        weights = softmax_over_keys(scores, allow, trace)
        mixed = torch.einsum("bhij,bhjd->bhid", F.dropout(weights, self.dropout, self.training), v)
        if heads is not None:
            mixed = mixed * heads[..., None, None]
        trace("mixed", mixed, "b h i d", "einsum('bhij,bhjd->bhid', weights, v), 0 for a head that is off")

        joined = torch.einsum("bhid->bihd", mixed).flatten(2)
        trace("joined", joined, "b i c", "einsum('bhid->bihd', mixed).flatten(2)")
        out = torch.einsum("bic,co->bio", joined, self.output.flatten(0, 1))
        out = out if self.output_bias is None else out + self.output_bias
        trace("out", out, "b i c", "einsum('bic,co->bio', joined, Wᵒ)")
        return out, weights if need_weights else None

    def load(self, weights: Weights) -> Self:
        weights.check(self.d_model, self._biases())
        for parameter, tensor in zip(self._in_order(), (tensor for _, tensor in weights.items()), strict=True):
            if parameter is not None and tensor is not None:
                # (out, in): for o the letters are (c, h d), so it is turned
                own = tensor.T if parameter is self.output else tensor
                parameter.data.copy_(own.reshape(parameter.shape))
        return self

    def save(self) -> Weights:
        q, k, v, o = (own.detach().clone().flatten(0, 1) for own in (self.query, self.key, self.value, self.output))
        biases = (self.query_bias, self.key_bias, self.value_bias, self.output_bias)
        return Weights(
            q, k, v, o.T.contiguous(), *(None if own is None else own.detach().clone().flatten() for own in biases)
        )

    def _in_order(self) -> tuple[nn.Parameter | None, ...]:
        """The parameters in the order of `Weights`."""
        matrices = (self.query, self.key, self.value, self.output)
        return (*matrices, self.query_bias, self.key_bias, self.value_bias, self.output_bias)
