"""Einsum for every product, naming the axes of operands and result. After an einsum notebook."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ..trace import Tracer, no_trace, second_pass
from .base import AttentionLayer, add_once
from .functional import formula, join_heads, mixing_weights, softmax_over_keys
from .key_value import keys_values
from .switches import Switches
from .weights import Parts

SCORES = formula("product")


class EinsumAttention(AttentionLayer):
    """Attention in torch.einsum: the formula of Vaswani et al. 2017, section 3.2.2, index by index.

    It teaches how to read a product by its letters: a letter missing on the right is summed over, the others are kept.
    In `bshi,bthi->bhst` i, the channel in a head, is summed, b and h are carried along, s is the query and t the key.
    So q, k and v stay (b, n, h, d), as the split leaves them, without a transpose. The matrices are stored as (h, d, c)
    and read as (h · d, c), the notebook's Q, K, V and L; the biases are (h, d) and (c,). With fewer key/value heads h
    is g in those of key and value. See `AttentionLayer` for arguments, shapes and errors.
    """

    def build(self) -> None:
        """Create the matrices (h, d, c) and the biases (h, d) and (c,)."""
        # the rows of one head are adjacent, so that (h, d, c) and (h · d, c) share memory
        bound = 1 / math.sqrt(self.d_model)  # like the weight of an nn.Linear
        self.query = self._matrix(self.n_heads, bound)
        self.key = self._matrix(self.n_kv_heads, bound)
        self.value = self._matrix(self.n_kv_heads, bound)
        self.output = self._matrix(self.n_heads, bound)
        self.query_bias = nn.Parameter(torch.zeros(self.n_heads, self.d_head)) if self.bias else None
        self.key_bias = nn.Parameter(torch.zeros(self.n_kv_heads, self.d_head)) if self.bias else None
        self.value_bias = nn.Parameter(torch.zeros(self.n_kv_heads, self.d_head)) if self.v_bias else None
        self.output_bias = nn.Parameter(torch.zeros(self.d_model)) if self.out_bias else None

    def _matrix(self, heads: int, bound: float) -> nn.Parameter:
        """Return a parameter (heads, d, c) of uniform random numbers."""
        return nn.Parameter(torch.empty(heads, self.d_head, self.d_model).uniform_(-bound, bound))

    def attend(self, query: Tensor, key: Tensor, value: Tensor, switches: Switches) -> tuple[Tensor, Tensor]:
        """Compute softmax(q kᵀ / √d_head) v with one einsum per product."""
        trace = switches.trace
        heads, values = switches.ablate
        query, key, value = add_once(switches, query, key, value)
        trace("x", query, "b i c", "position.add(query)")
        q = self._project("q", self.query, self.query_bias, query, "i", trace)
        k = self._project("k", self.key, self.key_bias, key, "j", trace)
        v = self._project("v", self.value, self.value_bias, value, "j", trace)
        q, k = _heads_first(switches.position.rotate, q, k)
        k, v = _heads_first(keys_values, k, v, self.n_heads, self.cache, trace)
        trace("q", q, "b i h d", "one query per token and head", inputs=("q",))
        trace("k", k, "b j h d", "one key per token and head", inputs=("k",))
        trace("v", v, "b j h d", "one value per token and head", inputs=("v",))

        product = torch.einsum("bshi,bthi->bhst", q, k)
        trace("scores.product", product, "b h i j", "einsum('bshi,bthi->bhst', q, k)", inputs=("q", "k"))
        # divided by √d_head, as a sum over d_head channels spreads like it (section 3.2.1)
        scaled = product / math.sqrt(self.d_head)
        bias = switches.position.bias(q.transpose(1, 2), k.shape[1])
        scores = (scaled if bias is None else scaled + bias) / switches.temperature
        trace("scores", scores, "b h i j", SCORES, inputs=("scores.product",))
        _record(scores, switches)
        # the mask before the softmax: the remaining weights of each row still sum to 1
        weights = softmax_over_keys(scores, switches.allow, trace)
        mixing = mixing_weights(weights, self.drop_rate, values, trace)
        summed = torch.einsum("bhst,bthi->bshi", mixing, v)
        # heads (h,) or (b, h) -> (…, 1, h, 1)
        mixed = summed if heads is None else summed * heads.unsqueeze(-2).unsqueeze(-1)
        expression = "einsum('bhst,bthi->bshi', weights, v), 0 for an ablated head"
        trace("mixed", mixed, "b i h d", expression, inputs=("weights", "v"))

        # einsum cannot merge two axes into one, so this is the only step that may copy
        joined = join_heads(mixed)
        trace("joined", joined, "b i c", "mixed.reshape(b, i, d_model)", inputs=("mixed",))
        # Wᵒ is the one place where heads are combined
        projected = torch.einsum("ij,bsj->bsi", self.output.flatten(0, 1).T, joined)
        out = projected if self.output_bias is None else projected + self.output_bias
        trace("out", out, "b i c", "einsum('ij,bsj->bsi', Wᵒ, joined)", inputs=("joined",))
        return out, weights

    def _project(self, name: str, matrix: Tensor, bias: Tensor | None, x: Tensor, axis: str, trace: Tracer) -> Tensor:
        """Project (b, n, c) to (b, n, h, d); (b, n, g, d) where keys and values have fewer heads."""
        product = torch.einsum("ij,bsj->bsi", matrix.flatten(0, 1), x)
        projected = product if bias is None else product + bias.flatten()
        h, c = ("h", "c") if projected.shape[2] == self.d_model else ("g", "(g d)")
        trace(f"{name}.project", projected, f"b {axis} {c}", f"einsum('ij,bsj->bsi', W{name}, x)", inputs=(name,))
        viewed: Tensor = projected.unflatten(-1, (-1, self.d_head))  # type: ignore[no-untyped-call]
        trace(f"{name}.view", viewed, f"b {axis} {h} d", f"{name}.reshape(b, {axis}, n_heads, d_head)", inputs=(name,))
        return viewed

    def parts(self) -> Parts:
        """Return the matrices and biases as views in the layout of `Weights`."""
        q, k, v = (matrix.flatten(0, 1) for matrix in (self.query, self.key, self.value))
        # an nn.Linear is (out, in), the output matrix (h, d, out)
        parts: Parts = {"q": [q], "k": [k], "v": [v], "o": [self.output.flatten(0, 1).T]}
        biases = {"q_bias": self.query_bias, "k_bias": self.key_bias, "v_bias": self.value_bias}
        biases["o_bias"] = self.output_bias
        return parts | {name: [bias.flatten()] for name, bias in biases.items() if bias is not None}


def _heads_first(
    function: Callable[..., tuple[Tensor, Tensor]], a: Tensor, b: Tensor, *args: Any
) -> tuple[Tensor, Tensor]:
    """Apply a function of heads-first tensors (b, h, n, d) to two tensors (b, n, h, d)."""
    a, b = function(a.transpose(1, 2), b.transpose(1, 2), *args)
    return a.transpose(1, 2), b.transpose(1, 2)


def _record(scores: Tensor, switches: Switches) -> None:
    """Record exp of the scores (b, h, i, j), which divided by their sum are the weights.

    The pass itself calls softmax, which subtracts the row maximum first: exp alone overflows from 88.7 on.
    """
    if switches.trace is not no_trace:
        trace, allow = second_pass(switches.trace), switches.allow
        powers = scores.exp() if allow is None else scores.exp().masked_fill(~allow, 0.0)
        trace("weights.exp", powers, "b h i j", "exp(scores), 0 where not allowed", inputs=("scores",))
