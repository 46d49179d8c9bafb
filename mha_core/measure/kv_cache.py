"""The KV cache of a decoder: its size, what it saves, and what goes wrong at another position."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Unpack

import torch

from ..clock import time_calls
from ..errors import HeadlightError
from ..models.generation import Generation, NewToken
from ..models.inputs import Switches
from ..models.model import Model


def cache_bytes(n_layers: int, n_kv_heads: int, d_head: int, tokens: int, bytes_per_number: int) -> int:
    """Return the size of a KV cache: a key and a value per layer, key/value head and token.

    Raises:
        HeadlightError: a size is below 1.
    """
    sizes = (n_layers, n_kv_heads, d_head, tokens, bytes_per_number)
    if min(sizes) < 1:
        raise HeadlightError(f"the sizes of a cache are whole numbers from 1, not {', '.join(map(str, sizes))}")
    return 2 * math.prod(sizes)


class RowDifference(NamedTuple):
    """The difference of two rows of the same token.

    Attributes:
        weights: the largest of a weight, over all layers and heads.
        chance: the largest of a probability of the next token.
    """

    weights: float
    chance: float


def row_difference(left: NewToken, right: NewToken) -> RowDifference:
    """Return the largest differences of two computations of one token."""
    chances = [new.logits.double().softmax(dim=-1) for new in (left, right)]
    pairs = ((left.weights, right.weights), chances)
    return RowDifference(*(float((a - b).abs().max()) for a, b in pairs))


class LastToken:
    """The last token of a text, computed with a KV cache of the tokens before it, or with the whole text.

    Args:
        model: one that predicts the next token.
        ids: of the text, at least two.
        switches: as in `Model.run`.

    Raises:
        HeadlightError: as in `Generation`, or a text of one token.
    """

    def __init__(self, model: Model, ids: Sequence[int], **switches: Unpack[Switches]) -> None:
        if len(ids) < 2:
            raise HeadlightError("a cache needs a token before the last one; type at least one word more")
        self._token = ids[-1]
        self._with, self._without = (
            Generation(model, ids[:-1], use_cache=use_cache, **switches) for use_cache in (True, False)
        )

    def cached(self, shift: int = 0) -> NewToken:
        """Compute the token alone, `shift` positions further on than its place behind the cached ones."""
        return self._with.peek(self._token, shift)

    def whole(self, shift: int = 0) -> NewToken:
        """Compute the whole text, all of it `shift` positions further on."""
        return self._without.peek(self._token, shift)

    def difference(self, shift: int = 0) -> RowDifference:
        """Return how far the cached keys and values lead astray when reused `shift` positions further on."""
        return row_difference(self.cached(shift), self.whole(shift))

    def times(self, rounds: int, device: torch.device | str = "cpu") -> Iterator[tuple[str, int, float]]:
        """Time both ways in turn, as "cached" and "whole"; see `clock.time_calls`."""
        return time_calls({"cached": self.cached, "whole": self.whole}, rounds, device=device)
