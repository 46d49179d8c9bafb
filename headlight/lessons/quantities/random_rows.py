"""Quantities of random queries and keys: the entropy of their rows and their products."""

from functools import lru_cache
from typing import Literal

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.queue.single_flight import single_flight
from mha_core.measure.by_hand import random_entropy

KEYS, DRAWS, SEED = 16, 64, 0  # the same as on By hand
MAX_CHANNELS = 1024
WIDTHS, ROWS = (16, 64, 512), 512  # numbers in a query, and rows, of `random_products`
CLOUDS, POINTS, WIDTH, HEADS = 8, 80, 12, 2  # the einsum notebook's case, of `first_products`


@single_flight(LRUCache(64))
def bits(channels: int, divided: float = 0) -> Value:
    """Return `bits(512)`: the mean entropy of rows over 16 random keys, in bits; `bits(512, 1)`: divided by √d."""
    if not 1 <= channels <= MAX_CHANNELS:
        raise RuleError(f"random vectors have 1 to {MAX_CHANNELS} channels here, not {channels}")
    return Value.number(random_entropy(channels, KEYS, draws=DRAWS, seed=SEED, scaled=bool(divided)))


def random_products(channels: Literal[16, 64, 512]) -> Value:
    """Return `random_products(512)`, (i j): q·k of 512 random queries with 16 random keys of this width each."""
    return Value.from_tensor(_products()[channels], "i j")


def first_products(kind: Literal["matrices", "vectors"]) -> Value:
    """Return `first_products("matrices")`, (c h i j): q·k of 8 clouds of 80 random points, in 2 heads.

    Of unit variance are the matrices of Q and K ("matrices"), or the queries and keys ("vectors").
    """
    return Value.from_tensor(_first_draw()[kind], "c h i j")


@lru_cache(maxsize=1)
def _products() -> dict[int, Tensor]:
    generator, products = torch.Generator().manual_seed(SEED), {}
    for d in WIDTHS:
        q = torch.randn(ROWS, 1, d, generator=generator)
        products[d] = (q @ torch.randn(ROWS, KEYS, d, generator=generator).mT).squeeze(1)
    return products


@lru_cache(maxsize=1)
def _first_draw() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(SEED)
    x = torch.randn(CLOUDS, POINTS, WIDTH, generator=generator)
    draws = {"matrices": x @ torch.randn(2, 1, WIDTH, WIDTH, generator=generator).mT}
    draws["vectors"] = torch.randn(2, CLOUDS, POINTS, WIDTH, generator=generator)
    in_heads = {name: pair.view(2, CLOUDS, POINTS, HEADS, -1).transpose(2, 3) for name, pair in draws.items()}
    return {name: q @ k.mT for name, (q, k) in in_heads.items()}
