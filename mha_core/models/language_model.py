"""A small causal language model: at every place it predicts the next token from those before (Radford et al. 2018)."""

from dataclasses import dataclass

from torch import Tensor, nn

from .. import masks
from ..positions import Position
from .block import BlockSizes
from .stack import Stack


@dataclass(frozen=True)
class LanguageSizes(BlockSizes):
    """Sizes of a language model. `max_len` is the length that it was trained on."""


class LanguageModel(Stack):
    """Token ids to one number for each word of the vocabulary, at every place. See `Stack` for passes with maps."""

    sizes: LanguageSizes
    own_mask = "causal"

    def __init__(self, sizes: LanguageSizes) -> None:
        super().__init__(sizes)
        self.norm = nn.LayerNorm(sizes.d_model)
        self.out = nn.Linear(sizes.d_model, sizes.vocabulary)

    def embed(self, ids: Tensor, position: Position) -> Tensor:
        return position.add(self.words(ids))

    def logits(self, ids: Tensor) -> Tensor:
        """ids int64 (b, i) -> (b, i, v): at each place the next token."""
        length = ids.shape[1]
        allow = masks.allow(masks.causal, length, length, device=ids.device)
        return self.answer(self.without_maps(ids, allow))

    def next_token(self, x: Tensor) -> Tensor:
        return self.answer(x)

    def answer(self, x: Tensor) -> Tensor:
        """The last hidden state (b, i, c) -> (b, i, v)."""
        logits: Tensor = self.out(self.norm(x))
        return logits
