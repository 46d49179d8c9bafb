"""Caches of the process: what one visitor has computed is there for all, and nothing is computed twice at a time."""

import threading
from collections.abc import Callable, Hashable, MutableMapping
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar, cast

import cachetools
from cachetools.keys import hashkey

from .places import alone

P = ParamSpec("P")
R = TypeVar("R")

_looking = threading.Condition()  # held while a cache is looked at, never while something is computed
_caches: list[MutableMapping[Any, Any]] = []  # that `forget` empties


def shared(
    cache: MutableMapping[Any, Any], key: Callable[..., Hashable] = hashkey, *, for_good: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes a function compute each thing once for all visitors, and keep it in a cache for as long as that has room.

    Who asks for what another visitor is waiting for waits with him; nobody else does. An error is not kept, nor is what
    is larger than the whole cache.

    Args:
        key: what a result depends on, from the function's arguments.
        for_good: True keeps the results through `forget`.
    """
    if not for_good:
        _caches.append(cache)
    # a cast, as the decorator's own type forgets the arguments
    return cast("Callable[[Callable[P, R]], Callable[P, R]]", cachetools.cached(cache, key, condition=_looking))


def known(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | None:
    """The result of a `shared` function for these arguments, if it is kept; nothing is computed."""
    cached: Any = function
    with _looking:
        return cast("R | None", cached.cache.get(cached.cache_key(*args, **kwargs)))


def keep(function: Callable[P, R], result: R, *args: P.args, **kwargs: P.kwargs) -> None:
    """Keeps what a `shared` function would give for these arguments, where something else has made it."""
    cached: Any = function
    with _looking, suppress(ValueError):  # larger than the whole cache
        cached.cache[cached.cache_key(*args, **kwargs)] = result


def forget() -> None:
    """Empties every cache of `shared` functions, except those that are for good."""
    with _looking:
        for cache in _caches:
            cache.clear()


def heavy(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The result of a `shared` function, computed as heavy work where it is not known. Raises what `alone` raises."""
    found = known(function, *args, **kwargs)
    if found is None:
        with alone():
            found = function(*args, **kwargs)
    return found
