"""The server's memory: garbage is looked for every few seconds, not after every script run, and freed memory goes back.

A full collection stops everybody and looks at every object there is: 250 ms over torch's modules, and more with each
visitor. What was imported stays for good, so it is taken out of the collector's sight.
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
    """glibc, whose allocator hears wishes; None on other systems."""
    if sys.platform == "linux":
        with suppress(OSError):
            return ctypes.CDLL("libc.so.6")
    return None


def limit_malloc_arenas() -> None:
    """Has freed memory go back. Every script run is a thread, and what it freed would stay with its own; maps of a
    long text would leave holes.
    """
    lib = _glibc()
    if lib is not None:
        lib.mallopt(_M_ARENA_MAX, MAX_ARENAS)
        lib.mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)


class Sweeper:
    """Looks for garbage now and then, in one thread for the whole process.

    Args:
        rest: sleeps between two sweeps; it may raise to end them.
    """

    def __init__(self, rest: Callable[[float], object] = time.sleep) -> None:
        self._rest = rest
        self._modules = len(sys.modules)
        self._collections = self._collected()
        self._lib = _glibc()

    def start(self) -> None:
        """Sweeps from now on."""
        threading.Thread(target=self._run, name="sweeper of memory", daemon=True).start()

    def sweep(self) -> None:
        """Collects, keeps what has been imported since the last time out of sight, and gives freed memory back."""
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            gc.unfreeze()  # what was in the middle of something at the last freeze may be garbage now
            gc.collect()
            gc.freeze()
        else:
            gc.collect()
        if self._lib is not None:
            self._lib.malloc_trim(0)

    def _run(self) -> None:
        while True:
            self._rest(SWEEP_SECONDS)
            if self._collected() != self._collections:  # while nobody is here nothing is made
                self.sweep()
                self._collections = self._collected()

    @staticmethod
    def _collected() -> int:
        """How often Python itself has looked for garbage so far, among the young or all: it counts what is made."""
        return sum(generation["collections"] for generation in gc.get_stats())
