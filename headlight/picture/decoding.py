"""Greedy generation with a KV cache: its rows, keys and values, and what the cache changes."""

import statistics
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

from cachetools import LRUCache, TTLCache
from torch import Tensor

from headlight.link.limits import MAX_TOKENS
from headlight.queue.executor import yield_and_check_cancelled
from headlight.queue.single_flight import run_heavy, single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from mha_core import Model
from mha_core.errors import Unsupported
from mha_core.measure.kv_cache import LastToken, RowDifference, generation_difference, row_difference
from mha_core.models.generation import Generation, NewToken

from . import pictures
from .settings import Settings

STEPS = 12  # tokens that are generated, fewer near the end of the model's positions
CACHE_BYTES = 64 * 2**20  # SmolLM2 with 512 tokens takes 32 MiB
SECONDS = 1.5  # of a measurement, and at least one round
MAX_ROUNDS, TTL_SECONDS = 100, 600
NO_CACHE = "it reads the whole text at once and generates no token, so it computes every key and value once"


@dataclass(frozen=True)
class Decoding:
    """Tokens that a model generated with a KV cache, one after the other, on the CPU."""

    tokens: list[str]  # of the prompt, then the generated ones
    ids: list[int]
    prompt: int  # number of tokens of the prompt
    rows: tuple[Tensor, ...]  # for each generated token its weights, (layers, h, j)
    caches: tuple[
        tuple[Tensor, Tensor], ...
    ]  # of each layer the keys and values (g, j, d); () if the library keeps none
    difference: RowDifference | None  # the largest to one pass over the whole text; None if no token fits

    @property
    def nbytes(self) -> int:
        """Memory that caching it costs."""
        return sum(part.nbytes for part in (*self.rows, *(part for pair in self.caches for part in pair)))


class CacheSizes(NamedTuple):
    """The sizes of a model's attention that decide about the bytes of a cache."""

    layers: int
    heads: int
    kv_heads: int
    d_head: int
    itemsize: int


class CacheTimes(NamedTuple):
    """Median seconds of one token with and without a cache, and the number of rounds."""

    cached: float
    uncached: float
    rounds: int


def decoder(settings: Settings) -> tuple[Model, dict[str, Any]]:
    """Return the model and the switches of a run; of a painted mask only the rule applies, as the text grows.

    Raises:
        Unsupported: the model generates no tokens.
    """
    model = models.with_full_implementation(pictures.model_for(settings))
    if model.own_mask != "causal" or model.reads != "text" or len(model.groups) > 1:
        raise Unsupported(f"{model.name} has no KV cache: {NO_CACHE}")
    return model, settings.without_painting.switches(model)


def cache_sizes(settings: Settings) -> CacheSizes:
    """Return the sizes of a model's keys and values, a decoder or not. Raises what `Model.run` raises."""
    picture = pictures.picture(settings)
    sizes, extras = picture.model.sizes, picture.run.extras
    d_head = extras.values[0].shape[-1] if extras.values else sizes.d_model // sizes.n_heads
    return CacheSizes(
        sizes.n_layers, sizes.n_heads, extras.kv_heads or sizes.n_heads, d_head, picture.model.dtype.itemsize
    )


@single_flight(LRUCache(CACHE_BYTES, lambda decoding: decoding.nbytes))
def decoding(settings: Settings) -> Decoding:
    """Generate up to `STEPS` tokens. Raises what `decoder` and `Model.run` raise."""
    model, switches = decoder(settings)
    prompt, heads = len(pictures.tokens(settings)), models.count_heads(model)
    new = list[NewToken]()
    with pass_slot(prompt, heads):
        generation = Generation(model, settings.text, **switches)
    for length in range(prompt, min(prompt + STEPS, model.sizes.max_len, MAX_TOKENS)):
        yield_and_check_cancelled()
        with pass_slot(length, heads):
            new.append(generation.step())
    difference = None
    if new:
        with pass_slot(len(generation.ids), heads):
            run = settings.without_painting.run(model, generation.ids, all_logits=True)
        difference = generation_difference(new, run)
    rows = tuple(token.weights.float().cpu() for token in new)
    pairs = ((cache.k, cache.v) for cache in generation.caches)
    caches = tuple((k[0].float().cpu(), v[0].float().cpu()) for k, v in pairs if k is not None and v is not None)
    return Decoding(generation.tokens, generation.ids, prompt, rows, caches, difference)


class Reuse(NamedTuple):
    """The last token of the prompt at a later position, with keys and values from there and with cached ones."""

    shift: int
    right: NewToken
    reused: NewToken
    difference: RowDifference


@single_flight(LRUCache(32))
def reuse(settings: Settings, shift: int) -> Reuse:
    """Reuse the keys and values of the prompt `shift` positions further on, at most at the model's last position.

    Raises:
        HeadlightError: as in `decoder` and `LastToken`.
        Unsupported: the positions of the model cannot be shifted.
    """
    model, switches = decoder(settings)
    ids = model.tokenize(settings.text)[1]
    shift = max(0, min(shift, model.sizes.max_len - len(ids)))
    with pass_slot(len(ids), models.count_heads(model)):
        last = LastToken(model, ids, **switches)
        right, reused = last.recompute(shift), last.decode(shift)
    return Reuse(shift, right, reused, row_difference(right, reused))


def cache_times(settings: Settings) -> CacheTimes:
    """Time the last generated token with and without a cache, on one thread. Raises what `decoding` raises."""
    return run_heavy(_cache_times, settings)


@single_flight(TTLCache(64, TTL_SECONDS))
def _cache_times(settings: Settings) -> CacheTimes:
    model, switches = decoder(settings)
    ids = decoding(settings).ids
    seconds: dict[str, list[float]] = {"cached": [], "uncached": []}
    last, start = LastToken(model, ids, **switches), time.monotonic()
    for name, number, took in last.time_rounds(MAX_ROUNDS, model.device):
        yield_and_check_cancelled()
        if number >= 0:
            seconds[name].append(took)
        if len(seconds["cached"]) == len(seconds["uncached"]) > 0 and time.monotonic() - start > SECONDS:
            break
    return CacheTimes(*map(statistics.median, seconds.values()), len(seconds["cached"]))
