"""One Linear for q, k and v together: the fast form, and the one that the app's models use."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..trace import Tracer
from .base import AttentionLayer, add_once
from .functional import join_heads, mask_heads
from .kernels import weighted_sum
from .key_value import keys_values
from .switches import Switches
from .weights import Parts, of_stacked, split_stacked


class FusedAttention(AttentionLayer):
    """softmax(q kᵀ / √d_head) v with one input projection for all three (Vaswani et al. 2017, section 3.2.2).

    It teaches what makes attention fast: x is read once for q, k and v, nothing is copied before the heads are joined,
    and a kernel is chosen for what is asked (see `kernels`). Its maps and gradients can be differentiated once.
    See `AttentionLayer` for arguments, shapes and errors.
    """

    one_matrix = True

    def build(self) -> None:
        # one wide product keeps more of the processor busy than three narrow ones
        self.qkv = nn.Linear(self.d_model, self.d_model + 2 * self.d_kv, bias=self.bias)
        self.out = nn.Linear(self.d_model, self.d_model, bias=self.out_bias)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, switches: Switches) -> tuple[Tensor, Tensor | None]:
        trace = switches.trace
        query, key, value = add_once(switches, query, key, value)
        trace("x", query, "b i c", "position.add(query)")
        q, k, v = self._project(query, key, value, trace)
        # turned by their positions, q and k have a product that depends on their distance; what v brings stays
        q, k = switches.position.rotate(q, k)
        k, v = keys_values(k, v, self.n_heads, self.cache, trace)
        trace("q", q, "b h i d", "one query a token and head", of=("q",))
        trace("k", k, "b h j d", "one key a token and head", of=("k",))
        trace("v", v, "b h j d", "one value a token and head", of=("v",))

        # softmax(q kᵀ / √d_head + bias) v: √d_head, the mask and the softmax are in the kernel, which may never write
        # the scores down
        summed, weights = weighted_sum(q, k, v, switches.position.bias(q, k.shape[2]), switches, self.drop_rate)
        mixed = mask_heads(summed, switches.ablate.heads)
        trace("mixed", mixed, "b h i d", "weights · v, 0 for a head that is off", of=("weights", "v"))

        # the one copy: a token's heads must lie side by side before they can be read as one row
        joined = join_heads(mixed.transpose(1, 2))
        trace("joined", joined, "b i c", "mixed.transpose(1, 2).flatten(2)", of=("mixed",))
        # Wᵒ is the one place where heads are combined
        out = self.out(joined)
        trace("out", out, "b i c", "joined Wᵒ", of=("joined",))
        return out, weights

    def _project(self, query: Tensor, key: Tensor, value: Tensor, trace: Tracer) -> tuple[Tensor, Tensor, Tensor]:
        """-> q (b, h, i, d), k and v (b, g, j, d); one product for all three when they come from one tensor."""
        if key is query and value is query:
            projected = self.qkv(query)
            if self.n_kv_heads < self.n_heads:
                return self._split_unequally(projected, trace)
            trace("qkv.project", projected, "b i (3 c)", "x Wqkv", of=("x",))
            # views alone: the numbers of a head lie side by side in a row already, so that splitting copies nothing
            viewed = projected.view(*projected.shape[:2], 3, self.n_heads, self.d_head)
            trace("qkv.view", viewed, "b i 3 h d", "qkv.view(b, i, 3, n_heads, d_head)", of=("qkv.project",))
            # the axis of 3 comes first, so that it unpacks into three views
            q, k, v = viewed.permute(2, 0, 3, 1, 4)
            return q, k, v
        # cross-attention: the same rows of the same matrix, each with the tensor that it is for
        weights = split_stacked(self.qkv.weight, self.d_model)
        biases = (None,) * 3 if self.qkv.bias is None else split_stacked(self.qkv.bias, self.d_model)
        heads = []
        for name, axis, x, weight, bias in zip("qkv", "ijj", (query, key, value), weights, biases, strict=True):
            projected = F.linear(x, weight, bias)
            h, c = ("h", "c") if len(weight) == self.d_model else ("g", "(g d)")
            trace(f"{name}.project", projected, f"b {axis} {c}", f"x W{name}", of=(name,))
            viewed = projected.view(*projected.shape[:2], -1, self.d_head)
            trace(f"{name}.view", viewed, f"b {axis} {h} d", f"{name}.view(b, {axis}, n_heads, d_head)", of=(name,))
            heads.append(viewed.transpose(1, 2))
        q, k, v = heads
        return q, k, v

    def _split_unequally(self, projected: Tensor, trace: Tracer) -> tuple[Tensor, Tensor, Tensor]:
        """(b, i, c + 2 g d) -> q (b, h, i, d), k and v (b, g, i, d), views: a row holds h queries, g keys, g values."""
        h, g = self.n_heads, self.n_kv_heads
        trace("qkv.project", projected, f"b i ({h + 2 * g} d)", "x Wqkv", of=("x",))
        viewed = projected.view(*projected.shape[:2], h + 2 * g, self.d_head)
        how = "qkv.view(b, i, n_heads + 2 n_kv_heads, d_head)"
        trace("qkv.view", viewed, f"b i {h + 2 * g} d", how, of=("qkv.project",))
        q, k, v = torch.split(viewed.transpose(1, 2), [h, g, g], dim=1)
        return q, k, v

    def parts(self) -> Parts:
        return of_stacked(self.qkv.weight, self.qkv.bias, self.out)
