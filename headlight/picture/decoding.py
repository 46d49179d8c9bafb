"""Greedy generation with a KV cache, what the cache changes, and what happens at another position; all cached."""

import time
from typing import Any, NamedTuple

from cachetools import LRUCache

from headlight.link.limits import MAX_TOKENS
from headlight.queue.executor import yield_and_check_cancelled
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from mha_core import Model
from mha_core.errors import Unsupported
from mha_core.measure import kv_cache
from mha_core.measure.kv_cache import RowDifference, row_difference
from mha_core.models.generation import Generation, NewToken

from . import pictures
from .settings import Settings

STEPS = 12  # tokens that are generated, fewer near the end of the model's positions
CACHE_BYTES = 64 * 2**20  # SmolLM2 with 512 tokens takes 34 MiB
SECONDS = 1.0  # after which the tokens are not computed without a cache as well
NO_CACHE = "This model has no KV cache: it reads the whole text at once and generates no token"


class Decoding(NamedTuple):
    """A text with the tokens generated behind it, and what computing them without a cache as well has shown."""

    generation: Generation  # not to be continued
    new: list[NewToken]
    difference: RowDifference  # the largest; 0 if no token fits
    seconds: list[tuple[float, float]]  # of each token that was computed both ways, with a cache and without

    @property
    def nbytes(self) -> int:
        """Memory that caching it costs."""
        parts = [part for token in self.new for part in (token.weights, token.hidden, token.logits)]
        parts += [part for cache in self.generation.caches for part in (cache.k, cache.v) if part is not None]
        return sum(part.nbytes for part in parts)


def cache_sizes(settings: Settings) -> tuple[int, int, int, int, int]:
    """Return the numbers of layers, query heads, key/value heads, channels in a head, and bytes per number."""
    picture = pictures.picture(settings)
    sizes, extras = picture.model.sizes, picture.run.extras
    d_head = extras.values[0].shape[-1] if extras.values else sizes.d_model // sizes.n_heads
    kv_heads, itemsize = extras.kv_heads or sizes.n_heads, picture.model.dtype.itemsize
    return sizes.n_layers, sizes.n_heads, kv_heads, d_head, itemsize


@single_flight(LRUCache(CACHE_BYTES, lambda decoding: decoding.nbytes))
def decoding(settings: Settings) -> Decoding:
    """Generate up to `STEPS` tokens.

    Raises what `Model.run` raises, and Unsupported for a model that generates no tokens.
    """
    model, switches = _decoder(settings)
    prompt, heads = len(pictures.tokens(settings)), models.count_heads(model)
    new, seconds, differences = list[NewToken](), list[tuple[float, float]](), [RowDifference(0, 0)]
    with pass_slot(prompt, heads):
        cached, uncached = (Generation(model, settings.text, use_cache=cache, **switches) for cache in (True, False))
    for length in range(prompt, min(prompt + STEPS, model.sizes.max_len, MAX_TOKENS)):
        yield_and_check_cancelled()
        with pass_slot(length, heads):
            start = time.perf_counter()
            new.append(cached.step())
            middle = time.perf_counter()
            if sum(map(sum, seconds)) < SECONDS:
                differences.append(row_difference(new[-1], uncached.append(new[-1].id)))
                seconds.append((middle - start, time.perf_counter() - middle))
    return Decoding(cached, new, RowDifference(*map(max, zip(*differences, strict=True))), seconds)


@single_flight(LRUCache(32))
def reuse(settings: Settings, shift: int) -> tuple[int, NewToken, NewToken]:
    """Return `kv_cache.reuse` of the text and the shift, at most to the model's last position."""
    model, switches = _decoder(settings)
    ids = model.tokenize(settings.text)[1]
    shift = min(shift, model.sizes.max_len - len(ids))
    with pass_slot(len(ids), models.count_heads(model)):
        return shift, *kv_cache.reuse(model, ids, shift, **switches)


def _decoder(settings: Settings) -> tuple[Model, dict[str, Any]]:
    """Return the model and the switches of a run; only the rule of a painted mask fits a growing text."""
    model = models.with_full_implementation(pictures.model_for(settings))
    if model.own_mask != "causal" or model.reads != "text" or len(model.groups) > 1:
        raise Unsupported(NO_CACHE)
    return model, settings.without_painting.switches(model)
