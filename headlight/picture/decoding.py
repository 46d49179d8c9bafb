"""Greedy generation with a KV cache, what the cache changes, and what happens at another position; all cached."""

import statistics
from typing import Any, NamedTuple

from cachetools import LRUCache, TTLCache

from headlight.link.limits import MAX_TOKENS
from headlight.queue.executor import yield_and_check_cancelled
from headlight.queue.single_flight import run_heavy, single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from mha_core import Model
from mha_core.errors import Unsupported
from mha_core.measure import kv_cache
from mha_core.measure.kv_cache import RowDifference
from mha_core.models.generation import Generation, NewToken

from . import pictures
from .settings import Settings

STEPS = 12  # tokens that are generated, fewer near the end of the model's positions
CACHE_BYTES = 64 * 2**20  # SmolLM2 with 512 tokens takes 34 MiB
SECONDS, MIN_ROUNDS, MAX_ROUNDS = 1.5, 3, 100  # of a measurement
TTL_SECONDS = 600  # after which it is measured again
NO_CACHE = "This model has no KV cache: it reads the whole text at once and generates no token"


class Decoding(NamedTuple):
    """A text with the tokens generated behind it, and their difference to one pass; None if no token fits."""

    generation: Generation  # not to be continued
    new: list[NewToken]
    difference: RowDifference | None

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
    new = list[NewToken]()
    with pass_slot(prompt, heads):
        generation = Generation(model, settings.text, **switches)
    for length in range(prompt, min(prompt + STEPS, model.sizes.max_len, MAX_TOKENS)):
        yield_and_check_cancelled()
        with pass_slot(length, heads):
            new.append(generation.step())
    with pass_slot(len(generation.ids), heads):
        run = model.run(generation.ids, all_logits=True, **switches)
    return Decoding(generation, new, kv_cache.generation_difference(new, run) if new else None)


@single_flight(LRUCache(32))
def reuse(settings: Settings, shift: int) -> tuple[int, NewToken, NewToken]:
    """Return `kv_cache.reuse` of the text and the shift, at most to the model's last position."""
    model, switches = _decoder(settings)
    ids = model.tokenize(settings.text)[1]
    shift = min(shift, model.sizes.max_len - len(ids))
    with pass_slot(len(ids), models.count_heads(model)):
        return shift, *kv_cache.reuse(model, ids, shift, **switches)


def step_times(settings: Settings) -> tuple[float, float, int]:
    """Return the median seconds of the last generated token with and without a cache, and the number of rounds."""
    return run_heavy(_step_times, settings)


@single_flight(TTLCache(64, TTL_SECONDS))
def _step_times(settings: Settings) -> tuple[float, float, int]:
    (model, switches), ids = _decoder(settings), decoding(settings).generation.ids
    seconds: dict[str, list[float]] = {"cached": [], "uncached": []}
    for name, number, took in kv_cache.time_steps(model, ids, MAX_ROUNDS, **switches):
        yield_and_check_cancelled()
        seconds[name] += [took] if number >= 0 else []
        rounds, *others = map(len, seconds.values())
        if [rounds] == others and rounds >= MIN_ROUNDS and sum(map(sum, seconds.values())) > SECONDS:
            break
    cached, uncached = map(statistics.median, seconds.values())
    return cached, uncached, rounds


def _decoder(settings: Settings) -> tuple[Model, dict[str, Any]]:
    """Return the model and the switches of a run; of a painted mask only the rule applies, as the text grows."""
    model = models.with_full_implementation(pictures.model_for(settings))
    if model.own_mask != "causal" or model.reads != "text" or len(model.groups) > 1:
        raise Unsupported(NO_CACHE)
    return model, settings.without_painting.switches(model)
