"""One Linear for q, k and v together: the fast form, and the one that the app's models use."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from ..trace import Tracer
from .base import AttentionLayer, Switches, add_once
from .functional import join_heads, mute
from .kernels import weighted_sum
from .weights import Parts, of_stacked

__all__ = ["FusedAttention"]


class FusedAttention(AttentionLayer):
    """softmax(q kᵀ / √d_head) v with one input projection for all three (Vaswani et al. 2017, section 3.2.2).

    It teaches what makes attention fast: x is read once for q, k and v, nothing is copied before the heads are joined,
    and a kernel is chosen for what is asked (see `kernels`). Its maps and gradients can be differentiated once.
    See `AttentionLayer` for arguments, shapes and errors.
    """

    def build(self) -> None:
        # one product three times as wide keeps more of the processor busy than three narrow ones
        self.qkv = nn.Linear(self.d_model, 3 * self.d_model, bias=self.bias)
        self.out = nn.Linear(self.d_model, self.d_model, bias=self.out_bias)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, switches: Switches) -> tuple[Tensor, Tensor | None]:
        trace = switches.trace
        query, key, value = add_once(switches.position, query, key, value)
        trace("x", query, "b i c", "position.add(query)")
        q, k, v = self._project(query, key, value, trace)
        # turned by their positions, q and k have a product that depends on their distance; what v brings stays
        q, k = switches.position.rotate(q, k)
        trace("q", q, "b h i d", "one query a token and head")
        trace("k", k, "b h j d", "one key a token and head")
        trace("v", v, "b h j d", "one value a token and head")

        # softmax(q kᵀ / √d_head + bias) v: √d_head, the mask and the softmax are in the kernel, which may never write
        # the scores down
        dropout = self.dropout if self.training else 0.0
        summed, weights = weighted_sum(q, k, v, switches.position.bias(q, k.shape[2]), switches, dropout)
        mixed = mute(summed, switches.heads)
        trace("mixed", mixed, "b h i d", "weights · v, 0 for a head that is off")

        # the one copy: a token's heads must lie side by side before they can be read as one row
        joined = join_heads(mixed.transpose(1, 2))
        trace("joined", joined, "b i c", "mixed.transpose(1, 2).flatten(2)")
        # Wᵒ is the one place where heads are combined
        out = self.out(joined)
        trace("out", out, "b i c", "joined Wᵒ")
        return out, weights

    def _project(self, query: Tensor, key: Tensor, value: Tensor, trace: Tracer) -> tuple[Tensor, Tensor, Tensor]:
        """-> q (b, h, i, d), k and v (b, h, j, d); one product for all three when they come from one tensor."""
        if key is query and value is query:
            projected = self.qkv(query)
            trace("qkv.project", projected, "b i (3 c)", "x Wqkv")
            # views alone: the numbers of a head lie side by side in a row already, so that splitting copies nothing
            viewed = projected.view(*projected.shape[:2], 3, self.n_heads, self.d_head)
            trace("qkv.view", viewed, "b i 3 h d", "qkv.view(b, i, 3, n_heads, d_head)")
            # the axis of 3 comes first, so that it unpacks into three views
            q, k, v = viewed.permute(2, 0, 3, 1, 4)
            return q, k, v
        # cross-attention: the same rows of the same matrix, each with the tensor that it is for
        weights = self.qkv.weight.chunk(3)
        biases = (None, None, None) if self.qkv.bias is None else self.qkv.bias.chunk(3)
        heads = []
        for name, axis, x, weight, bias in zip("qkv", "ijj", (query, key, value), weights, biases, strict=True):
            projected = F.linear(x, weight, bias)
            trace(f"{name}.project", projected, f"b {axis} c", f"x W{name}")
            viewed = projected.view(*projected.shape[:2], self.n_heads, self.d_head)
            trace(f"{name}.view", viewed, f"b {axis} h d", f"{name}.view(b, {axis}, n_heads, d_head)")
            heads.append(viewed.transpose(1, 2))
        q, k, v = heads
        return q, k, v

    def parts(self) -> Parts:
        return of_stacked(self.qkv.weight, self.qkv.bias, self.out)
