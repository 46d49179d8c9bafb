"""A small causal language model: every token is asked for the next one, and may look at what came before it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from .. import masks
from ..positions import Position
from .stack import BlockSizes, Stack, embedding

__all__ = ["LanguageModel", "LanguageSizes"]


@dataclass(frozen=True)
class LanguageSizes(BlockSizes):
    """Nothing more than the stack's. `max_len` is the length that it was trained on."""


class LanguageModel(Stack):
    """Token ids to one number for each word of the vocabulary, at every place. See `Stack` for passes with maps.

    Raises:
        Unsupported: the implementation cannot serve the position.
    """

    sizes: LanguageSizes
    own_mask = "causal"

    def __init__(self, sizes: LanguageSizes) -> None:
        super().__init__(sizes)
        self.words = embedding(sizes.vocabulary, sizes.d_model)
        self.position = sizes.encoding()
        self.layers = sizes.blocks()
        self.norm = nn.LayerNorm(sizes.d_model)
        self.out = nn.Linear(sizes.d_model, sizes.vocabulary)

    def embed(self, ids: Tensor, position: Position) -> Tensor:
        return position.add(self.words(ids))

    def logits(self, ids: Tensor) -> Tensor:
        """ids int64 (b, i) -> (b, i, v): at each place the next token."""
        length = ids.shape[1]
        allow = masks.allow(masks.causal, length, length, device=ids.device)
        return self.answer(self.without_maps(ids, allow))

    def answer(self, x: Tensor) -> Tensor:
        """The last hidden state (b, i, c) -> (b, i, v)."""
        logits: Tensor = self.out(self.norm(x))
        return logits
