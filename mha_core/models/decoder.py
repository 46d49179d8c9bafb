"""A decoder-only transformer in the style of Llama."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..attention import implementation
from ..attention.base import AttentionLayer
from ..positions import Position, Rotary
from .block import BlockSizes
from .stack import Stack

# F.linear calls MKL for float32 on a CPU; oneDNN, which torch ships too, takes 0.5 to 0.75 of its time on AMD
_HAS_ONEDNN: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
_ONEDNN = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if _HAS_ONEDNN else None


def linear(x: Tensor, weight: Tensor) -> Tensor:
    """Multiply (…, c) by (o, c) to (…, o), equal to `F.linear` up to the order of summation."""
    is_for_onednn = x.device.type == "cpu" and x.dtype == torch.float32 and x.numel() > 0
    if _ONEDNN is None or not is_for_onednn or (torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad)):
        return F.linear(x, weight)
    product: Tensor = _ONEDNN(x, weight, None, "none", [], "")
    return product


@dataclass(frozen=True, kw_only=True)
class DecoderConfig(BlockSizes):
    """Sizes of a decoder with Llama's defaults: no biases, pre-norm RMSNorm, SwiGLU, rotary positions.

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
        """Build the positional encoding, with this model's `rope_base` for rotary positions."""
        if self.position == "rotary":
            return Rotary(self.d_model // self.n_heads, self.rope_base)
        return super().encoding(seed)

    def attention_layer(self) -> AttentionLayer:
        """Build the attention of one block, with grouped key and value heads."""
        kind = implementation(self.implementation)
        return kind(self.d_model, self.n_heads, bias=self.bias, out_bias=self.out_bias, n_kv_heads=self.n_kv_heads)

    def norm_layer(self) -> nn.Module:
        """Build one RMSNorm: x / √(mean of x² + eps) with a gain per channel (Zhang and Sennrich 2019)."""
        return nn.RMSNorm(self.d_model, eps=self.eps)

    def network(self) -> list[nn.Module]:
        """Build the SwiGLU network of one block."""
        return [SwiGLU(self.d_model, self.d_feed_forward)]


class SwiGLU(nn.Module):
    """Gated feed-forward network, W↓ (silu(W₁ x) · W₂ x): (…, c) -> (…, c) (Shazeer 2020)."""

    def __init__(self, d_model: int, d_feed_forward: int) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_feed_forward, bias=False)
        self.up = nn.Linear(d_model, d_feed_forward, bias=False)
        self.down = nn.Linear(d_feed_forward, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the network to x (…, c)."""
        gate, up, down = self.gate.weight, self.up.weight, self.down.weight
        return linear(F.silu(linear(x, gate)) * linear(x, up), down)


class Decoder(Stack):
    """Stack with a tied language-model head (Touvron et al. 2023, "LLaMA").

    The blocks add to one residual stream of c channels per token; the last hidden state is that stream before the final
    norm. See `Stack` for passes with maps.
    """

    sizes: DecoderConfig
    own_mask = "causal"

    def __init__(self, sizes: DecoderConfig) -> None:
        super().__init__(sizes)
        self.norm = sizes.norm_layer()

    def next_token(self, x: Tensor) -> Tensor:
        # the head is tied: a token's logit is the dot product of the normed stream with its embedding
        """Return the logits (b, i, v) of the next token at every position."""
        return linear(self.norm(x), self.words.weight)
