"""Single flight: caches shared by all clients, in which concurrent equal calls are computed once."""

import threading
from collections.abc import Callable, Hashable, MutableMapping
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar, cast

import cachetools
from cachetools.keys import hashkey

from .slots import heavy_slot

P = ParamSpec("P")
R = TypeVar("R")

_lock = threading.Condition()  # held during a cache lookup, never during a computation
_caches: list[MutableMapping[Any, Any]] = []  # that `clear_caches` clears


def single_flight(
    cache: MutableMapping[Any, Any], key: Callable[..., Hashable] = hashkey, *, keep: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function compute each result once for all clients and keep it in a cache.

    Concurrent calls with an equal key share one computation; other keys are not blocked. Errors are not kept, nor are
    results larger than the whole cache. `key` makes the cache key from the function's arguments; with `keep`
    `clear_caches` leaves the results in the cache.
    """
    if not keep:
        _caches.append(cache)
    # cachetools types the decorated function without its arguments
    return cast("Callable[[Callable[P, R]], Callable[P, R]]", cachetools.cached(cache, key, condition=_lock))


def peek(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | None:
    """Return the cached result of a `single_flight` function for these arguments, None where it is not cached."""
    cached: Any = function
    with _lock:
        return cast("R | None", cached.cache.get(cached.cache_key(*args, **kwargs)))


def put(function: Callable[P, R], result: R, *args: P.args, **kwargs: P.kwargs) -> None:
    """Put a result into the cache of a `single_flight` function, as if it had been computed for these arguments."""
    cached: Any = function
    with _lock, suppress(ValueError):  # larger than the whole cache
        cached.cache[cached.cache_key(*args, **kwargs)] = result


def clear_caches() -> None:
    """Clear the caches of all `single_flight` functions but those that keep theirs."""
    with _lock:
        for cache in _caches:
            cache.clear()


def run_heavy(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return the result of a `single_flight` function, computed in the heavy slot where it is not cached.

    Raises what `heavy_slot` raises.
    """
    result = peek(function, *args, **kwargs)
    if result is None:
        with heavy_slot():
            result = function(*args, **kwargs)
    return result
