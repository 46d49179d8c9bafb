"""The KV cache of a decoder: its size, what it saves, and what goes wrong at another position."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Unpack

import torch
from torch import Tensor

from ..clock import time_calls
from ..errors import HeadlightError
from ..models.generation import Generation, NewToken
from ..models.inputs import Switches
from ..models.model import Model
from ..models.run import Run
from .measures import largest_difference


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
    """The difference of two computations of the same rows.

    Attributes:
        weight: the largest of a weight, over all layers and heads.
        chance: the largest of a probability of the next token.
    """

    weight: float
    chance: float


def row_difference(left: NewToken, right: NewToken) -> RowDifference:
    """Return the differences of two computations of one token."""
    return _difference((left.weights, left.logits), (right.weights, right.logits))


def generation_difference(tokens: Sequence[NewToken], run: Run) -> RowDifference:
    """Return the differences of generated tokens, the last of a text, to one pass over it with all logits.

    Raises:
        HeadlightError: no token, or a run without all logits.
    """
    first = len(run.ids) - len(tokens)
    if not tokens or run.logits is None or len(run.logits) != len(run.ids):
        raise HeadlightError("generated tokens are compared with a run of their whole text, with all_logits=True")
    pairs = [
        _difference((new.weights, new.logits), (run.weights[:, :, row, : row + 1], run.logits[row]))
        for row, new in enumerate(tokens, first)
    ]
    return RowDifference(*map(max, zip(*pairs, strict=True)))


def _difference(left: tuple[Tensor, Tensor], right: tuple[Tensor, Tensor]) -> RowDifference:
    (weights, logits), (other_weights, other_logits) = left, right
    chances, other_chances = (x.double().cpu().softmax(dim=-1) for x in (logits, other_logits))
    weight = largest_difference(weights.cpu(), other_weights.cpu())
    return RowDifference(weight, largest_difference(chances, other_chances))


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
        self._with_cache = Generation(model, ids[:-1], **switches)
        self._without_cache = Generation(model, ids[:-1], use_cache=False, **switches)

    def decode(self, shift: int = 0) -> NewToken:
        """Compute the token alone, `shift` positions further on than its place behind the cached ones."""
        return self._with_cache.peek(self._token, shift)

    def recompute(self, shift: int = 0) -> NewToken:
        """Compute the whole text, all of it `shift` positions further on."""
        return self._without_cache.peek(self._token, shift)

    def time_rounds(self, rounds: int, device: torch.device | str = "cpu") -> Iterator[tuple[str, int, float]]:
        """Time both ways in turn, as "cached" and "uncached"; see `clock.time_calls`."""
        candidates = {"cached": self.decode, "uncached": self.recompute}
        return time_calls(candidates, rounds, warm_up=1, device=device)
