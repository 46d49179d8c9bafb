"""Tokens as the first axis, as in annotated implementations: (length, batch, …), scores [i, j, b, h]."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .. import masks
from ..trace import Tracer, no_trace
from .base import AttentionLayer, add_once
from .functional import formula, join_heads, mixing_weights, softmax_over_keys, split_heads
from .key_value import keys_values
from .switches import EVERYTHING, Switches
from .weights import Parts, linear_parts

DEFAULT = Switches()
SCORES = formula("product")


class ProjectAndSplit(nn.Module):
    """Linear projection followed by the split into heads, (…, c) -> (…, h, d).

    It takes (length, batch, c) and (batch, c) alike. `width` is that of all heads together, default d_model.
    """

    def __init__(self, d_model: int, n_heads: int, bias: bool, width: int | None = None) -> None:
        super().__init__()
        self.linear = nn.Linear(d_model, d_model if width is None else width, bias=bias)
        self.n_heads = n_heads

    def forward(self, x: Tensor, name: str = "x", axis: str = "i", trace: Tracer = no_trace) -> Tensor:
        """Project and split x (…, c) into heads (…, h, d).

        A trace needs (length, batch, c); `axis` is the letter of its first axis.
        """
        projected: Tensor = self.linear(x)
        h, c = ("h", "c") if projected.shape[-1] == x.shape[-1] else ("g", "(g d)")
        trace(f"{name}.project", projected, f"{axis} b {c}", f"x W{name}", inputs=(name,))
        # only the last axis is split, so (batch, c) works as well
        split = split_heads(projected, self.n_heads)
        expression = f"{name}.view(*{name}.shape[:-1], n_heads, d_head)"
        trace(f"{name}.view", split, f"{axis} b {h} d", expression, inputs=(name,))
        return split


class SequenceFirstAttention(AttentionLayer):
    """Attention with time as the first axis (Vaswani et al. 2017, section 3.2.2, after labml's notes).

    It teaches that the order of axes is a convention, not part of the formula: q, k, v are (n, b, h, d), the scores (i,
    j, b, h), and the softmax runs over axis 1. The split into heads is then a view without a transpose. Its mask is
    (len_q, len_k, batch), shared by all heads. `attend` transposes batch-first tensors and back; `time_first` is the
    layer itself, and `scores` can be overridden. In those notes `bias` applies to query and key alone: bias=False,
    v_bias=True, out_bias=True. See `AttentionLayer` for arguments, shapes and errors.
    """

    can = EVERYTHING - {"head_mask"}

    def build(self) -> None:
        """Create the projections of q, k and v and the output projection."""
        self.query = ProjectAndSplit(self.d_model, self.n_heads, self.bias)
        self.key = ProjectAndSplit(self.d_model, self.n_kv_heads, self.bias, self.d_kv)
        self.value = ProjectAndSplit(self.d_model, self.n_kv_heads, self.v_bias, self.d_kv)
        self.out = nn.Linear(self.d_model, self.d_model, bias=self.out_bias)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, switches: Switches) -> tuple[Tensor, Tensor]:
        """Transpose to time first, attend, and transpose back."""
        trace, allow = switches.trace, switches.allow
        query, key, value = add_once(switches, query, key, value)
        trace("x", query, "b i c", "position.add(query)")
        first_query, first_key, first_value = (x.transpose(0, 1) for x in (query, key, value))
        trace("x.transpose", first_query, "i b c", "x.transpose(0, 1), time first", inputs=("x",))
        mask = None if allow is None else allow[:, 0].permute(1, 2, 0)
        time_first, weights = self.time_first(first_query, first_key, first_value, mask, switches)
        out = time_first.transpose(0, 1)
        trace("out", out, "b i c", "out.transpose(0, 1), batch first", inputs=("out",))
        return out, weights.permute(2, 3, 0, 1)

    def time_first(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, switches: Switches = DEFAULT
    ) -> tuple[Tensor, Tensor]:
        """Compute attention over time-first tensors.

        Args:
            query: (i, b, c).
            key: (j, b, c).
            value: (j, b, c).
            mask: bool (i|1, j, b|1), True = may attend; used instead of the `allow` of the switches.
            switches: options of the pass.

        Returns:
            out (i, b, c) and weights (i, j, b, h).

        Raises:
            MaskError: the mask has another dtype or shape.
        """
        trace = switches.trace
        heads, values = switches.ablate
        q = self.query(query, "q", "i", trace)
        k = self.key(key, "k", "j", trace)
        v = self.value(value, "v", "j", trace)
        q, k = _batch_first(switches.position.rotate, q, k)
        k, v = _batch_first(keys_values, k, v, self.n_heads, self.cache, trace)
        trace("q", q, "i b h d", "one query per token and head", inputs=("q",))
        trace("k", k, "j b h d", "one key per token and head", inputs=("k",))
        trace("v", v, "j b h d", "one value per token and head", inputs=("v",))

        product = self.scores(q, k)
        trace("scores.product", product, "i j b h", "einsum('ibhd,jbhd->ijbh', q, k)", inputs=("q", "k"))
        # 1 / √d_head, as a sum over d_head channels spreads like √d_head (section 3.2.1)
        scaled = product * (1 / math.sqrt(self.d_head))
        bias = switches.position.bias(q.permute(1, 2, 0, 3), len(k))
        scores = (scaled if bias is None else scaled + bias.permute(2, 3, 0, 1)) / switches.temperature
        trace("scores", scores, "i j b h", SCORES, inputs=("scores.product",))
        allow = None if mask is None else self.prepare_mask(mask, len(q), len(k), q.shape[1], trace)
        # the mask before the softmax: the remaining weights still sum to 1 over the keys, here axis 1
        weights = softmax_over_keys(scores, allow, trace, "i j b h", dim=1)
        values = None if values is None else values.permute(2, 3, 0, 1)
        mixing = mixing_weights(weights, self.drop_rate, values, trace, "i j b h")
        summed = torch.einsum("ijbh,jbhd->ibhd", mixing, v)
        mixed = summed if heads is None else summed * heads[..., None]
        expression = "einsum('ijbh,jbhd->ibhd', weights, v), 0 for an ablated head"
        trace("mixed", mixed, "i b h d", expression, inputs=("weights", "v"))

        # h and d are the last two axes already, so joining them moves nothing
        joined = join_heads(mixed)
        trace("joined", joined, "i b c", "mixed.reshape(i, b, d_model)", inputs=("mixed",))
        # Wᵒ is the one place where heads are combined
        out = self.out(joined)
        trace("out.project", out, "i b c", "joined Wᵒ", inputs=("joined",))
        return out, weights

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """Return the unscaled scores (i, j, b, h) of q (i, b, h, d) and k (j, b, h, d).

        Override it for relative attention.
        """
        return torch.einsum("ibhd,jbhd->ijbh", q, k)

    def prepare_mask(self, mask: Tensor, len_q: int, len_k: int, batch: int, trace: Tracer = no_trace) -> Tensor:
        """Check a mask (i|1, j, b|1) and append an axis that all heads share.

        Raises:
            MaskError: not bool, or another shape.
        """
        masks.check(mask, "mask", ((len_q, 1), (len_k,), (batch, 1)))
        # an axis of 1 broadcasts, here to all heads
        shared = mask.unsqueeze(-1)
        axes = ("i" if shared.shape[0] == len_q else "1", "j", "b" if shared.shape[2] == batch else "1", "1")
        trace("masked.allow", shared, " ".join(axes), "mask.unsqueeze(-1), True = may attend")
        return shared

    def parts(self) -> Parts:
        """Return the matrices and biases of the four Linears."""
        return linear_parts(q=[self.query.linear], k=[self.key.linear], v=[self.value.linear], o=[self.out])


def _batch_first(
    function: Callable[..., tuple[Tensor, Tensor]], a: Tensor, b: Tensor, *args: Any
) -> tuple[Tensor, Tensor]:
    """Apply a function of batch-first tensors (b, h, n, d) to two tensors (n, b, h, d)."""
    a, b = function(a.permute(1, 2, 0, 3), b.permute(1, 2, 0, 3), *args)
    return a.permute(2, 0, 1, 3), b.permute(2, 0, 1, 3)
