"""The process as visitors share it: what one computes is there for all, and few compute at once."""

import threading
from collections.abc import Callable, Hashable, Iterator, MutableMapping
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, Final, ParamSpec, TypeVar, cast

import cachetools
import torch
from cachetools.keys import hashkey

from headlight.queue.policy import QUEUE, Work, still_wanted

THREADS: Final = torch.get_num_threads()  # that torch would use
SHORT_TOKENS: Final = 32  # of a pass that is hardly slower on one thread
LARGE_TOKENS: Final = 200  # of one whose maps take 12 MiB and more
USUAL_HEADS: Final = 72  # of the model that these are for; a pass of more heads counts as one of more tokens

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


def threads_for(tokens: int, heads: int = USUAL_HEADS) -> int:
    """The number of threads of a pass. It depends on nothing else, so that the same sentence gives the same numbers."""
    return THREADS if _counted(tokens, heads) > SHORT_TOKENS else 1


def _counted(tokens: int, heads: int) -> float:
    return tokens * max(1.0, heads / USUAL_HEADS)


@contextmanager
def turn(tokens: int = 0, heads: int = USUAL_HEADS) -> Iterator[None]:
    """One of the process's few places for a pass, to be held while something computes: `with turn(): …`.

    Nothing that takes a place itself may be asked for in it: those who do so would wait for each other.

    Args:
        tokens: of the pass. A short one gets one thread. Of large ones there is one at a time: it needs 150 MiB at 511.
        heads: of the model, in all layers.

    Raises:
        Unwanted: nobody waits for it any more.
    """
    still_wanted()
    large = _counted(tokens, heads) > LARGE_TOKENS
    with QUEUE.place(Work.LARGE_PASS) if large else nullcontext(), QUEUE.place(Work.PASS):
        torch.set_num_threads(threads_for(tokens, heads))  # this thread's alone
        yield


def heavy(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The result of a `shared` function, computed as heavy work where it is not known. Raises what `alone` raises."""
    found = known(function, *args, **kwargs)
    if found is None:
        with alone():
            found = function(*args, **kwargs)
    return found


@contextmanager
def alone(told: Callable[[], object] = still_wanted) -> Iterator[None]:
    """Heavy work, of which one at a time runs in the whole process, on one thread, beside passes: `with alone(): …`.

    A `shared` function asks for it outside, as `heavy` does: nobody waits in the cache, where `told` cannot end the
    wait. `told`, and what is raised: as of `Queue.place`.
    """
    with QUEUE.place(Work.HEAVY, told):
        torch.set_num_threads(1)  # this thread's alone
        yield
