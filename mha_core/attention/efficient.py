"""Separate Linears for q, k and v, cut into heads by view and transpose: the form of most sources."""

import math

from torch import Tensor, nn

from ..trace import Tracer
from .base import AttentionLayer, add_once
from .functional import SCORES, mask_heads, mixing_weights, softmax_over_keys
from .key_value import keys_values
from .switches import Switches
from .weights import Parts, linear_parts


class EfficientAttention(AttentionLayer):
    """Attention of all heads as one batched product each (Vaswani et al. 2017, section 3.2.2).

    It teaches that heads are just a way of indexing the same tensor. The h small matrices of the paper are stacked in
    one (d_model, d_model) Linear; `view` and `transpose` only rename the axes, and a batched product over b and h
    replaces the loop over heads. See `AttentionLayer` for arguments, shapes and errors.
    """

    def build(self) -> None:
        """Create one Linear each for q, k, v and the output."""
        self.query = nn.Linear(self.d_model, self.d_model, bias=self.bias)
        self.key = nn.Linear(self.d_model, self.d_kv, bias=self.bias)
        self.value = nn.Linear(self.d_model, self.d_kv, bias=self.v_bias)
        self.out = nn.Linear(self.d_model, self.d_model, bias=self.out_bias)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, switches: Switches) -> tuple[Tensor, Tensor]:
        """Compute softmax(q kᵀ / √d_head) v with explicit scores and weights."""
        trace = switches.trace
        query, key, value = add_once(switches, query, key, value)
        trace("x", query, "b i c", "position.add(query)")
        q = self._project("q", self.query, query, "i", trace)
        k = self._project("k", self.key, key, "j", trace)
        v = self._project("v", self.value, value, "j", trace)
        q, k = switches.position.rotate(q, k)
        k, v = keys_values(k, v, self.n_heads, self.cache, trace)
        trace("q", q, "b h i d", "one query per token and head", inputs=("q",))
        trace("k", k, "b h j d", "one key per token and head", inputs=("k",))
        trace("v", v, "b h j d", "one value per token and head", inputs=("v",))

        product = q @ k.transpose(2, 3)
        trace("scores.product", product, "b h i j", "q @ k.transpose(2, 3)", inputs=("q", "k"))
        # q · k is a sum of d_head terms, so its spread grows like √d_head. Undivided, the softmax would pick a single
        # key and pass on almost no gradient (section 3.2.1).
        scaled = product / math.sqrt(self.d_head)
        bias = switches.position.bias(q, k.shape[2])
        scores = (scaled if bias is None else scaled + bias) / switches.temperature
        trace("scores", scores, "b h i j", SCORES, inputs=("scores.product",))
        # the mask before the softmax: the remaining weights of each row still sum to 1
        weights = softmax_over_keys(scores, switches.allow, trace)
        # dropout acts on the mixing weights alone: the returned maps stay unchanged
        mixing = mixing_weights(weights, self.drop_rate, switches.ablate.values, trace)
        summed = mixing @ v
        mixed = mask_heads(summed, switches.ablate.heads)
        trace("mixed", mixed, "b h i d", "weights · v, 0 for an ablated head", inputs=("weights", "v"))

        transposed = mixed.transpose(1, 2)
        trace("mixed.transpose", transposed, "b i h d", "mixed.transpose(1, 2)", inputs=("mixed",))
        # transpose moved no number: a token's heads are still far apart in memory. `view` can join h and d only if
        # they are adjacent.
        contiguous = transposed.contiguous()
        trace("mixed.contiguous", contiguous, "b i h d", "mixed.contiguous()", inputs=("mixed",))
        joined = contiguous.view(*query.shape)
        trace("joined", joined, "b i c", "mixed.view(b, i, d_model)", inputs=("mixed",))
        # the heads are independent up to here; Wᵒ is the one place where they are combined
        out = self.out(joined)
        trace("out", out, "b i c", "joined Wᵒ", inputs=("joined",))
        return out, weights

    def _project(self, name: str, linear: nn.Linear, x: Tensor, axis: str, trace: Tracer) -> Tensor:
        """Project (b, n, c) to (b, h, n, d), or (b, g, n, d) with g key/value heads."""
        projected: Tensor = linear(x)
        h, c = ("h", "c") if projected.shape[2] == self.d_model else ("g", "(g d)")
        trace(f"{name}.project", projected, f"b {axis} {c}", f"x W{name}", inputs=(name,))
        # split c, not n: the channels of one head lie side by side, because the rows of its matrix do
        viewed = projected.view(*projected.shape[:2], -1, self.d_head)
        trace(f"{name}.view", viewed, f"b {axis} {h} d", f"{name}.view(b, {axis}, n_heads, d_head)", inputs=(name,))
        # heads before tokens: the product works on the last two axes and takes b and h as a batch
        transposed = viewed.transpose(1, 2)
        trace(f"{name}.transpose", transposed, f"b {h} {axis} d", f"{name}.transpose(1, 2)", inputs=(name,))
        return transposed

    def parts(self) -> Parts:
        """Return the matrices and biases of the four Linears."""
        return linear_parts(q=[self.query], k=[self.key], v=[self.value], o=[self.out])
