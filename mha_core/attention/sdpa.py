"""torch's fused kernel, F.scaled_dot_product_attention. It never builds the weights, so it has no maps to show."""

from torch import Tensor, nn

from ..trace import no_trace, second_pass
from .base import AttentionLayer, add_once
from .functional import join_heads, mask_heads, mixing_weights, split_heads
from .kernels import explicit_weights, without_maps
from .key_value import keys_values
from .switches import Switches
from .weights import Parts, of_linears


class SdpaAttention(AttentionLayer):
    """softmax(q kᵀ / √d_head) v by a kernel that never writes the (i, j) weights (Dao et al. 2022, "FlashAttention").

    It teaches the price of a map. The kernel walks over blocks of keys with a running softmax, so that memory grows
    with i + j instead of i · j; the result comes from it wherever every value is mixed. Maps, when asked for, are
    made in a second, explicit pass beside it, and so are the steps scores, masked and weights of a trace. See
    `AttentionLayer` for arguments, shapes and errors.
    """

    def build(self) -> None:
        self.query = nn.Linear(self.d_model, self.d_model, bias=self.bias)
        self.key = nn.Linear(self.d_model, self.d_kv, bias=self.bias)
        self.value = nn.Linear(self.d_model, self.d_kv, bias=self.v_bias)
        self.out = nn.Linear(self.d_model, self.d_model, bias=self.out_bias)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, switches: Switches) -> tuple[Tensor, Tensor | None]:
        trace = switches.trace
        heads, values = switches.ablate
        query, key, value = add_once(switches, query, key, value)
        trace("x", query, "b i c", "position.add(query)")
        q = split_heads(self.query(query), self.n_heads).transpose(1, 2)
        k = split_heads(self.key(key), self.n_kv_heads).transpose(1, 2)
        v = split_heads(self.value(value), self.n_kv_heads).transpose(1, 2)
        # rotation before the kernel, the bias through its mask: only so can an encoding act in there
        q, k = switches.position.rotate(q, k)
        k, v = keys_values(k, v, self.n_heads, self.cache, trace)
        trace("q", q, "b h i d", "one query a token and head", of=("q",))
        trace("k", k, "b h j d", "one key a token and head", of=("k",))
        trace("v", v, "b h j d", "one value a token and head", of=("v",))

        # the kernel adds it to scores that are divided already, so it comes divided too
        bias = switches.position.bias(q, k.shape[2])
        divided_bias = None if bias is None else bias / switches.temperature
        # √d_head, mask and softmax once more, for the maps alone: the kernel has none to give
        beside = switches._replace(trace=second_pass(trace))
        wanted = switches.need_weights or trace is not no_trace or values is not None
        weights = explicit_weights(q, k, divided_bias, beside) if wanted else None
        if weights is None or values is None:
            how, of = "F.scaled_dot_product_attention(q, k, v, …)", ["q", "k", "v"]
            summed = without_maps(q, k, v, divided_bias, switches, self.drop_rate)
        else:
            # the kernel has no door between its softmax and its sum
            how, of = "weights · v", ["weights", "v"]
            summed = mixing_weights(weights, self.drop_rate, values, beside.trace) @ v
        mixed = mask_heads(summed, heads)
        trace("mixed", mixed, "b h i d", f"{how}, 0 for a head that is off", tuple(of))

        # a token's heads must lie side by side before they can be read as one row
        joined = join_heads(mixed.transpose(1, 2))
        trace("joined", joined, "b i c", "mixed.transpose(1, 2).flatten(2)", of=("mixed",))
        # Wᵒ is the one place where heads are combined
        out = self.out(joined)
        trace("out", out, "b i c", "joined Wᵒ", of=("joined",))
        return out, weights

    def parts(self) -> Parts:
        return of_linears(q=[self.query], k=[self.key], v=[self.value], o=[self.out])
