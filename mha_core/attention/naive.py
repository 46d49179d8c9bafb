"""A triple of Linears per head, a loop, concatenation: multi-head attention as the paper draws it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..positions.base import Position
from ..trace import Tracer, no_trace, of_head, together
from .base import AttentionLayer, add_once
from .functional import softmax_over_keys
from .weights import Weights, from_linears, into_linears

__all__ = ["NaiveAttention"]


class NaiveAttention(AttentionLayer):
    """Multi-head attention one head after the other. See `AttentionLayer` for arguments, shapes and errors.

    The trace shows every head on its own, as "scores.head3"; its steps over all heads are stacked for the record alone.
    """

    def __init__(
        self, d_model: int, n_heads: int, *, bias: bool = True, out_bias: bool | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__(d_model, n_heads, bias=bias, out_bias=out_bias, dropout=dropout)
        self.query = nn.ModuleList(nn.Linear(d_model, self.d_head, bias=self.bias) for _ in range(n_heads))
        self.key = nn.ModuleList(nn.Linear(d_model, self.d_head, bias=self.bias) for _ in range(n_heads))
        self.value = nn.ModuleList(nn.Linear(d_model, self.d_head, bias=self.bias) for _ in range(n_heads))
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
        q = _project("q", self.query, query, "i", trace)
        k = _project("k", self.key, key, "j", trace)
        v = _project("v", self.value, value, "j", trace)
        if "rotate" in position.acts:
            q, k = (list(x.unbind(1)) for x in position.rotate(torch.stack(q, dim=1), torch.stack(k, dim=1)))
        together(trace, "q", q, "b h i d", "the heads' queries, stacked")
        together(trace, "k", k, "b h j d", "the heads' keys, stacked")
        together(trace, "v", v, "b h j d", "the heads' values, stacked")
        bias = position.bias(torch.stack(q, dim=1), key.shape[1]) if "bias" in position.acts else None

        all_scores, weights, mixed = [], [], []
        for n in range(self.n_heads):
            head = of_head(trace, n)
            scores = q[n] @ k[n].transpose(1, 2) / math.sqrt(self.d_head)
            scores = (scores if bias is None else scores + bias[:, n]) / temperature
            head("scores", scores, "b i j", "(q kᵀ / √d_head + bias) / temperature")
            all_scores.append(scores)
            weights.append(softmax_over_keys(scores, _of_head(allow, n), head, "b i j"))
            mixed.append(F.dropout(weights[n], self.dropout, self.training) @ v[n])
            if heads is not None:
                mixed[n] = mixed[n] * heads[..., n, None, None]
            head("mixed", mixed[n], "b i d", "weights · v, 0 for a head that is off")
        if trace is not no_trace:
            together(trace, "scores", all_scores, "b h i j", "the heads' scores, stacked")
            softmax_over_keys(torch.stack(all_scores, dim=1), allow, trace)
        together(trace, "mixed", mixed, "b h i d", "the heads' results, stacked")

        joined = torch.cat(mixed, dim=-1)
        trace("joined", joined, "b i c", "torch.cat(mixed, dim=-1)")
        out = self.out(joined)
        trace("out", out, "b i c", "joined Wᵒ")
        return out, torch.stack(weights, dim=1) if need_weights else None

    def load(self, weights: Weights) -> Self:
        weights.check(self.d_model, self._biases())
        into_linears(weights, **self._linears())
        return self

    def save(self) -> Weights:
        return from_linears(**self._linears())

    def _linears(self) -> dict[str, list[nn.Linear]]:
        parts: dict[str, Iterable[nn.Module]] = {"q": self.query, "k": self.key, "v": self.value, "o": [self.out]}
        return {name: [linear for linear in part if isinstance(linear, nn.Linear)] for name, part in parts.items()}


def _project(name: str, linears: nn.ModuleList, x: Tensor, axis: str, trace: Tracer) -> list[Tensor]:
    """(b, n, c) -> (b, n, d) for each head."""
    parts: list[Tensor] = []
    for n, linear in enumerate(linears):
        parts.append(linear(x))
        of_head(trace, n)(name, parts[n], f"b {axis} d", f"x W{name} of head {n}")
    return parts


def _of_head(allow: Tensor | None, head: int) -> Tensor | None:
    """(b|1, h|1, i, j) -> (b|1, i, j)."""
    return None if allow is None else allow[:, head if allow.shape[1] > 1 else 0]
