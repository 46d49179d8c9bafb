"""Time first, as the annotated implementations write it: (length, batch, …), scores [i, j, b, h]."""

import math

import torch
from torch import Tensor, nn

from ..errors import MaskError
from ..positions.base import Position
from ..trace import Tracer, no_trace
from .base import AttentionLayer, add_once
from .functional import dropped, formula, handed_on, join_heads, softmax_over_keys, split_heads, tempered
from .key_value import served
from .switches import EVERYTHING, Switches
from .weights import Parts, of_linears

DEFAULT = Switches()
SCORES = formula("product")


class ProjectAndSplit(nn.Module):
    """A Linear and the split into heads, (…, c) -> (…, h, d): (length, batch, c) and (batch, c) alike.

    `width` is that of all heads together, default d_model.
    """

    def __init__(self, d_model: int, n_heads: int, bias: bool, width: int | None = None) -> None:
        super().__init__()
        self.linear = nn.Linear(d_model, d_model if width is None else width, bias=bias)
        self.n_heads = n_heads

    def forward(self, x: Tensor, name: str = "x", axis: str = "i", trace: Tracer = no_trace) -> Tensor:
        """x (…, c) -> (…, h, d); a trace is for (length, batch, c) alone, whose first axis has the letter `axis`."""
        projected: Tensor = self.linear(x)
        h, c = ("h", "c") if projected.shape[-1] == x.shape[-1] else ("g", "(g d)")
        trace(f"{name}.project", projected, f"{axis} b {c}", f"x W{name}")
        # only the last axis is split, whatever stands before it: that is why (batch, c) will do as well
        split = split_heads(projected, self.n_heads)
        trace(f"{name}.view", split, f"{axis} b {h} d", f"{name}.view(*{name}.shape[:-1], n_heads, d_head)")
        return split


