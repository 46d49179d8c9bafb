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
    layers, heads, kv_heads, d_head, itemsize = decoding.cache_sizes(settings)
    kv_heads = {"model": kv_heads, "MHA": heads, "MQA": 1}[kind]
    return cache_size(layers, kv_heads, d_head, len(pictures.tokens(settings)), itemsize)


def cache_size(layers: int, kv_heads: int, d_head: int, tokens: int, itemsize: int) -> Value:
    """Return `cache_size(32, 8, 128, 8192, 2)`: the bytes of a cache with these sizes and bytes per number."""
    return Value.number(float(kv_cache.cache_bytes(layers, kv_heads, d_head, tokens, itemsize)))


def new_rows(query: Query, settings: Settings, step: int, cache: Literal["cached", "uncached"]) -> Value:
    """Return `new_rows(1, "cached")`: the rows of a map computed for the token of a step; step 0 is the prompt."""
    generation, new, *_ = decoding.decoding(settings)
    if step not in range(len(new) + 1):
        raise RuleError(f"{len(new)} tokens are generated here, not {step}")
    return Value.number(float(1 if step and cache == "cached" else len(generation.ids) - len(new) + step))


def cache_difference(query: Query, settings: Settings, measure: Literal["weight", "chance"]) -> Value:
    """Return `cache_difference("weight")`: the largest one of generated rows to a pass without a cache."""
    record = decoding.decoding(settings)
    if not record.new:
        raise RuleError("no token fits behind this text")
    return Value.number(getattr(record.difference, measure))


def reuse_difference(query: Query, settings: Settings, shift: int, measure: Literal["weight", "chance"]) -> Value:
    """Return `reuse_difference(8, "weight")`: the largest one with keys reused so many positions further on."""
    _, *rows = decoding.reuse(settings, shift)
    return Value.number(getattr(kv_cache.row_difference(*rows), measure))
