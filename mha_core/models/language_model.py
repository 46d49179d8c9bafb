"""A small causal language model: at every place it predicts the next token from those before (Radford et al. 2018)."""

from torch import Tensor, nn

from .. import masks
from .block import BlockSizes
from .stack import Stack


class LanguageModel(Stack):
    """Token ids to one number for each word of the vocabulary, at every place. See `Stack` for passes with maps.

    `max_len` of its sizes is the length that it was trained on.
    """

    own_mask = "causal"

    def __init__(self, sizes: BlockSizes) -> None:
        super().__init__(sizes)
        self.norm = nn.LayerNorm(sizes.d_model)
        self.out = nn.Linear(sizes.d_model, sizes.vocabulary)

    def logits(self, ids: Tensor) -> Tensor:
        """ids int64 (b, i) -> (b, i, v): at each place the next token."""
        length = ids.shape[1]
        allow = masks.allow(masks.causal, length, length, device=ids.device)
        return self.next_token(self.without_maps(ids, allow))

    def next_token(self, x: Tensor) -> Tensor:
        logits: Tensor = self.out(self.norm(x))
        return logits
