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

    def delay(self, count: int = 1) -> float:
        """Return the seconds until so many tokens are there."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + self._rate * (now - self._updated))
        self._updated = now
        return max(0.0, (count - self._tokens) / self._rate)

    def take(self, count: int = 1) -> float:
        """Take tokens, on credit if need be; return the seconds until they are there."""
        seconds = self.delay(count)
        self._tokens -= count
        return seconds

    def allows(self, count: int = 1) -> bool:
        """Take tokens if they are there; a refused request takes none, so that it does not keep others out."""
        return self.delay(count) == 0 and self.take(count) == 0


class RateLimiter:
    """A token bucket for each client, dropped when it is full again."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._buckets: TTLCache[Hashable, TokenBucket] = TTLCache(10_000, rate[1] / rate[0])

    def allows(self, name: Hashable) -> bool:
        """Take one token of a client if it is there."""
        return self.wait(name, 0.0) is not None

    def wait(self, name: Hashable, limit: float) -> float | None:
        """Take one token of a client and return the seconds until it is there; none beyond a limit."""
        bucket = self._buckets[name] = self._buckets.get(name) or TokenBucket(*self._rate)
        return bucket.take() if bucket.delay() <= limit else None
