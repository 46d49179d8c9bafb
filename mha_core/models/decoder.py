"""A decoder of Llama's kind: it reads a text from left to right, and at every place says what comes next."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..attention import implementation
from ..attention.base import AttentionLayer
from ..positions import Position, Rotary
from .block import BlockSizes
from .stack import Stack

# torch's own linear gives float32 on a CPU to MKL; oneDNN, which is in torch too, takes .5 to .75 of its time on AMD
_IS_THERE: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
_ONEDNN = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if _IS_THERE else None


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
