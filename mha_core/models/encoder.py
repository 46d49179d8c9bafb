"""A BERT-style encoder from scratch on our own attention: embeddings, then post-norm layers (Devlin et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..attention import MultiHeadAttention
from ..attention.base import AttentionLayer
from ..positions import Learned, Position
from ..trace import Tracer, no_trace
from .stack import Stack, embedding

__all__ = ["Encoder", "EncoderLayer", "EncoderSizes"]


@dataclass(frozen=True)
class EncoderSizes:
    """Sizes of an encoder; `eps` is the layer norms' guard against division by 0."""

    vocabulary: int
    d_model: int
    n_heads: int
    n_layers: int
    d_feed_forward: int
    max_len: int
    eps: float = 1e-12


class EncoderLayer(nn.Module):
    """Attention and a feed-forward network, each added to its input and then normalised."""

    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        self.attention: AttentionLayer = MultiHeadAttention(sizes.d_model, sizes.n_heads)
        self.attention_norm = nn.LayerNorm(sizes.d_model, eps=sizes.eps)
        self.expand = nn.Linear(sizes.d_model, sizes.d_feed_forward)
        self.contract = nn.Linear(sizes.d_feed_forward, sizes.d_model)
        self.output_norm = nn.LayerNorm(sizes.d_model, eps=sizes.eps)

    def forward(
        self,
        x: Tensor,
        *,
        allow: Tensor | None = None,
        position: Position | None = None,
        heads: Tensor | None = None,
        temperature: float = 1.0,
        need_weights: bool = True,
        trace: Tracer = no_trace,
        attention: AttentionLayer | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """x (b, i, c) -> x (b, i, c) and weights (b, h, i, j).

        Arguments as in `AttentionLayer.forward`; `attention` takes the place of the layer's own.
        """
        attention = self.attention if attention is None else attention
        mixed, weights = attention(
            x,
            allow=allow,
            position=position,
            heads=heads,
            temperature=temperature,
            need_weights=need_weights,
            trace=trace,
        )
        x = self.attention_norm(mixed + x)
        x = self.output_norm(self.contract(F.gelu(self.expand(x))) + x)
        return x, weights


class Encoder(Stack):
    """Token, segment and learned position embeddings with a norm, then `EncoderLayer`s. See `Stack` for the passes."""

    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__(sizes)
        self.words = embedding(sizes.vocabulary, sizes.d_model)
        self.segment = nn.Parameter(torch.empty(sizes.d_model))
        for weight in (self.words.weight, self.segment):  # BERT's law
            nn.init.trunc_normal_(weight, std=0.02)
        self.position: Position = Learned(sizes.d_model, sizes.max_len)
        self.norm = nn.LayerNorm(sizes.d_model, eps=sizes.eps)
        self.layers = nn.ModuleList(EncoderLayer(sizes) for _ in range(sizes.n_layers))

    def embed(self, ids: Tensor, position: Position) -> Tensor:
        embedded: Tensor = self.norm(position.add(self.words(ids) + self.segment))
        return embedded
