"""Three Linears for each head, a loop and a concatenation: multi-head attention as the paper draws it."""

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from ..positions.base import Position
from ..trace import Tracer, head_tracer, no_trace, record_stacked, stacked_tracer
from .base import AttentionLayer, add_once
from .functional import SCORES, mixing_weights, softmax_over_keys
from .key_value import extend_cache
from .switches import Switches
from .weights import Parts, linear_parts


class NaiveAttention(AttentionLayer):
    """Attention in a loop over the heads: headₙ = softmax(qₙ kₙᵀ / √d_head) vₙ, then Concat(head₁, …, headₕ) Wᵒ.

    It teaches what a head is: a small attention of its own, with three Linears d_model → d_head that belong to it alone
    (Vaswani et al. 2017, figure 2 and section 3.2.2). The other implementations compute the same without the loop. The
    trace records every head separately, as "scores.head3"; its steps over all heads are stacked for the trace alone.
    See `AttentionLayer` for arguments, shapes and errors.
    """

    def build(self) -> None:
        """Create one Linear per head for q, k and v, and the output projection."""
        # h small matrices instead of a large one: d_head = d_model / h keeps the cost that of one head of full width
        self.query = nn.ModuleList([nn.Linear(self.d_model, self.d_head, self.bias) for _ in range(self.n_heads)])
        self.key = nn.ModuleList([nn.Linear(self.d_model, self.d_head, self.bias) for _ in range(self.n_kv_heads)])
        self.value = nn.ModuleList([nn.Linear(self.d_model, self.d_head, self.v_bias) for _ in range(self.n_kv_heads)])
        self.out = nn.Linear(self.d_model, self.d_model, bias=self.out_bias)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, switches: Switches) -> tuple[Tensor, Tensor | None]:
        """Compute scaled dot-product attention head by head and concatenate the results."""
        trace = switches.trace
        query, key, value = add_once(switches, query, key, value)
        trace("x", query, "b i c", "position.add(query)")
        q = [_project("q", n, self.query[n], query, "i", trace) for n in range(self.n_heads)]
        k = [_project("k", n, self.key[n], key, "j", trace) for n in range(self.n_kv_heads)]
        v = [_project("v", n, self.value[n], value, "j", trace) for n in range(self.n_kv_heads)]
        # after the projections, so that the encoding acts in each head's own space
        q, k = _rotate(switches.position, q, k)
        k, v = self.keys_values_per_head(k, v)
        biases = _biases(switches.position, q, k[0].shape[1])
        record_stacked(trace, "q", q, "b h i d", "the heads' queries, stacked")
        record_stacked(trace, "k", k, "b h j d", "the heads' keys, stacked")
        record_stacked(trace, "v", v, "b h j d", "the heads' values, stacked")

        # the other implementations replace this loop by one batched product
        heads = [self._head(n, q[n], k[n], v[n], biases[n], switches) for n in range(self.n_heads)]
        scores, weights, mixing, mixed = zip(*heads, strict=True)
        _record(scores, weights, mixing, switches)
        record_stacked(trace, "mixed", mixed, "b h i d", "the heads' results, stacked")

        # a token's d_head channels of head 0, then those of head 1, …: d_model again
        joined = torch.cat(mixed, dim=-1)
        trace("joined", joined, "b i c", "torch.cat(mixed, dim=-1)", inputs=("mixed.head",))
        # the heads are independent up to here; Wᵒ is the one place where they are combined
        out = self.out(joined)
        trace("out", out, "b i c", "joined Wᵒ", inputs=("joined",))
        return out, torch.stack(weights, dim=1) if switches.need_weights else None

    def keys_values_per_head(self, k: list[Tensor], v: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Return the keys and values of each query head, cached tokens included."""
        if self.cache is not None:
            k, v = (list(x.unbind(1)) for x in extend_cache(torch.stack(k, dim=1), torch.stack(v, dim=1), self.cache))
        group_size = self.n_heads // self.n_kv_heads
        # a list may hold a tensor several times, so the heads of a group share theirs without a copy
        return [k[n // group_size] for n in range(self.n_heads)], [v[n // group_size] for n in range(self.n_heads)]

    def _head(
        self, n: int, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, switches: Switches
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Compute head n (equation 1): scores, weights, mixing weights and output."""
        trace = head_tracer(switches.trace, n)
        heads, values = switches.ablate
        shared = n * self.n_kv_heads // self.n_heads
        # q · k is a sum of d_head terms and spreads like √d_head; undivided, the softmax would pick a single key
        scaled = q @ k.transpose(1, 2) / math.sqrt(self.d_head)
        scores = (scaled if bias is None else scaled + bias) / switches.temperature
        trace("scores", scores, "b i j", SCORES, inputs=("q", f"k.head{shared}"))
        # the mask before the softmax: the remaining weights of each row still sum to 1
        weights = softmax_over_keys(scores, _head_mask(switches.allow, n), trace, "b i j")
        # dropout after the softmax, on the mixing weights alone: the returned maps stay unchanged
        mixing = mixing_weights(weights, self.drop_rate, _head_mask(values, n), trace, "b i j")
        summed = mixing @ v
        # an ablated head gives zeros, so that its rows of Wᵒ contribute nothing
        mixed = summed if heads is None else summed * heads[..., n, None, None]
        trace("mixed", mixed, "b i d", "weights · v, 0 for an ablated head", inputs=("weights", f"v.head{shared}"))
        return scores, weights, mixing, mixed

    def parts(self) -> Parts:
        """Return the Linears of all heads and the output projection."""
        parts: dict[str, Iterable[nn.Module]] = {"q": self.query, "k": self.key, "v": self.value, "o": [self.out]}
        linears = {name: [module for module in part if isinstance(module, nn.Linear)] for name, part in parts.items()}
        return linear_parts(**linears)


def _project(name: str, n: int, linear: nn.Module, x: Tensor, axis: str, trace: Tracer) -> Tensor:
    """Project (b, n, c) to (b, n, d) for one head."""
    part: Tensor = linear(x)
    head_tracer(trace, n)(name, part, f"b {axis} d", f"x W{name} of head {n}", inputs=(name,))
    return part


def _rotate(position: Position, q: list[Tensor], k: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    if "rotate" in position.mechanisms:
        q, k = (list(x.unbind(1)) for x in position.rotate(torch.stack(q, dim=1), torch.stack(k, dim=1)))
    return q, k


def _biases(position: Position, q: list[Tensor], len_k: int) -> Sequence[Tensor | None]:
    """Return the score bias (b|1, i, j) of each head, or None.

    An encoding gets all heads at once, because each may have numbers of its own: ALiBi's slopes, T5's table.
    """
    bias = position.bias(torch.stack(q, dim=1), len_k) if "bias" in position.mechanisms else None
    return [None] * len(q) if bias is None else bias.unbind(1)


def _record(scores: Sequence[Tensor], weights: Sequence[Tensor], mixing: Sequence[Tensor], switches: Switches) -> None:
    """Record scores, masked scores, weights and mixing weights of all heads, stacked for the trace alone."""
    if switches.trace is not no_trace:
        record_stacked(switches.trace, "scores", scores, "b h i j", "the heads' scores, stacked")
        softmax_over_keys(torch.stack(tuple(scores), dim=1), switches.allow, stacked_tracer(switches.trace))
        if mixing[0] is not weights[0]:
            cause = "dropout" if switches.ablate.values is None else "values_off"
            record_stacked(switches.trace, f"weights.{cause}", mixing, "b h i j", "the heads' mixing weights, stacked")


def _head_mask(allow: Tensor | None, head: int) -> Tensor | None:
    """Return the mask (b|1, i, j) of one head."""
    return None if allow is None else allow[:, head if allow.shape[1] > 1 else 0]
