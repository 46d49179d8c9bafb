"""Periodic garbage collection, and settings that return freed memory to the system.

A full collection pauses every thread and visits every object: 250 ms over torch's modules, more with each session. So
it runs every few seconds instead of after every script run, and imported objects are frozen.
"""

import ctypes
import gc
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

SWEEP_SECONDS = 5.0
MAX_ARENAS = 2
LARGE_BYTES = 12 * 2**20  # one layer of maps of 511 tokens
_M_ARENA_MAX, _M_MMAP_THRESHOLD = -8, -3  # their numbers in malloc.h


def _glibc() -> ctypes.CDLL | None:
    """Return glibc, whose allocator can be configured; None on other systems."""
    if sys.platform == "linux":
        with suppress(OSError):
            return ctypes.CDLL("libc.so.6")
    return None


def limit_malloc_arenas() -> None:
    """Configure malloc so that freed memory returns to the system.

    Every script run is a thread, and memory freed in an arena of its own would stay there. Large blocks are mapped, so
    that the maps of long texts leave no holes in the heap.
    """
    lib = _glibc()
    if lib is not None:
        lib.mallopt(_M_ARENA_MAX, MAX_ARENAS)
        lib.mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)


class Sweeper:
    """A thread that collects garbage at intervals, one for the whole process.

    `rest` sleeps between two collections; it may raise to end the thread.
    """

    def __init__(self, rest: Callable[[float], object] = time.sleep) -> None:
        self._rest = rest
        self._modules = len(sys.modules)
        self._collections = self._collected()
        self._lib = _glibc()

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="sweeper of memory", daemon=True).start()

    def sweep(self) -> None:
        """Collect garbage, freeze the objects of new imports, and return freed memory to the system."""
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            gc.unfreeze()  # objects in use at the last freeze may be garbage by now
            gc.collect()
            gc.freeze()
        else:
            gc.collect()
        if self._lib is not None:
            self._lib.malloc_trim(0)

    def _run(self) -> None:
        while True:
            self._rest(SWEEP_SECONDS)
            if self._collected() != self._collections:  # an idle server creates no objects
                self.sweep()
                self._collections = self._collected()

    @staticmethod
    def _collected() -> int:
        """Return the number of collections that Python has run so far, which grows as objects are created."""
        return sum(generation["collections"] for generation in gc.get_stats())
