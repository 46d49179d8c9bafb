"""nn.MultiheadAttention itself, with masks converted to its convention and one map per head."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..errors import Unsupported
from ..trace import Tracer, no_trace, second_pass
from .base import AttentionLayer, add_once
from .functional import join_heads, softmax_over_keys, split_heads
from .switches import Switches
from .weights import Parts, stacked_parts


class TorchAttention(AttentionLayer):
    """Attention as nn.MultiheadAttention computes it (Vaswani et al. 2017, section 3.2.2).

    It teaches what a library hides: output and maps are the module's, and it has no option for heads, temperature,
    rotation or bias. It exposes nothing else, so the intermediate steps of a trace are computed a second time, and so
    are the maps while dropout is on, because the module returns them after dropout. See `AttentionLayer` for arguments,
    shapes and errors.

    Raises:
        Unsupported: (in the pass) a row with nothing allowed in only some of the heads.
    """

    can = frozenset({"maps", "head_mask"})  # no "kv_heads": its one matrix for q, k and v has three equal parts

    one_matrix = True

    def build(self) -> None:
        """Create the nn.MultiheadAttention with the requested biases."""
        self.module = nn.MultiheadAttention(
            self.d_model, self.n_heads, dropout=self.dropout, bias=self.bias or self.out_bias, batch_first=True
        )
        # the module has one switch for all biases
        if not self.bias:
            self.module.register_parameter("in_proj_bias", None)
        if not self.out_bias:
            self.module.out_proj.register_parameter("bias", None)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, switches: Switches) -> tuple[Tensor, Tensor | None]:
        """Call the module, then compute in a second pass the steps and maps that it does not return."""
        allow, trace = switches.allow, switches.trace
        query, key, value = add_once(switches, query, key, value)
        trace("x", query, "b i c", "position.add(query)")
        # only `add` can act here: the module gives no access to its q, k or scores
        # its mask has the opposite meaning, True = blocked, and a fully blocked row makes it return NaN
        empty = None if allow is None else ~allow.any(dim=-1, keepdim=True)
        blocked = None if allow is None or empty is None else self._attn_mask(allow, empty, len(query))
        # the module returns its maps after dropout, this library those before
        true_maps = switches.need_weights and not (self.training and self.dropout)
        # the module's default, the mean over the heads, is not the map of any head
        module_out, maps = self.module(
            query, key, value, need_weights=true_maps, attn_mask=blocked, average_attn_weights=False
        )
        out, weights = self._clear_empty_rows(module_out, maps, empty)
        if trace is not no_trace or (switches.need_weights and weights is None):
            explicit = self._second_pass(query, key, value, allow, second_pass(trace))
            weights = explicit if weights is None else weights
        trace("out", out, "b i c", "nn.MultiheadAttention(x, x, x)", inputs=("x", "x.k", "x.v"))
        return out, weights

    def _clear_empty_rows(self, out: Tensor, maps: Tensor | None, empty: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Reset rows that `_attn_mask` opened: weights 0, so that only the bias of Wᵒ is left in the output."""
        if empty is None:
            return out, maps
        bias = self.module.out_proj.bias
        out = torch.where(empty.all(dim=1), 0.0 if bias is None else bias, out)
        return out, None if maps is None else maps.masked_fill(empty, 0.0)

    def _attn_mask(self, allow: Tensor, empty: Tensor, batch: int) -> Tensor:
        """Convert allow (b|1, h|1, i, j) to torch's attn_mask, True = blocked, (i, j) or (b·h, i, j).

        A fully blocked row would be NaN, so it is opened here and its result replaced afterwards.
        """
        if empty.shape[1] > 1 and bool((empty.any(dim=1) != empty.all(dim=1)).any()):
            raise Unsupported(
                "nn.MultiheadAttention cannot leave a row empty in some heads only: it mixes the heads; allow one key"
            )
        blocked = ~allow & ~empty
        if blocked.shape[:2] == (1, 1):
            return blocked[0, 0]
        return blocked.expand(batch, self.n_heads, -1, -1).flatten(0, 1)

    def _second_pass(self, query: Tensor, key: Tensor, value: Tensor, allow: Tensor | None, trace: Tracer) -> Tensor:
        """Record the steps that the module does not expose, and return the maps."""
        # the module's own parameters, read as the rows of q, k and v
        weights = self.module.in_proj_weight.chunk(3)
        biases = (None,) * 3 if self.module.in_proj_bias is None else self.module.in_proj_bias.chunk(3)
        q, k, v = (
            split_heads(F.linear(x, weight, bias), self.n_heads).transpose(1, 2)
            for x, weight, bias in zip((query, key, value), weights, biases, strict=True)
        )
        trace("q", q, "b h i d", "one vector per token and head; torch shows no queries", inputs=("q",))
        trace("k", k, "b h j d", "one vector per token and head; torch shows no keys", inputs=("k",))
        trace("v", v, "b h j d", "one vector per token and head; torch shows no values", inputs=("v",))
        # √d_head, because a sum of d_head terms has a spread of √d_head; the mask before the softmax: rows sum to 1
        scores = q @ k.mT / math.sqrt(self.d_head)
        trace("scores", scores, "b h i j", "q kᵀ / √d_head", inputs=("q", "k"))
        maps = softmax_over_keys(scores, allow, trace)
        # mixed and joined are only recorded: the output is the module's own
        mixed = maps @ v
        trace("mixed", mixed, "b h i d", "weights · v", inputs=("weights", "v"))
        joined = join_heads(mixed.transpose(1, 2))
        trace("joined", joined, "b i c", "mixed.transpose(1, 2).flatten(2)", inputs=("mixed",))
        return maps

    def parts(self) -> Parts:
        """Return the rows of q, k and v of the joint matrix, and the output projection."""
        return stacked_parts(self.module.in_proj_weight, self.module.in_proj_bias, self.module.out_proj)
