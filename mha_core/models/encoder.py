"""A BERT-style encoder: summed and normed embeddings, then post-norm blocks (Devlin et al. 2018)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..positions import Position
from .block import BlockSizes
from .stack import Stack


@dataclass(frozen=True)
class EncoderSizes(BlockSizes):
    """Sizes of an encoder, with BERT's choices as defaults."""

    position: str = "learned"
    amplitude: float = 0.02
    residual: bool = True
    norm: bool = True
    norm_after: bool = True
    eps: float = 1e-12


class Encoder(Stack):
    """Stack over normed token, segment and learned position embeddings. See `Stack` for the passes."""

    sizes: EncoderSizes

    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__(sizes)
        self.segment = nn.Parameter(torch.empty(sizes.d_model))
        for weight in (self.words.weight, self.segment):  # as BERT initialises them
            nn.init.trunc_normal_(weight, std=0.02)
        self.norm = nn.LayerNorm(sizes.d_model, eps=sizes.eps)

    def embed(self, ids: Tensor, position: Position) -> Tensor:
        """Return the first hidden state (b, i, c): the normed sum of all embeddings."""
        embedded: Tensor = self.norm(position.add(self.words(ids) + self.segment))
        return embedded
