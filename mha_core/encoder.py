"""A BERT-style encoder from scratch on our own attention: embeddings, then post-norm layers (Devlin et al. 2018)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .attention import MultiHeadAttention
from .attention.base import AttentionLayer
from .positions import InLayers, Learned, Position
from .trace import Tracer, no_trace

__all__ = ["Encoder", "EncoderLayer", "EncoderSizes"]

TOKENS_AT_ONCE = 1024  # beyond, a batch over heads is no faster and its maps grow large


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
        trace: Tracer = no_trace,
        attention: AttentionLayer | None = None,
    ) -> tuple[Tensor, Tensor]:
        """x (b, i, c) -> x (b, i, c) and weights (b, h, i, j).

        Arguments as in `AttentionLayer.forward`; `attention` takes the place of the layer's own.
        """
        attention = self.attention if attention is None else attention
        mixed, weights = attention(x, allow=allow, position=position, heads=heads, temperature=temperature, trace=trace)
        x = self.attention_norm(mixed + x)
        x = self.output_norm(self.contract(F.gelu(self.expand(x))) + x)
        return x, weights


class Encoder(nn.Module):
    """Token embeddings, one positional encoding and a stack of layers. `position` is the one it was trained with."""

    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        self.sizes = sizes
        # BERT's law, a truncated normal; nn.Embedding's own, on the meta device, would import torch's compiler (70 MB)
        table = torch.empty(sizes.vocabulary, sizes.d_model)
        self.words: nn.Embedding = nn.Embedding.from_pretrained(table, freeze=False)  # type: ignore[no-untyped-call]
        self.segment = nn.Parameter(torch.empty(sizes.d_model))
        for weight in (self.words.weight, self.segment):
            nn.init.trunc_normal_(weight, std=0.02)
        self.position: Position = Learned(sizes.d_model, sizes.max_len)
        self.norm = nn.LayerNorm(sizes.d_model, eps=sizes.eps)
        self.layers = nn.ModuleList(EncoderLayer(sizes) for _ in range(sizes.n_layers))

    def forward(
        self,
        ids: Tensor,
        *,
        allow: Tensor | None = None,
        position: Position | None = None,
        heads: Tensor | None = None,
        temperature: float = 1.0,
        trace_layer: int | None = None,
        trace: Tracer = no_trace,
        attention: AttentionLayer | None = None,
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Runs token ids through all layers.

        Args:
            ids: int64 (b, i).
            allow: one mask for every layer, as in `AttentionLayer.forward`.
            position: used instead of the trained encoding.
            heads: bool (layers, h), False switches that head off.
            temperature: of every softmax.
            trace_layer, trace: the layer whose steps are recorded.
            attention: takes the place of that layer's own.

        Returns:
            hidden: layers + 1 tensors (b, i, c), the first the embeddings after their norm.
            weights: one (b, h, i, j) a layer.
        """
        position = self.position if position is None else position
        x = self.norm(position.add(self.words(ids) + self.segment))
        hidden, weights = [x], []
        within = InLayers(position)
        for number, layer in enumerate(self.layers):
            traced = number == trace_layer
            on = None if heads is None or bool(heads[number].all()) else heads[number]
            x, maps = layer(
                x,
                allow=allow,
                position=within,
                heads=on,
                temperature=temperature,
                trace=trace if traced else no_trace,
                attention=attention if traced else None,
            )
            hidden.append(x)
            weights.append(maps)
        return hidden, weights

    def without_each_head(
        self,
        ids: Tensor,
        *,
        allow: Tensor | None = None,
        position: Position | None = None,
        heads: Tensor | None = None,
        temperature: float = 1.0,
        told: Callable[[float], object] = lambda done: None,
    ) -> Tensor:
        """The mean of the last hidden state with one head more off, for each head alone: (layers, h, c).

        What lies before a head's layer is computed once, what lies behind it for several heads at once.

        Args:
            ids: int64 (1, i).
            allow, position, heads, temperature: as in `forward`.
            told: hears how much is done, 0 to 1.
        """
        position = self.position if position is None else position
        given: dict[str, Any] = {"allow": allow, "position": InLayers(position), "temperature": temperature}
        every, h = len(self.layers), self.sizes.n_heads
        on = torch.ones(every, h, dtype=torch.bool, device=ids.device) if heads is None else heads
        entering, _ = self(ids, allow=allow, position=position, heads=heads, temperature=temperature)
        at_once = max(1, TOKENS_AT_ONCE // ids.shape[1])
        means = []
        for number, layer in enumerate(self.layers):
            alone = on[number] & ~torch.eye(h, dtype=torch.bool, device=ids.device)
            for group in torch.split(alone, at_once):
                x = torch.cat([layer(entering[number], heads=row, **given)[0] for row in group])
                for later in range(number + 1, every):
                    x, _ = self.layers[later](x, heads=None if heads is None else on[later], **given)
                means.append(x.mean(dim=1))
                told(sum(map(len, means)) / (every * h))
        return torch.cat(means).view(every, h, -1)
