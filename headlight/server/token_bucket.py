"""Token buckets: how often something may happen, on average and at once."""

import time
from collections.abc import Callable, Hashable

from cachetools import TTLCache

Rate = tuple[float, int]  # tokens a second, and at most at once


class TokenBucket:
    """A token bucket: `rate` tokens a second, at most `most` at once."""

    def __init__(self, rate: float, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._most, self._clock = rate, most, clock
        self._left, self._seen = float(most), clock()

    def take(self, count: int = 1) -> float:
        """Take tokens, on credit if need be; return the seconds until they are there."""
        self._fill()
        self._left -= count
        return max(0.0, -self._left / self._rate)

    def allows(self, count: int = 1) -> bool:
        """Take tokens if they are there; a refused request takes none, so that it does not keep others out."""
        self._fill()
        there = self._left >= count
        self._left -= count * there
        return there

    def _fill(self) -> None:
        now = self._clock()
        self._left = min(self._most, self._left + self._rate * (now - self._seen))
        self._seen = now


class RateLimiter:
    """One token bucket per client, dropped when it is full again."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._buckets: TTLCache[Hashable, TokenBucket] = TTLCache(10_000, rate[1] / rate[0])

    def allows(self, name: Hashable) -> bool:
        """Take one token of a client if it is there."""
        bucket = self._buckets[name] = self._buckets.get(name) or TokenBucket(*self._rate)
        return bucket.allows()
