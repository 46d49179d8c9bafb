"""A job: work that waits for its place, runs in a thread of its own, and ends when its visitor is gone.

A job whose visitor is not heard of for `silence` seconds ends, so that a closed tab frees its place.
"""

from __future__ import annotations

import atexit
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Final, Self

from headlight.queue.client import Client
from headlight.queue.executor import QUEUE
from headlight.queue.policy import QueueEntry, Work
from headlight.server.readiness import STATE
from mha_core.errors import HeadlightError

SILENCE: Final = 30.0  # seconds in which a tab that is loaded anew says who it is, on a slow line too
END_SECONDS: Final = 10.0  # in which a job that was killed is over

_under_way: dict[Job, None] = {}


class Job(ABC):
    """One piece of work. `start` it, then look at it as often as you like.

    Args:
        visitor: who asks, for the queue to be fair.
        is_here: whether the visitor is connected; asked about once a second while it waits, else a few times.

    Attributes:
        error: why it ended early, a sentence without its full stop; empty when nothing went wrong.
    """

    silence: ClassVar = SILENCE

    def __init__(self, visitor: Client | None, is_here: Callable[[], bool]) -> None:
        self.error = ""
        self._queue = QUEUE
        self._clock = QUEUE.clock
        self._turn = QueueEntry(visitor or Client(), Work.TRAINING)
        self._is_here = is_here
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)
        self._stop = threading.Event()
        self._share = 0.0
        self._heard_at = self._clock()
        self._ended_at: float | None = None

    def start(self) -> Self:
        """Takes a place in the queue and returns.

        Raises:
            HeadlightError: too many are waiting, or the server is about to end.
        """
        if STATE.is_ending:
            raise HeadlightError("this server is restarting; press Train again in a few seconds")
        self._queue.enqueue(self._turn)
        _under_way[self] = None
        self._thread.start()
        return self

    def stop(self) -> None:
        """Ends it soon; what it has done is kept."""
        self._stop.set()

    def wind_up(self) -> None:
        """Ends it because the server ends; what it has done is kept, which may take longer than a stop."""
        self.stop()

    def kill(self) -> None:
        """Ends it as fast as can be."""
        self.stop()

    def join(self, seconds: float) -> None:
        """Returns when it is over, or after so long."""
        if self._thread.is_alive():
            self._thread.join(seconds)

    def heartbeat(self) -> None:
        """Tells that the visitor is still there."""
        self._heard_at = self._clock()

    @property
    def is_finished(self) -> bool:
        """True when it does nothing any more."""
        return self._ended_at is not None

    @property
    def is_stopped(self) -> bool:
        """True when its visitor ended it, or was gone."""
        return self.is_finished and not self.error and not self._is_complete()

    @property
    def place(self) -> int:
        """Return the number of jobs that end before this one begins, if all goes on as now; 0 when it has begun."""
        return self._queue.position(self._turn)

    @property
    def elapsed(self) -> float:
        """Seconds since it got its place."""
        began, ended = self._turn.began, self._ended_at
        return 0.0 if began is None else (self._clock() if ended is None else ended) - began

    @property
    def share(self) -> float:
        """The part of it that is done, from 0 to 1; it never goes back."""
        self._share = max(self._share, min(1.0, self._progress()))
        return self._share

    @abstractmethod
    def _work(self) -> None:
        """Does it; returns early when `should_stop()`. A HeadlightError becomes `error`."""

    @abstractmethod
    def _is_complete(self) -> bool:
        """Tells whether it came to its own end."""

    @abstractmethod
    def _progress(self) -> float:
        """The part that is done, from 0 to 1."""

    def should_stop(self) -> bool:
        """Tells whether it is to end: it was stopped, or its visitor is gone."""
        if self._is_here():
            self.heartbeat()
        return self._stop.is_set() or self._clock() - self._heard_at > self.silence

    def _run(self) -> None:
        try:
            self._queue.wait(self._turn, self.should_stop)
            if self._turn.is_evicted:
                self.error = "its place in the queue was given to another user; press Train again"
            elif self._turn.began is not None and not self.should_stop():
                self._work()
        except HeadlightError as error:
            self.error = str(error)
        except Exception as error:
            logging.getLogger(__name__).warning("A %s ended with an error: %r", type(self).__name__, error)
            self.error = f"the training process cannot be reached ({type(error).__name__})"
        finally:
            self._queue.release(self._turn)
            del _under_way[self]
            self._ended_at = self._clock()


def under_way() -> list[Job]:
    """The jobs that wait or work."""
    return list(_under_way)


@atexit.register
def reset() -> None:
    """Ends every job, and returns when they are over: no process is left behind."""
    jobs = under_way()
    for job in jobs:
        job.kill()
    for job in jobs:
        job.join(END_SECONDS)
