"""The process as visitors share it: what one computes is there for all, and few compute at once."""

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator, MutableMapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Final, ParamSpec, TypeVar, cast

import cachetools
import torch
from cachetools.keys import hashkey

from mha_core.errors import HeadlightError

THREADS: Final = torch.get_num_threads()  # that torch would use
# As many as there are threads, or they only get in each other's way.
PASSES_AT_ONCE: Final = min(4, THREADS)
SHORT_TOKENS: Final = 32  # of a pass that is hardly slower on one thread
LARGE_TOKENS: Final = 200  # of one whose maps take 12 MiB and more
USUAL_HEADS: Final = 72  # of the model that these are for; a pass of more heads counts as one of more tokens
LONGEST_LINE: Final = 20  # who wait to be alone
TOLD_SECONDS: Final = 0.1  # between two calls of `told`

P = ParamSpec("P")
R = TypeVar("R")

_looking = threading.Condition()  # held while a cache is looked at, never while something is computed
_caches: list[MutableMapping[Any, Any]] = []  # that `forget` empties
_passes = threading.BoundedSemaphore(PASSES_AT_ONCE)
_large = threading.Lock()
_line: deque[object] = deque()  # who wants to be alone; the first one is
_moved = threading.Condition()
_is_wanted: ContextVar[Callable[[], bool]] = ContextVar("_is_wanted", default=lambda: True)


class Unwanted(Exception):
    """Nobody waits any more for what is being computed."""


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
    """
    with _large if _counted(tokens, heads) > LARGE_TOKENS else nullcontext(), _passes:
        torch.set_num_threads(threads_for(tokens, heads))  # this thread's alone
        yield


@contextmanager
def wanted(is_wanted: Callable[[], bool]) -> Iterator[None]:
    """What this thread computes, for as long as somebody waits for it: `with wanted(lambda: …): …`."""
    before = _is_wanted.set(is_wanted)
    try:
        yield
    finally:
        _is_wanted.reset(before)


def check_wanted(*_: object) -> None:
    """Raises Unwanted where nobody waits any more for what this thread computes; long work asks now and then."""
    if not _is_wanted.get()():
        raise Unwanted


@contextmanager
def alone(told: Callable[[], object] = check_wanted, *, patient: bool = False) -> Iterator[None]:
    """Heavy work, of which one at a time runs in the whole process, in the order in which it came: `with alone(): …`.

    It runs on one thread, beside the places of `turn`.

    Args:
        told: called again and again while it waits; an exception out of it leaves the line.
        patient: it waits however many do, as its own line is bounded already.

    Raises:
        HeadlightError: `LONGEST_LINE` wait already.
    """
    me = object()
    with _moved:
        if len(_line) > LONGEST_LINE and not patient:
            raise HeadlightError(f"{LONGEST_LINE} others are waiting for their computations; try again in a minute")
        _line.append(me)
    try:
        _wait(lambda: _is_first(me), told)
        torch.set_num_threads(1)  # this thread's alone
        yield
    finally:
        with _moved:
            _line.remove(me)
            _moved.notify_all()


def _wait(ready: Callable[[], bool], told: Callable[[], object]) -> None:
    while not ready():
        told()


def _is_first(me: object) -> bool:
    """Waits a moment for one's place at the head of the line."""
    with _moved:
        return _moved.wait_for(lambda: _line[0] is me, TOLD_SECONDS)