class SequenceFirstAttention(AttentionLayer):
    """softmax(q kᵀ / √d_head) v with time as the first axis (Vaswani et al. 2017, section 3.2.2, after labml's notes).

    It teaches that the order of axes is a habit, not part of the formula: q, k, v are (n, b, h, d), the scores
    (i, j, b, h), and the softmax runs over axis 1. The split into heads is then a view without a transpose. Its mask is
    (len_q, len_k, batch), one for all heads. Batch first is turned into time first at the border, and back;
    `time_first` is the layer itself, `scores` is there to be overridden. In those notes `bias` reaches query and key
    alone: bias=False, v_bias=True, out_bias=True. See `AttentionLayer` for arguments, shapes and errors.
    """

    can = EVERYTHING - {"head_mask"}

    def build(self) -> None:
        self.query = ProjectAndSplit(self.d_model, self.n_heads, self.bias)
        self.key = ProjectAndSplit(self.d_model, self.n_kv_heads, self.bias, self.d_kv)
        self.value = ProjectAndSplit(self.d_model, self.n_kv_heads, self.v_bias, self.d_kv)
        self.out = nn.Linear(self.d_model, self.d_model, bias=self.out_bias)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, switches: Switches) -> tuple[Tensor, Tensor]:
        trace, allow = switches.trace, switches.allow
        query, key, value = add_once(switches.position, query, key, value)
        trace("x", query, "b i c", "position.add(query)")
        first_query, first_key, first_value = (x.transpose(0, 1) for x in (query, key, value))
        trace("x.transpose", first_query, "i b c", "x.transpose(0, 1), time first")
        mask = None if allow is None else allow[:, 0].permute(1, 2, 0)
        time_first, weights = self.time_first(first_query, first_key, first_value, mask, switches)
        out = time_first.transpose(0, 1)
        trace("out", out, "b i c", "out.transpose(0, 1), batch first")
        return out, weights.permute(2, 3, 0, 1)

    def time_first(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, switches: Switches = DEFAULT
    ) -> tuple[Tensor, Tensor]:
        """query (i, b, c), key and value (j, b, c) -> out (i, b, c), weights (i, j, b, h).

        Args:
            mask: bool (i|1, j, b|1), True = may look; it stands for the `allow` of the switches.

        Raises:
            MaskError: a mask of another kind or shape.
        """
        trace = switches.trace
        q = self.query(query, "q", "i", trace)
        k = self.key(key, "k", "j", trace)
        v = self.value(value, "v", "j", trace)
        q, k = _rotated(switches.position, q, k)
        k, v = self._served(k, v, switches)
        trace("q", q, "i b h d", "one query a token and head")
        trace("k", k, "j b h d", "one key a token and head")
        trace("v", v, "j b h d", "one value a token and head")

        product = self.scores(q, k)
        trace("scores.product", product, "i j b h", "einsum('ibhd,jbhd->ijbh', q, k)")
        # 1 / √d_head, as a sum over d_head channels spreads like √d_head (section 3.2.1)
        scaled = product * (1 / math.sqrt(self.d_head))
        scores = tempered(scaled, _bias(switches.position, q, len(k)), switches.temperature)
        trace("scores", scores, "i j b h", SCORES)
        allow = None if mask is None else self.prepare_mask(mask, len(q), len(k), q.shape[1], trace)
        # the mask before the softmax: over the keys, which are axis 1 here, what is left still sums to 1
        weights = softmax_over_keys(scores, allow, trace, "i j b h", dim=1)
        kept = dropped(weights, self.dropout, self.training, trace, "i j b h")
        handed = None if switches.handed is None else switches.handed.permute(2, 3, 0, 1)
        kept = handed_on(kept, handed, trace, "i j b h")
        summed = torch.einsum("ijbh,jbhd->ibhd", kept, v)
        mixed = summed if switches.heads is None else summed * switches.heads[..., None]
        trace("mixed", mixed, "i b h d", "einsum('ijbh,jbhd->ibhd', weights, v), 0 for a head that is off")

        # h and d are the last two axes already, so joining them moves nothing
        joined = join_heads(mixed)
        trace("joined", joined, "i b c", "mixed.reshape(i, b, d_model)")
        # Wᵒ is the one place where heads are combined
        out = self.out(joined)
        trace("out.project", out, "i b c", "joined Wᵒ")
        return out, weights

    def _served(self, k: Tensor, v: Tensor, switches: Switches) -> tuple[Tensor, Tensor]:
        """k and v (n, b, g, d) -> (j, b, h, d), by way of the canonical order of axes, which `served` takes."""
        if switches.past is None and self.n_kv_heads == self.n_heads:
            return k, v
        k, v = served(k.permute(1, 2, 0, 3), v.permute(1, 2, 0, 3), self.n_heads, switches.past, switches.trace)
        return k.permute(2, 0, 1, 3), v.permute(2, 0, 1, 3)

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """q (i, b, h, d), k (j, b, h, d) -> (i, j, b, h), not yet scaled; override it for relative attention."""
        return torch.einsum("ibhd,jbhd->ijbh", q, k)

    def prepare_mask(self, mask: Tensor, len_q: int, len_k: int, batch: int, trace: Tracer = no_trace) -> Tensor:
        """(i|1, j, b|1) -> (i|1, j, b|1, 1): the first and the last axis may be 1, all heads share it.

        Raises:
            MaskError: not bool, or another shape.
        """
        if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
            got = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
            raise MaskError(f"mask must be a bool tensor (True = may look), got {got}; compare it with 0")
        fits = (
            mask.dim() == 3 and mask.shape[0] in (1, len_q) and mask.shape[1] == len_k and mask.shape[2] in (1, batch)
        )
        if not fits:
            raise MaskError(f"mask has shape {tuple(mask.shape)}; need ({len_q} or 1, {len_k}, {batch} or 1)")
        # an axis of 1 stretches to whatever stands in its place in the scores: here to all heads
        shared = mask.unsqueeze(-1)
        axes = ("i" if shared.shape[0] == len_q else "1", "j", "b" if shared.shape[2] == batch else "1", "1")
        trace("masked.allow", shared, " ".join(axes), "mask.unsqueeze(-1), True = may look")
        return shared

    def parts(self) -> Parts:
        return of_linears(q=[self.query.linear], k=[self.key.linear], v=[self.value.linear], o=[self.out])


def _rotated(position: Position, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """q (i, b, h, d) and k (j, b, h, d) after `rotate`, which takes batch and heads first."""
    if "rotate" not in position.acts:
        return q, k
    rotated_q, rotated_k = position.rotate(q.permute(1, 2, 0, 3), k.permute(1, 2, 0, 3))
    return rotated_q.permute(2, 0, 1, 3), rotated_k.permute(2, 0, 1, 3)


def _bias(position: Position, q: Tensor, len_k: int) -> Tensor | None:
    """The position's bias as (i, j, b|1, h)."""
    bias = position.bias(q.permute(1, 2, 0, 3), len_k)
    return None if bias is None else bias.permute(2, 3, 0, 1)
