"""Quantities of generation with a KV cache: its bytes, new rows, differences and times."""

from typing import Literal

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import decoding, pictures
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from mha_core.measure import kv_cache


def cache_bytes(query: Query, settings: Settings, kind: Literal["model", "MHA", "MQA"]) -> Value:
    """Return `cache_bytes("model")`: the bytes of this text's keys and values, or those of "MHA" or "MQA"."""
    sizes = decoding.cache_sizes(settings)
    kv_heads = {"model": sizes.kv_heads, "MHA": sizes.heads, "MQA": 1}[kind]
    n = len(pictures.tokens(settings))
    return Value.number(float(kv_cache.cache_bytes(sizes.layers, kv_heads, sizes.d_head, n, sizes.itemsize)))


def cache_size(layers: int, kv_heads: int, d_head: int, tokens: int, itemsize: int) -> Value:
    """Return `cache_size(32, 8, 128, 8192, 2)`: the bytes of a cache with these sizes and bytes per number."""
    return Value.number(float(kv_cache.cache_bytes(layers, kv_heads, d_head, tokens, itemsize)))


def new_rows(query: Query, settings: Settings, step: int, cache: Literal["cached", "uncached"]) -> Value:
    """Return `new_rows(1, "cached")`: the rows of a map computed for the token of a step; step 0 is the prompt."""
    record = decoding.decoding(settings)
    if step not in range(len(record.rows) + 1):
        raise RuleError(f"{len(record.rows)} tokens are generated here, not {step}")
    return Value.number(float(1 if step and cache == "cached" else record.prompt + step))


def cache_difference(query: Query, settings: Settings, measure: Literal["weight", "chance"]) -> Value:
    """Return `cache_difference("weight")`: the largest one of generated rows to a pass without a cache."""
    difference = decoding.decoding(settings).difference
    if difference is None:
        raise RuleError("no token fits behind this text")
    return Value.number(getattr(difference, measure))


def reuse_difference(query: Query, settings: Settings, shift: int, measure: Literal["weight", "chance"]) -> Value:
    """Return `reuse_difference(8, "weight")`: the largest one with keys reused so many positions further on."""
    return Value.number(getattr(decoding.reuse(settings, shift).difference, measure))


def cache_speed(query: Query, settings: Settings) -> Value:
    """Return `cache_speed`: measured time of a token without a cache divided by that with one."""
    times = decoding.cache_times(settings)
    return Value.number(times.uncached / times.cached)
