"""A single Linear for q, k and v: the fast form, used by the app's models."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..trace import Tracer
from .base import AttentionLayer, add_once
from .functional import join_heads, mask_heads
from .kernels import weighted_sum
from .key_value import keys_values
from .switches import Switches
from .weights import Parts, split_stacked, stacked_parts


class FusedAttention(AttentionLayer):
    """Attention with one input projection for q, k and v (Vaswani et al. 2017, section 3.2.2).

    It teaches what makes attention fast: x is read once for q, k and v, nothing is copied before the heads are joined,
    and the kernel is chosen by what the caller needs (see `kernels`). Its maps and gradients can be differentiated
    once. See `AttentionLayer` for arguments, shapes and errors.
    """

    one_matrix = True

    def build(self) -> None:
        """Create the joint input projection and the output projection."""
        # one wide product keeps more of the processor busy than three narrow ones
        self.qkv = nn.Linear(self.d_model, self.d_model + 2 * self.d_kv, bias=self.bias)
        self.out = nn.Linear(self.d_model, self.d_model, bias=self.out_bias)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, switches: Switches) -> tuple[Tensor, Tensor | None]:
        """Compute softmax(q kᵀ / √d_head) v with the fastest kernel that serves the options."""
        trace = switches.trace
        query, key, value = add_once(switches, query, key, value)
        trace("x", query, "b i c", "position.add(query)")
        q, k, v = self._project(query, key, value, trace)
        # rotated by their positions, q and k have a product that depends on their distance; v is not rotated
        q, k = switches.position.rotate(q, k)
        k, v = keys_values(k, v, self.n_heads, self.cache, trace)
        trace("q", q, "b h i d", "one query per token and head", inputs=("q",))
        trace("k", k, "b h j d", "one key per token and head", inputs=("k",))
        trace("v", v, "b h j d", "one value per token and head", inputs=("v",))

        # softmax(q kᵀ / √d_head + bias) v: the kernel applies √d_head, mask and softmax, and may never store the scores
        summed, weights = weighted_sum(q, k, v, switches.position.bias(q, k.shape[2]), switches, self.drop_rate)
        mixed = mask_heads(summed, switches.ablate.heads)
        trace("mixed", mixed, "b h i d", "weights · v, 0 for an ablated head", inputs=("weights", "v"))

        # the one copy: a token's heads must be adjacent before they can be read as one row
        joined = join_heads(mixed.transpose(1, 2))
        trace("joined", joined, "b i c", "mixed.transpose(1, 2).flatten(2)", inputs=("mixed",))
        # Wᵒ is the one place where heads are combined
        out = self.out(joined)
        trace("out", out, "b i c", "joined Wᵒ", inputs=("joined",))
        return out, weights

    def _project(self, query: Tensor, key: Tensor, value: Tensor, trace: Tracer) -> tuple[Tensor, Tensor, Tensor]:
        """Project to q (b, h, i, d), k and v (b, g, j, d), with one product for self-attention."""
        if key is query and value is query:
            projected = self.qkv(query)
            if self.n_kv_heads < self.n_heads:
                return self._split_unequally(projected, trace)
            trace("qkv.project", projected, "b i (3 c)", "x Wqkv", inputs=("x",))
            # views alone: the channels of a head are adjacent already, so that splitting copies nothing
            viewed = projected.view(*projected.shape[:2], 3, self.n_heads, self.d_head)
            trace("qkv.view", viewed, "b i 3 h d", "qkv.view(b, i, 3, n_heads, d_head)", inputs=("qkv.project",))
            # the axis of 3 comes first, so that it unpacks into three views
            q, k, v = viewed.permute(2, 0, 3, 1, 4)
            return q, k, v
        # cross-attention: the same rows of the same matrix, each with its own input
        weights = split_stacked(self.qkv.weight, self.d_model)
        biases = (None,) * 3 if self.qkv.bias is None else split_stacked(self.qkv.bias, self.d_model)
        heads = []
        for name, axis, x, weight, bias in zip("qkv", "ijj", (query, key, value), weights, biases, strict=True):
            projected = F.linear(x, weight, bias)
            h, c = ("h", "c") if len(weight) == self.d_model else ("g", "(g d)")
            trace(f"{name}.project", projected, f"b {axis} {c}", f"x W{name}", inputs=(name,))
            viewed = projected.view(*projected.shape[:2], -1, self.d_head)
            trace(f"{name}.view", viewed, f"b {axis} {h} d", f"{name}.view(b, {axis}, n_heads, d_head)", inputs=(name,))
            heads.append(viewed.transpose(1, 2))
        q, k, v = heads
        return q, k, v

    def _split_unequally(self, projected: Tensor, trace: Tracer) -> tuple[Tensor, Tensor, Tensor]:
        """Split (b, i, c + 2 g d) into views of h query, g key and g value heads."""
        h, g = self.n_heads, self.n_kv_heads
        trace("qkv.project", projected, f"b i ({h + 2 * g} d)", "x Wqkv", inputs=("x",))
        viewed = projected.view(*projected.shape[:2], h + 2 * g, self.d_head)
        expression = "qkv.view(b, i, n_heads + 2 n_kv_heads, d_head)"
        trace("qkv.view", viewed, f"b i {h + 2 * g} d", expression, inputs=("qkv.project",))
        q, k, v = torch.split(viewed.transpose(1, 2), [h, g, g], dim=1)
        return q, k, v

    def parts(self) -> Parts:
        """Return the rows of q, k and v of the joint matrix, and the output projection."""
        return stacked_parts(self.qkv.weight, self.qkv.bias, self.out)
