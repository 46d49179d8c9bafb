"""The fused kernel of torch, F.scaled_dot_product_attention. It never builds the weights, so it has no maps."""

from torch import Tensor, nn

from ..trace import no_trace, second_pass
from .base import AttentionLayer, add_once
from .functional import join_heads, mask_heads, mixing_weights, split_heads
from .kernels import explicit_weights, sdpa_kernel
from .key_value import keys_values
from .switches import Switches
from .weights import Parts, linear_parts


class SdpaAttention(AttentionLayer):
    """Attention by a kernel that never stores the (i, j) weights (Dao et al. 2022, "FlashAttention").

    It teaches the price of a map. The kernel walks over blocks of keys with a running softmax, so that memory grows
    with i + j instead of i · j. Requested maps come from a second, explicit pass, and so do the steps scores, masked
    and weights of a trace; the output comes from the kernel unless values are ablated. See `AttentionLayer` for
    arguments, shapes and errors.
    """

    def build(self) -> None:
        """Create one Linear each for q, k, v and the output."""
        self.query = nn.Linear(self.d_model, self.d_model, bias=self.bias)
        self.key = nn.Linear(self.d_model, self.d_kv, bias=self.bias)
        self.value = nn.Linear(self.d_model, self.d_kv, bias=self.v_bias)
        self.out = nn.Linear(self.d_model, self.d_model, bias=self.out_bias)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, switches: Switches) -> tuple[Tensor, Tensor | None]:
        """Compute the output with torch's kernel, and maps in a second pass if needed."""
        trace = switches.trace
        heads, values = switches.ablate
        query, key, value = add_once(switches, query, key, value)
        trace("x", query, "b i c", "position.add(query)")
        q = split_heads(self.query(query), self.n_heads).transpose(1, 2)
        k = split_heads(self.key(key), self.n_kv_heads).transpose(1, 2)
        v = split_heads(self.value(value), self.n_kv_heads).transpose(1, 2)
        # an encoding can act only in front of the kernel, by rotation, or through the kernel's mask, as a bias
        q, k = switches.position.rotate(q, k)
        k, v = keys_values(k, v, self.n_heads, self.cache, trace)
        trace("q", q, "b h i d", "one query per token and head", inputs=("q",))
        trace("k", k, "b h j d", "one key per token and head", inputs=("k",))
        trace("v", v, "b h j d", "one value per token and head", inputs=("v",))

        # the kernel adds the bias after scaling, so it is divided by the temperature here
        bias = switches.position.bias(q, k.shape[2])
        divided_bias = None if bias is None else bias / switches.temperature
        # a second pass for the maps alone, which the kernel does not return
        second = switches._replace(trace=second_pass(trace))
        needs_maps = switches.need_weights or trace is not no_trace or values is not None
        weights = explicit_weights(q, k, divided_bias, second) if needs_maps else None
        if weights is None or values is None:
            expression, inputs = "F.scaled_dot_product_attention(q, k, v, …)", ["q", "k", "v"]
            summed = sdpa_kernel(q, k, v, divided_bias, switches, self.drop_rate)
        else:
            # values are ablated between softmax and sum, where the kernel offers no hook
            expression, inputs = "weights · v", ["weights", "v"]
            summed = mixing_weights(weights, self.drop_rate, values, second.trace) @ v
        mixed = mask_heads(summed, heads)
        trace("mixed", mixed, "b h i d", f"{expression}, 0 for an ablated head", tuple(inputs))

        # a token's heads must be adjacent before they can be read as one row
        joined = join_heads(mixed.transpose(1, 2))
        trace("joined", joined, "b i c", "mixed.transpose(1, 2).flatten(2)", inputs=("mixed",))
        # Wᵒ is the one place where heads are combined
        out = self.out(joined)
        trace("out", out, "b i c", "joined Wᵒ", inputs=("joined",))
        return out, weights

    def parts(self) -> Parts:
        """Return the matrices and biases of the four Linears."""
        return linear_parts(q=[self.query], k=[self.key], v=[self.value], o=[self.out])
