"""A triple of Linears per head, a loop, concatenation: multi-head attention as the paper draws it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..positions.base import Position
from ..trace import Tracer, no_trace, of_head, together
from .base import AttentionLayer, Switches, add_once
from .functional import SCORES, softmax_over_keys, tempered
from .weights import Parts, of_linears

__all__ = ["NaiveAttention"]


class NaiveAttention(AttentionLayer):
    """headₙ = softmax(qₙ kₙᵀ / √d_head) vₙ, one after the other, then Concat(head₁, …, headₕ) Wᵒ.

    It teaches what a head is: a small attention of its own, with three Linears d_model → d_head that belong to it alone
    (Vaswani et al. 2017, figure 2 and section 3.2.2). The other forms compute the same without the loop. The trace
    shows every head on its own, as "scores.head3"; its steps over all heads are stacked for the record alone. See
    `AttentionLayer` for arguments, shapes and errors.
    """

    def build(self) -> None:
        # h small matrices instead of a large one: d_head = d_model / h keeps the cost that of one head of full width
        self.query, self.key, self.value = (
            nn.ModuleList(nn.Linear(self.d_model, self.d_head, bias=self.bias) for _ in range(self.n_heads))
            for _ in range(3)
        )
        self.out = nn.Linear(self.d_model, self.d_model, bias=self.out_bias)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, switches: Switches) -> tuple[Tensor, Tensor | None]:
        trace = switches.trace
        query, key, value = add_once(switches.position, query, key, value)
        trace("x", query, "b i c", "position.add(query)")
        q = _project("q", self.query, query, "i", trace)
        k = _project("k", self.key, key, "j", trace)
        v = _project("v", self.value, value, "j", trace)
        # after the projections, so that the encoding acts in each head's own space
        q, k, biases = _place(switches.position, q, k)
        together(trace, "q", q, "b h i d", "the heads' queries, stacked")
        together(trace, "k", k, "b h j d", "the heads' keys, stacked")
        together(trace, "v", v, "b h j d", "the heads' values, stacked")

        # the loop that the other forms turn into one batched product
        heads = [self._head(n, q[n], k[n], v[n], biases[n], switches) for n in range(self.n_heads)]
        scores, weights, mixed = zip(*heads, strict=True)
        _record(scores, switches)
        together(trace, "mixed", mixed, "b h i d", "the heads' results, stacked")

        # a token's d_head channels of head 0, then those of head 1, …: d_model again
        joined = torch.cat(mixed, dim=-1)
        trace("joined", joined, "b i c", "torch.cat(mixed, dim=-1)")
        # until here no head knows of another; Wᵒ is the one place where they are combined
        out = self.out(joined)
        trace("out", out, "b i c", "joined Wᵒ")
        return out, torch.stack(weights, dim=1) if switches.need_weights else None

    def _head(
        self, n: int, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, switches: Switches
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Scaled dot-product attention of head n (equation 1): scores, weights (b, i, j) and mixed (b, i, d)."""
        trace = of_head(switches.trace, n)
        # q · k is a sum of d_head terms and spreads like √d_head; undivided, the softmax would pick a single key
        scaled = q @ k.transpose(1, 2) / math.sqrt(self.d_head)
        scores = tempered(scaled, bias, switches.temperature)
        trace("scores", scores, "b i j", SCORES)
        # the mask before the softmax: each row of what is left still sums to 1
        weights = softmax_over_keys(scores, _of_head(switches.allow, n), trace, "b i j")
        # dropout after the softmax, on what is mixed alone: the maps that are shown stay whole
        summed = F.dropout(weights, self.dropout, self.training) @ v
        # a head that is off hands on zeros, so that Wᵒ's rows for it have nothing to add
        mixed = summed if switches.heads is None else summed * switches.heads[..., n, None, None]
        trace("mixed", mixed, "b i d", "weights · v, 0 for a head that is off")
        return scores, weights, mixed

    def parts(self) -> Parts:
        parts: dict[str, Iterable[nn.Module]] = {"q": self.query, "k": self.key, "v": self.value, "o": [self.out]}
        linears = {name: [one for one in part if isinstance(one, nn.Linear)] for name, part in parts.items()}
        return of_linears(**linears)


def _project(name: str, linears: nn.ModuleList, x: Tensor, axis: str, trace: Tracer) -> list[Tensor]:
    """(b, n, c) -> (b, n, d) for each head."""
    parts: list[Tensor] = []
    for n, linear in enumerate(linears):
        part = linear(x)
        of_head(trace, n)(name, part, f"b {axis} d", f"x W{name} of head {n}")
        parts.append(part)
    return parts


def _place(
    position: Position, q: list[Tensor], k: list[Tensor]
) -> tuple[list[Tensor], list[Tensor], Sequence[Tensor | None]]:
    """q and k after `rotate`, and each head's `bias` (b|1, i, j).

    An encoding sees all heads at once, as each head may get numbers of its own: ALiBi's slopes, T5's table.
    """
    if "rotate" in position.acts:
        q, k = (list(x.unbind(1)) for x in position.rotate(torch.stack(q, dim=1), torch.stack(k, dim=1)))
    bias = position.bias(torch.stack(q, dim=1), k[0].shape[1]) if "bias" in position.acts else None
    return q, k, [None] * len(q) if bias is None else bias.unbind(1)


def _record(scores: Sequence[Tensor], switches: Switches) -> None:
    """Records scores, masked and weights of all heads as one; the pass itself has no such tensors."""
    if switches.trace is not no_trace:
        together(switches.trace, "scores", scores, "b h i j", "the heads' scores, stacked")
        softmax_over_keys(torch.stack(tuple(scores), dim=1), switches.allow, switches.trace)


def _of_head(allow: Tensor | None, head: int) -> Tensor | None:
    """(b|1, h|1, i, j) -> (b|1, i, j)."""
    return None if allow is None else allow[:, head if allow.shape[1] > 1 else 0]
