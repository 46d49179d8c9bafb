"""nn.MultiheadAttention itself: its masks are turned round for it, and it is asked for one map a head."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..errors import Unsupported
from ..trace import Tracer, no_trace, second_pass
from .base import AttentionLayer, add_once
from .functional import join_heads, softmax_over_keys, split_heads
from .switches import Switches
from .weights import Parts, of_stacked


class TorchAttention(AttentionLayer):
    """MultiHead(x, x, x) as nn.MultiheadAttention computes it (Vaswani et al. 2017, section 3.2.2).

    It teaches what a library hides: out and maps are the module's, and it has no switch for heads, temperature,
    rotation or bias. As it shows nothing else, the steps between are computed a second time for a trace, and so are its
    maps while dropout is on: the module would return them after dropout. See `AttentionLayer` for arguments, shapes and
    errors.

    Raises:
        Unsupported: (in the pass) a row that may look at nothing in some heads only.
    """

    can = frozenset({"maps", "head_mask"})  # no "kv_heads": its one matrix for q, k and v has three equal parts

    one_matrix = True

    def build(self) -> None:
        self.module = nn.MultiheadAttention(
            self.d_model, self.n_heads, dropout=self.dropout, bias=self.bias or self.out_bias, batch_first=True
        )
        # the module has one switch for all biases
        if not self.bias:
            self.module.register_parameter("in_proj_bias", None)
        if not self.out_bias:
            self.module.out_proj.register_parameter("bias", None)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, switches: Switches) -> tuple[Tensor, Tensor | None]:
        allow, trace = switches.allow, switches.trace
        query, key, value = add_once(switches, query, key, value)
        trace("x", query, "b i c", "position.add(query)")
        # only what is added to x can act here: the module lets nobody at its q, k or scores
        # its mask has the other sign, True = blocked, and a row of nothing but True makes it return NaN
        empty = None if allow is None else ~allow.any(dim=-1, keepdim=True)
        blocked = None if allow is None or empty is None else self._blocked(allow, empty, len(query))
        # its maps are those after dropout, ours those before
        true_maps = switches.need_weights and not (self.training and self.dropout)
        # the mean over the heads, which is the module's default, is no head's map
        module_out, maps = self.module(
            query, key, value, need_weights=true_maps, attn_mask=blocked, average_attn_weights=False
        )
        out, weights = self._emptied(module_out, maps, empty)
        if trace is not no_trace or (switches.need_weights and weights is None):
            explicit = self._second_pass(query, key, value, allow, second_pass(trace))
            weights = explicit if weights is None else weights
        trace("out", out, "b i c", "nn.MultiheadAttention(x, x, x)", of=("x", "x.k", "x.v"))
        return out, weights

    def _emptied(self, out: Tensor, maps: Tensor | None, empty: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """out and maps with the rows that `_blocked` opened put right: weights 0, so that only Wᵒ's bias is left."""
        if empty is None:
            return out, maps
        bias = self.module.out_proj.bias
        out = torch.where(empty.all(dim=1), 0.0 if bias is None else bias, out)
        return out, None if maps is None else maps.masked_fill(empty, 0.0)

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
        # the module's own parameters, read as the rows of q, k and v
        weights = self.module.in_proj_weight.chunk(3)
        biases = (None,) * 3 if self.module.in_proj_bias is None else self.module.in_proj_bias.chunk(3)
        q, k, v = (
            split_heads(F.linear(x, weight, bias), self.n_heads).transpose(1, 2)
            for x, weight, bias in zip((query, key, value), weights, biases, strict=True)
        )
        trace("q", q, "b h i d", "one vector a token and head; torch shows no queries", of=("q",))
        trace("k", k, "b h j d", "one vector a token and head; torch shows no keys", of=("k",))
        trace("v", v, "b h j d", "one vector a token and head; torch shows no values", of=("v",))
        # √d_head, as a sum over d_head channels spreads like it; the mask before the softmax, so that rows sum to 1
        scores = q @ k.mT / math.sqrt(self.d_head)
        trace("scores", scores, "b h i j", "q kᵀ / √d_head", of=("q", "k"))
        maps = softmax_over_keys(scores, allow, trace)
        # mixed and joined only for the record: out is the module's own
        mixed = maps @ v
        trace("mixed", mixed, "b h i d", "weights · v", of=("weights", "v"))
        trace("joined", join_heads(mixed.transpose(1, 2)), "b i c", "mixed.transpose(1, 2).flatten(2)", of=("mixed",))
        return maps

    def parts(self) -> Parts:
        return of_stacked(self.module.in_proj_weight, self.module.in_proj_bias, self.module.out_proj)
