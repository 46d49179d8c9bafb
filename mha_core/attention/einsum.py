"""Letters only: no transpose and no view on the way to the scores. After an einsum notebook."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .base import AttentionLayer, Switches, add_once
from .functional import formula, mute, softmax_over_keys, tempered
from .weights import Parts

__all__ = ["EinsumAttention"]

SCORES = formula("einsum('bhid,bhjd->bhij', q, k)")


class EinsumAttention(AttentionLayer):
    """softmax(q kᵀ / √d_head) v in torch.einsum (the formula of Vaswani et al. 2017, section 3.2.2, index by index).

    It teaches to read a product by its letters: one that is missing on the right was summed over, one that is on both
    sides was kept. `bhid,bhjd->bhij` says that d is summed and that b and h are only carried along.
    Its matrices keep the heads apart: query, key, value and output are all (h, d, c), the biases (h, d) and (c,).
    See `AttentionLayer` for arguments, shapes and errors.
    """

    def build(self) -> None:
        # h as an axis of its own, where an nn.Linear would have h · d rows
        self.query, self.key, self.value, self.output = (self._matrix() for _ in range(4))
        self.query_bias, self.key_bias, self.value_bias = (
            nn.Parameter(torch.zeros(self.n_heads, self.d_head)) if self.bias else None for _ in range(3)
        )
        self.output_bias = nn.Parameter(torch.zeros(self.d_model)) if self.out_bias else None

    def _matrix(self) -> nn.Parameter:
        """(h, d, c), drawn as nn.Linear draws its weights."""
        bound = 1 / math.sqrt(self.d_model)
        return nn.Parameter(torch.empty(self.n_heads, self.d_head, self.d_model).uniform_(-bound, bound))

    def attend(self, query: Tensor, key: Tensor, value: Tensor, switches: Switches) -> tuple[Tensor, Tensor]:
        trace = switches.trace
        query, key, value = add_once(switches.position, query, key, value)
        trace("x", query, "b i c", "position.add(query)")
        # no view and no transpose: the h of the matrices becomes an axis of the result by itself
        q = _plus(torch.einsum("bic,hdc->bhid", query, self.query), self.query_bias)
        k = _plus(torch.einsum("bjc,hdc->bhjd", key, self.key), self.key_bias)
        v = _plus(torch.einsum("bjc,hdc->bhjd", value, self.value), self.value_bias)
        q, k = switches.position.rotate(q, k)
        trace("q", q, "b h i d", "einsum('bic,hdc->bhid', x, Wq)")
        trace("k", k, "b h j d", "einsum('bjc,hdc->bhjd', x, Wk)")
        trace("v", v, "b h j d", "einsum('bjc,hdc->bhjd', x, Wv)")

        # divided by √d_head, as a sum over d_head channels spreads like it (section 3.2.1)
        scaled = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(self.d_head)
        scores = tempered(scaled, switches.position.bias(q, k.shape[2]), switches.temperature)
        trace("scores", scores, "b h i j", SCORES)
        # the mask before the softmax: each row of what is left still sums to 1
        weights = softmax_over_keys(scores, switches.allow, trace)
        summed = torch.einsum("bhij,bhjd->bhid", F.dropout(weights, self.dropout, self.training), v)
        mixed = mute(summed, switches.heads)
        trace("mixed", mixed, "b h i d", "einsum('bhij,bhjd->bhid', weights, v), 0 for a head that is off")

        # letters cannot merge two axes into one: here alone memory has to be written in another order
        joined = torch.einsum("bhid->bihd", mixed).flatten(2)
        trace("joined", joined, "b i c", "einsum('bhid->bihd', mixed).flatten(2)")
        # Wᵒ is the one place where heads are combined: its first two axes are read as one, and summed over
        product = torch.einsum("bic,co->bio", joined, self.output.flatten(0, 1))
        out = product if self.output_bias is None else product + self.output_bias
        trace("out", out, "b i c", "einsum('bic,co->bio', joined, Wᵒ)")
        return out, weights

    def parts(self) -> Parts:
        q, k, v = (matrix.flatten(0, 1) for matrix in (self.query, self.key, self.value))
        # an nn.Linear is (out, in), the output matrix (h, d, out)
        parts: Parts = {"q": [q], "k": [k], "v": [v], "o": [self.output.flatten(0, 1).T]}
        biases = {"q_bias": self.query_bias, "k_bias": self.key_bias, "v_bias": self.value_bias}
        biases["o_bias"] = self.output_bias
        return parts | {name: [bias.flatten()] for name, bias in biases.items() if bias is not None}


def _plus(projected: Tensor, bias: Tensor | None) -> Tensor:
    """A bias (h, d) added to (b, h, n, d)."""
    return projected if bias is None else projected + bias[:, None]
