"""Jobs: queued background work in a thread of its own.

A job without a heartbeat for `heartbeat_timeout` seconds stops, so that a closed tab frees its slot.
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

HEARTBEAT_TIMEOUT: Final = 30.0  # seconds, enough for a tab to reload and reconnect on a slow line
END_SECONDS: Final = 10.0  # until a killed job has ended

_active: dict[Job, None] = {}


class Job(ABC):
    """A background job, which can be polled from any thread once it has started.

    Args:
        client: the client that started it, for the queue to be fair.
        is_connected: tells whether the user is connected; called several times a second.

    Attributes:
        error: reason why it ended early, a sentence without its full stop; "" if nothing went wrong.
    """

    heartbeat_timeout: ClassVar = HEARTBEAT_TIMEOUT

    def __init__(self, client: Client | None, is_connected: Callable[[], bool]) -> None:
        self.error = ""
        self._queue = QUEUE
        self._clock = QUEUE.clock
        self._entry = QueueEntry(client or Client(), Work.TRAINING)
        self._is_connected = is_connected
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)
        self._stop = threading.Event()
        self._share = 0.0
        self._heartbeat_at = self._clock()
        self._ended_at: float | None = None

    def start(self) -> Self:
        """Queue the job and return it.

        Raises:
            HeadlightError: the queue is full, or the server is stopping.
        """
        if STATE.is_ending:
            raise HeadlightError("this server is restarting; press Train again in a few seconds")
        self._queue.enqueue(self._entry)
        _active[self] = None
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop the job soon; keep its results."""
        self._stop.set()

    def shut_down(self) -> None:
        """Stop the job because the server stops; saving its results may take longer than in `stop`."""
        self.stop()

    def kill(self) -> None:
        """Stop the job as fast as possible."""
        self.stop()

    def join(self, seconds: float) -> None:
        """Wait until the job has ended, or for so many seconds."""
        if self._thread.is_alive():
            self._thread.join(seconds)

    def heartbeat(self) -> None:
        """Record that the user is still connected."""
        self._heartbeat_at = self._clock()

    @property
    def is_finished(self) -> bool:
        """Return whether the job has ended."""
        return self._ended_at is not None

    @property
    def is_stopped(self) -> bool:
        """Return whether the user stopped the job or disconnected."""
        return self.is_finished and not self.error and not self._is_complete()

    @property
    def position(self) -> int:
        """Position in the queue, from 1; 0 when the job has started."""
        return self._queue.position(self._entry)

    @property
    def elapsed(self) -> float:
        """Seconds since it got its slot."""
        began, ended = self._entry.began, self._ended_at
        return 0.0 if began is None else (self._clock() if ended is None else ended) - began

    @property
    def share(self) -> float:
        """Progress from 0 to 1, which never decreases."""
        self._share = max(self._share, min(1.0, self._progress()))
        return self._share

    @abstractmethod
    def _work(self) -> None:
        """Do the work; return early when `should_stop()`. A HeadlightError becomes `error`."""

    @abstractmethod
    def _is_complete(self) -> bool:
        """Return whether the work was completed."""

    @abstractmethod
    def _progress(self) -> float:
        """Return the progress from 0 to 1."""

    def should_stop(self) -> bool:
        """Return whether the job must end: it was stopped, or the user has disconnected."""
        if self._is_connected():
            self.heartbeat()
        return self._stop.is_set() or self._clock() - self._heartbeat_at > self.heartbeat_timeout

    def _run(self) -> None:
        try:
            self._queue.wait(self._entry, self.should_stop)
            if self._entry.is_evicted:
                self.error = "its place in the queue went to another user; press Train again"
            elif self._entry.began is not None and not self.should_stop():
                self._work()
        except HeadlightError as error:
            self.error = str(error)
        except Exception as error:
            logging.getLogger(__name__).warning("A %s ended with an error: %r", type(self).__name__, error)
            self.error = f"the training process cannot be reached ({type(error).__name__})"
        finally:
            self._queue.release(self._entry)
            del _active[self]
            self._ended_at = self._clock()


def active_jobs() -> list[Job]:
    """Return the jobs that are queued or running."""
    return list(_active)


@atexit.register
def reset() -> None:
    """Kill all jobs and wait for them, so that no process is left behind."""
    jobs = active_jobs()
    for job in jobs:
        job.kill()
    for job in jobs:
        job.join(END_SECONDS)
