"""A small causal language model that predicts the next token at every position (Radford et al. 2018)."""

from torch import Tensor, nn

from .. import masks
from .block import BlockSizes
from .stack import Stack


class LanguageModel(Stack):
    """Causal stack with a language-model head. See `Stack` for passes with maps.

    `sizes.max_len` is the length that it was trained on.
    """

    own_mask = "causal"

    def __init__(self, sizes: BlockSizes) -> None:
        super().__init__(sizes)
        self.norm = nn.LayerNorm(sizes.d_model)
        self.out = nn.Linear(sizes.d_model, sizes.vocabulary)

    def logits(self, ids: Tensor) -> Tensor:
        """Return the next-token logits (b, i, v) of ids int64 (b, i)."""
        length = ids.shape[1]
        allow = masks.allow(masks.causal, length, length, device=ids.device)
        return self.next_token(self.without_maps(ids, allow))

    def next_token(self, x: Tensor) -> Tensor:
        """Return the logits (b, i, v) of the next token at every position."""
        logits: Tensor = self.out(self.norm(x))
        return logits
