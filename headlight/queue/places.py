"""The places in which torch computes: few at a time, each with the number of threads that pays."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Final

import torch

from .executor import QUEUE, still_wanted
from .policy import Work

THREADS: Final = torch.get_num_threads()  # that torch would use
SHORT_TOKENS: Final = 32  # of a pass that is hardly slower on one thread
LARGE_TOKENS: Final = 200  # of one whose maps take 12 MiB and more
USUAL_HEADS: Final = 72  # of the model that these are for; a pass of more heads counts as one of more tokens


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


@contextmanager
def alone(told: Callable[[], object] = still_wanted) -> Iterator[None]:
    """Heavy work, of which one at a time runs in the whole process, on one thread, beside passes: `with alone(): …`.

    A `shared` function asks for it outside, as `heavy` does: nobody waits in the cache, where `told` cannot end the
    wait. `told`, and what is raised: as of `Queue.place`.
    """
    with QUEUE.place(Work.HEAVY, told):
        torch.set_num_threads(1)  # this thread's alone
        yield
