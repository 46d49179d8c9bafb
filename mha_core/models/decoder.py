"""A decoder of Llama's kind: it reads a text from left to right, and at every place says what comes next."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..attention import implementation
from ..attention.base import AttentionLayer
from ..errors import WeightsFileError
from ..positions import Position, Rotary
from .block import BlockSizes
from .stack import Stack

# torch's own linear gives float32 on a CPU to MKL; oneDNN, which is in torch too, takes .5 to .75 of its time on AMD
_IS_THERE: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
_ONEDNN = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if _IS_THERE else None

LAYER_NAMES = {  # ours -> transformers', of one layer; q, k and v are joined beside them
    "attention_norm.weight": "input_layernorm.weight",
    "attention.out.weight": "self_attn.o_proj.weight",
    "feed_forward.0.weight": "post_attention_layernorm.weight",
    "feed_forward.1.gate.weight": "mlp.gate_proj.weight",
    "feed_forward.1.up.weight": "mlp.up_proj.weight",
    "feed_forward.1.down.weight": "mlp.down_proj.weight",
}


def linear(x: Tensor, weight: Tensor) -> Tensor:
    """(…, c) times (o, c) -> (…, o), as `F.linear`; equal to it but for the order in which each sum is taken."""
    is_for_onednn = x.device.type == "cpu" and x.dtype == torch.float32 and x.numel() > 0
    if _ONEDNN is None or not is_for_onednn or (torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad)):
        return F.linear(x, weight)
    product: Tensor = _ONEDNN(x, weight, None, "none", [], "")
    return product


@dataclass(frozen=True, kw_only=True)
class DecoderConfig(BlockSizes):
    """Sizes of a decoder, with Llama's choices as defaults: no biases, RMSNorm before each part, SwiGLU, rotation.

    Attributes:
        n_kv_heads: key and value heads, a divisor of n_heads; each serves n_heads / n_kv_heads query heads.
        rope_base: the base of the rotary positions.
    """

    n_kv_heads: int
    rope_base: float = 10000.0
    position: str = "rotary"
    residual: bool = True
    norm: bool = True
    bias: bool = False

    def encoding(self, seed: int | None = None) -> Position:
        if self.position == "rotary":
            return Rotary(self.d_model // self.n_heads, self.rope_base)
        return super().encoding(seed)

    def attention_layer(self) -> AttentionLayer:
        kind = implementation(self.implementation)
        return kind(self.d_model, self.n_heads, bias=self.bias, out_bias=self.out_bias, n_kv_heads=self.n_kv_heads)

    def norm_layer(self) -> nn.Module:
        """x / √(mean of x² + eps), with a gain a channel and no mean taken off (Zhang and Sennrich 2019, "RMSNorm")."""
        return nn.RMSNorm(self.d_model, eps=self.eps)

    def network(self) -> list[nn.Module]:
        return [SwiGLU(self.d_model, self.d_feed_forward)]


class SwiGLU(nn.Module):
    """W↓ (silu(W₁ x) · W₂ x), (…, c) -> (…, c): one half of the network opens and shuts the other (Shazeer 2020)."""

    def __init__(self, d_model: int, d_feed_forward: int) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_feed_forward, bias=False)
        self.up = nn.Linear(d_model, d_feed_forward, bias=False)
        self.down = nn.Linear(d_feed_forward, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, up, down = self.gate.weight, self.up.weight, self.down.weight
        return linear(F.silu(linear(x, gate)) * linear(x, up), down)


class Decoder(Stack):
    """Token ids to one number for each word of the vocabulary, at every place (Touvron et al. 2023, "LLaMA").

    The blocks add to one stream of c channels a token; the last hidden state is that stream, before the norm that the
    head begins with. See `Stack` for passes with maps.
    """

    sizes: DecoderConfig
    own_mask = "causal"

    def __init__(self, sizes: DecoderConfig) -> None:
        super().__init__(sizes)
        self.norm = sizes.norm_layer()

    def next_token(self, x: Tensor) -> Tensor:
        # the head is tied: a word is as likely as the stream, normed, points the way of its own embedding
        return linear(self.norm(x), self.words.weight)


def from_llama(config: DecoderConfig, tensors: Mapping[str, Tensor], dtype: torch.dtype = torch.float32) -> Decoder:
    """A decoder around the weights of a Llama, in eval mode, without gradients, on the tensors' device.

    The tensors become its parameters as they are: nothing is drawn at random first, and a tensor that is in `dtype`
    already is not copied, so that it may lie in a mapped file. q, k and v of a layer are joined to one matrix, which
    copies them, unless `self_attn.qkv_proj.weight` brings them joined; the caller lets go of `tensors` afterwards.

    Args:
        config: `DecoderConfig(vocabulary=…, d_model=…, n_heads=…, n_layers=…, max_len=…, d_feed_forward=…,
            n_kv_heads=…, rope_base=…, eps=…)`; max_len is the most tokens that a text may have.
        tensors: by transformers' names, (out, in) as there, with q and k rows in transformers' order (half-split
            rotation), with c = d_model, g = n_kv_heads, d = c / n_heads, f = d_feed_forward:
            `model.embed_tokens.weight` (vocabulary, c), which is the head too; `model.norm.weight` (c,); and for each
            layer `model.layers.0.` + `input_layernorm.weight` (c,), `self_attn.q_proj.weight` (c, c),
            `self_attn.k_proj.weight` and `self_attn.v_proj.weight` (g·d, c), or instead of the three
            `self_attn.qkv_proj.weight` (c + 2·g·d, c), the rows of q, k, v one under the other;
            `self_attn.o_proj.weight` (c, c), `post_attention_layernorm.weight` (c,), `mlp.gate_proj.weight` and
            `mlp.up_proj.weight` (f, c), `mlp.down_proj.weight` (c, f).
        dtype: the weights are cast to it.

    Raises:
        WeightsFileError: a tensor is missing, has another shape, or is not known.
    """
    with torch.device("meta"):  # no random numbers for weights that are replaced at once
        decoder = Decoder(replace(config, implementation="fused"))
    state, unknown = _canonical(config, tensors)
    if unknown:
        raise WeightsFileError(f"this decoder has no place for {', '.join(unknown[:3])} ({len(unknown)} in all)")
    try:
        decoder.load_state_dict({name: tensor.to(dtype) for name, tensor in state.items()}, assign=True)
    except RuntimeError as error:
        raise WeightsFileError(f"the tensors do not fit this decoder: {error}") from error
    decoder.eval().requires_grad_(False)
    return decoder if config.implementation == "fused" else decoder.as_implementation(config.implementation)


def _canonical(config: DecoderConfig, tensors: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
    """Transformers' names -> ours, and the names that nothing is known of."""
    used: set[str] = set()

    def take(name: str) -> Tensor:
        used.add(name)
        if name not in tensors:
            raise WeightsFileError(f"the tensor {name} is missing")
        return tensors[name]

    state = {"words.weight": take("model.embed_tokens.weight"), "norm.weight": take("model.norm.weight")}
    for number in range(config.n_layers):
        ours, theirs = f"layers.{number}.", f"model.layers.{number}."
        joined = f"{theirs}self_attn.qkv_proj.weight"
        if joined in tensors:
            qkv = take(joined)
        else:
            qkv = torch.cat([take(f"{theirs}self_attn.{part}_proj.weight") for part in "qkv"])
        state[f"{ours}attention.qkv.weight"] = qkv
        state |= {ours + own: take(theirs + name) for own, name in LAYER_NAMES.items()}
    # a head that is tied may be written down once more, under its own name
    return state, sorted(set(tensors) - used - {"lm_head.weight"})
