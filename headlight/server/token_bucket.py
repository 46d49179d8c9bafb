"""Token buckets that limit an average rate and the size of a burst."""

import time
from collections.abc import Callable, Hashable

from cachetools import TTLCache

Rate = tuple[float, int]  # tokens a second, and at most at once


class TokenBucket:
    """A token bucket that gains `rate` tokens a second and holds at most `burst`."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._tokens, self._updated = float(burst), clock()

    def take(self, count: int = 1) -> float:
        """Take tokens, on credit if need be; return the seconds until they are there."""
        self._fill()
        self._tokens -= count
        return max(0.0, -self._tokens / self._rate)

    def allows(self, count: int = 1) -> bool:
        """Take tokens if they are there; a refused request takes none, so that it does not keep others out."""
        self._fill()
        is_allowed = self._tokens >= count
        self._tokens -= count * is_allowed
        return is_allowed

    def _fill(self) -> None:
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + self._rate * (now - self._updated))
        self._updated = now


class RateLimiter:
    """A token bucket for each client, dropped when it is full again."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._buckets: TTLCache[Hashable, TokenBucket] = TTLCache(10_000, rate[1] / rate[0])

    def allows(self, name: Hashable) -> bool:
        """Take one token of a client if it is there."""
        bucket = self._buckets[name] = self._buckets.get(name) or TokenBucket(*self._rate)
        return bucket.allows()
