"""A quantity of random queries and keys: how evenly their rows look, as By hand draws it over the width."""

from functools import lru_cache

from mha_core.measure.by_hand import entropy_of_random
from pages.kit.lessons.grammar import RuleError
from pages.kit.lessons.values import Value

KEYS, DRAWS, SEED = 16, 64, 0  # as on By hand
MOST_CHANNELS = 1024


def bits(channels: float, divided: float = 0) -> Value:
    """`bits(512)`: the mean entropy in bits of rows over 16 random keys, at most 4; `bits(512, 1)` divided by √d."""
    if not 1 <= channels <= MOST_CHANNELS or channels != int(channels):
        raise RuleError(f"random vectors have 1 to {MOST_CHANNELS} channels here, not {channels:g}")
    return Value.number(_bits(int(channels), scaled=bool(divided)))


@lru_cache(maxsize=64)
def _bits(channels: int, *, scaled: bool) -> float:
    return entropy_of_random(channels, KEYS, draws=DRAWS, seed=SEED, scaled=scaled)
