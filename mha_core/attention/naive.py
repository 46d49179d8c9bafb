"""A triple of Linears per head, a loop, concatenation: multi-head attention as the paper draws it."""

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from ..positions.base import Position
from ..trace import Tracer, no_trace, of_head, of_heads, together
from .base import AttentionLayer, add_once
from .functional import SCORES, mixing_weights, softmax_over_keys
from .key_value import extend_cache
from .switches import Switches
from .weights import Parts, of_linears


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
            nn.ModuleList(nn.Linear(self.d_model, self.d_head, bias=bias) for _ in range(heads))
            for heads, bias in (
                (self.n_heads, self.bias),
                (self.n_kv_heads, self.bias),
                (self.n_kv_heads, self.v_bias),
            )
        )
        self.out = nn.Linear(self.d_model, self.d_model, bias=self.out_bias)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, switches: Switches) -> tuple[Tensor, Tensor | None]:
        trace = switches.trace
        query, key, value = add_once(switches, query, key, value)
        trace("x", query, "b i c", "position.add(query)")
        q = _project("q", self.query, query, "i", trace)
        k = _project("k", self.key, key, "j", trace)
        v = _project("v", self.value, value, "j", trace)
        # after the projections, so that the encoding acts in each head's own space
        q, k = _rotated(switches.position, q, k)
        k, v = self.keys_values_of_heads(k, v)
        biases = _biases(switches.position, q, k[0].shape[1])
        together(trace, "q", q, "b h i d", "the heads' queries, stacked")
        together(trace, "k", k, "b h j d", "the heads' keys, stacked")
        together(trace, "v", v, "b h j d", "the heads' values, stacked")

        # the loop that the other forms turn into one batched product
        heads = [self._head(n, q[n], k[n], v[n], biases[n], switches) for n in range(self.n_heads)]
        scores, weights, kept, mixed = zip(*heads, strict=True)
        _record(scores, weights, kept, switches)
        together(trace, "mixed", mixed, "b h i d", "the heads' results, stacked")

        # a token's d_head channels of head 0, then those of head 1, …: d_model again
        joined = torch.cat(mixed, dim=-1)
        trace("joined", joined, "b i c", "torch.cat(mixed, dim=-1)", of=("mixed.head",))
        # until here no head knows of another; Wᵒ is the one place where they are combined
        out = self.out(joined)
        trace("out", out, "b i c", "joined Wᵒ", of=("joined",))
        return out, torch.stack(weights, dim=1) if switches.need_weights else None

    def keys_values_of_heads(self, k: list[Tensor], v: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """The keys and values that each query head meets: those of earlier tokens too, and of its key/value head."""
        if self.cache is not None:
            k, v = (list(x.unbind(1)) for x in extend_cache(torch.stack(k, dim=1), torch.stack(v, dim=1), self.cache))
        each = self.n_heads // self.n_kv_heads
        # a list may name a tensor several times: here the heads of a group share theirs without any repeat
        return [k[n // each] for n in range(self.n_heads)], [v[n // each] for n in range(self.n_heads)]

    def _head(
        self, n: int, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, switches: Switches
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Scaled dot-product attention of head n (equation 1): scores, weights, what of them is mixed, mixed."""
        trace = of_head(switches.trace, n)
        heads, values = switches.ablate
        shared = n * self.n_kv_heads // self.n_heads
        # q · k is a sum of d_head terms and spreads like √d_head; undivided, the softmax would pick a single key
        scaled = q @ k.transpose(1, 2) / math.sqrt(self.d_head)
        scores = (scaled if bias is None else scaled + bias) / switches.temperature
        trace("scores", scores, "b i j", SCORES, of=("q", f"k.head{shared}"))
        # the mask before the softmax: each row of what is left still sums to 1
        weights = softmax_over_keys(scores, _of_head(switches.allow, n), trace, "b i j")
        # dropout after the softmax, on what is mixed alone: the maps that are shown stay whole
        kept = mixing_weights(weights, self.drop_rate, _of_head(values, n), trace, "b i j")
        summed = kept @ v
        # a head that is off gives zeros, so that Wᵒ's rows for it have nothing to add
        mixed = summed if heads is None else summed * heads[..., n, None, None]
        trace("mixed", mixed, "b i d", "weights · v, 0 for a head that is off", of=("weights", f"v.head{shared}"))
        return scores, weights, kept, mixed

    def parts(self) -> Parts:
        parts: dict[str, Iterable[nn.Module]] = {"q": self.query, "k": self.key, "v": self.value, "o": [self.out]}
        linears = {name: [one for one in part if isinstance(one, nn.Linear)] for name, part in parts.items()}
        return of_linears(**linears)


def _project(name: str, linears: nn.ModuleList, x: Tensor, axis: str, trace: Tracer) -> list[Tensor]:
    """(b, n, c) -> (b, n, d) for each head."""
    parts: list[Tensor] = []
    for n, linear in enumerate(linears):
        part = linear(x)
        of_head(trace, n)(name, part, f"b {axis} d", f"x W{name} of head {n}", of=(name,))
        parts.append(part)
    return parts


def _rotated(position: Position, q: list[Tensor], k: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """q and k after `rotate`."""
    if "rotate" in position.acts:
        q, k = (list(x.unbind(1)) for x in position.rotate(torch.stack(q, dim=1), torch.stack(k, dim=1)))
    return q, k


def _biases(position: Position, q: list[Tensor], len_k: int) -> Sequence[Tensor | None]:
    """Each head's `bias` (b|1, i, j).

    An encoding sees all heads at once, as each head may get numbers of its own: ALiBi's slopes, T5's table.
    """
    bias = position.bias(torch.stack(q, dim=1), len_k) if "bias" in position.acts else None
    return [None] * len(q) if bias is None else bias.unbind(1)


def _record(scores: Sequence[Tensor], weights: Sequence[Tensor], kept: Sequence[Tensor], switches: Switches) -> None:
    """Records scores, masked and weights of all heads as one, and what of them is mixed; the pass has no such."""
    if switches.trace is not no_trace:
        together(switches.trace, "scores", scores, "b h i j", "the heads' scores, stacked")
        softmax_over_keys(torch.stack(tuple(scores), dim=1), switches.allow, of_heads(switches.trace))
        if kept[0] is not weights[0]:
            what = "dropout" if switches.ablate.values is None else "values_off"
            together(switches.trace, f"weights.{what}", kept, "b h i j", "what is mixed of the heads' weights, stacked")


def _of_head(allow: Tensor | None, head: int) -> Tensor | None:
    """(b|1, h|1, i, j) -> (b|1, i, j)."""
    return None if allow is None else allow[:, head if allow.shape[1] > 1 else 0]
