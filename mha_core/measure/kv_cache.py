"""The KV cache of a decoder: its size, what it saves, and what goes wrong at another position."""

import math
from collections.abc import Sequence
from typing import NamedTuple, Unpack

from ..errors import HeadlightError
from ..models.generation import Generation, NewToken
from ..models.inputs import Switches
from ..models.model import Model
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
    """The largest difference of a weight, over all layers and heads, and of a probability of the next token."""

    weight: float
    chance: float


def row_difference(left: NewToken, right: NewToken) -> RowDifference:
    """Return the differences of two computations of one token."""
    chances = (new.logits.double().softmax(dim=-1) for new in (left, right))
    return RowDifference(largest_difference(left.weights, right.weights), largest_difference(*chances))


def reuse(model: Model, ids: Sequence[int], shift: int, **switches: Unpack[Switches]) -> tuple[NewToken, NewToken]:
    """Compute the last token with the whole text `shift` positions further on, and with a cache from before that.

    Raises:
        HeadlightError: a text of one token, or as in `Generation.recompute`.
    """
    if len(ids) < 2:
        raise HeadlightError("a cache needs a token before the last one; type at least one word more")
    right, reused = (Generation(model, ids, use_cache=cached, **switches) for cached in (False, True))
    return right.recompute(shift), reused.recompute(shift)
