"""The KV cache of a decoder: its size, what it saves, and what goes wrong at another position."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Unpack

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
    """The largest difference of a weight, over all layers and heads, and of a probability of the next token."""

    weight: float
    chance: float


def row_difference(left: NewToken, right: NewToken) -> RowDifference:
    """Return the differences of two computations of one token."""
    chances = (new.logits.double().softmax(dim=-1) for new in (left, right))
    return RowDifference(largest_difference(left.weights, right.weights), largest_difference(*chances))


def generation_difference(new: Sequence[NewToken], run: Run) -> RowDifference:
    """Return the largest differences of the last tokens of a text to a run of it with `all_logits`."""
    logits, rows = run.logits, range(len(run.ids) - len(new), len(run.ids))
    if not new or logits is None or len(logits) < len(run.ids):
        raise HeadlightError("generated tokens are compared with a run of their whole text, with all_logits=True")
    whole_text = (NewToken("", 0, run.weights[:, :, i, : i + 1], run.hidden[:, i], logits[i]) for i in rows)
    pairs = zip(new, whole_text, strict=True)
    return RowDifference(*map(max, zip(*(row_difference(*pair) for pair in pairs), strict=True)))


def reuse(model: Model, ids: Sequence[int], shift: int, **switches: Unpack[Switches]) -> tuple[NewToken, NewToken]:
    """Compute the last token with the whole text `shift` positions further on, and with a cache from before that.

    Raises:
        HeadlightError: a text of one token, or as in `Generation.recompute`.
    """
    if len(ids) < 2:
        raise HeadlightError("a cache needs a token before the last one; type at least one word more")
    right, reused = (Generation(model, ids, use_cache=cached, **switches) for cached in (False, True))
    return right.recompute(shift), reused.recompute(shift)


def time_steps(
    model: Model, ids: Sequence[int], rounds: int, **switches: Unpack[Switches]
) -> Iterator[tuple[str, int, float]]:
    """Time the last token of a text with the others "cached" and "uncached" in turn, see `clock.time_calls`."""
    names = {"cached": True, "uncached": False}
    calls = {name: Generation(model, ids, use_cache=cached, **switches).recompute for name, cached in names.items()}
    return time_calls(calls, rounds, warm_up=1, device=model.device)
