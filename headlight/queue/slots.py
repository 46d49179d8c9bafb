"""Slots for torch computations: few at a time, each with the number of threads that pays off."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Final

import torch

from .executor import QUEUE, raise_if_cancelled
from .policy import Work

THREADS: Final = torch.get_num_threads()  # torch's default
SHORT_TOKENS: Final = 32  # of a pass that is hardly slower on one thread
LARGE_TOKENS: Final = 200  # of a pass whose maps take 12 MiB and more
USUAL_HEADS: Final = 72  # of MiniLM, for which these are tuned; more heads count as more tokens


def threads_for(tokens: int, heads: int = USUAL_HEADS) -> int:
    """Return the number of threads of a pass, which depends on its size alone: equal sentences give equal numbers."""
    return THREADS if _weighted(tokens, heads) > SHORT_TOKENS else 1


def _weighted(tokens: int, heads: int) -> float:
    return tokens * max(1.0, heads / USUAL_HEADS)


@contextmanager
def pass_slot(tokens: int = 0, heads: int = USUAL_HEADS) -> Iterator[None]:
    """Hold one of the process's few slots for a forward pass, as a context manager.

    Ask for no other slot inside: two threads that do would wait for each other.

    Args:
        tokens: number of tokens. Short passes get one thread; long ones run one at a time, as 511 tokens take 150 MiB.
        heads: number of heads of the model, over all layers.

    Raises:
        Cancelled: no client waits for it any more.
    """
    raise_if_cancelled()
    large = _weighted(tokens, heads) > LARGE_TOKENS
    with QUEUE.slot(Work.LARGE_PASS) if large else nullcontext(), QUEUE.slot(Work.PASS):
        torch.set_num_threads(threads_for(tokens, heads))  # of this thread only
        yield


@contextmanager
def heavy_slot(on_wait: Callable[[], object] = raise_if_cancelled) -> Iterator[None]:
    """Hold the process's only slot for heavy work, which runs on one thread beside passes, as a context manager.

    Take it outside of a `single_flight` function, as `run_heavy` does: a wait in the cache could not be cancelled.
    `on_wait` and the errors are those of `Queue.slot`.
    """
    with QUEUE.slot(Work.HEAVY, on_wait):
        torch.set_num_threads(1)  # of this thread only
        yield
