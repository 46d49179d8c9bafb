"""What visitors share is computed once and holds up nobody else; large passes come one at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from cachetools import LRUCache

from headlight.lessons.quantities import times
from headlight.queue.client import Client
from headlight.queue.executor import QUEUE
from headlight.queue.policy import QueueEntry, Work
from headlight.queue.single_flight import clear_caches, peek, single_flight
from headlight.queue.slots import LARGE_TOKENS, SHORT_TOKENS, THREADS, heavy_slot, pass_slot, threads_for

from .waiting import PATIENCE, wait


class Sums:
    """A function of a name that is computed once for all who ask at once; the calls wait for `go_on`."""

    def __init__(self, key: Callable[[str], str] = str) -> None:
        self.calls, self.go_on, self.begun = list[str](), threading.Event(), threading.Event()

        @single_flight(LRUCache(4), key)
        def compute(name: str) -> str:
            self.calls.append(name)
            self.begun.set()
            assert name == "quick" or self.go_on.wait(PATIENCE)
            if name == "fails" and len(self.calls) == 1:
                raise ValueError(name)
            return name.upper()

        self.compute = compute


def test_equal_questions_are_computed_once_and_others_do_not_wait_for_them() -> None:
    asked = threading.Semaphore(0)

    def key(name: str) -> str:
        asked.release()
        return name

    sums = Sums(key)
    with ThreadPoolExecutor(5) as pool:
        slow = [pool.submit(sums.compute, "slow") for _ in range(4)]
        for _ in slow:
            assert asked.acquire(timeout=PATIENCE)
        assert sums.begun.wait(PATIENCE)
        assert pool.submit(sums.compute, "quick").result(PATIENCE) == "QUICK"
        assert not any(one.done() for one in slow)
        sums.go_on.set()
        assert [one.result(PATIENCE) for one in slow] == ["SLOW"] * 4
    assert sums.calls == ["slow", "quick"]


def test_error_is_not_cached_and_waiters_retry() -> None:
    both = threading.Barrier(2)

    def key(name: str) -> str:
        both.wait(PATIENCE)
        return name

    sums = Sums(key)
    sums.go_on.set()
    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(sums.compute, "fails") for _ in range(2)]
    assert sorted(str(one.exception()) for one in found) == ["None", "fails"]
    assert sums.calls == ["fails"] * 2


def test_cache_is_bounded_looked_up_and_forgotten_unless_it_is_for_good() -> None:
    calls: list[str] = []

    def upper(name: str) -> str:
        calls.append(name)
        return name.upper()

    computed, kept = single_flight(LRUCache(4, len))(upper), single_flight({}, keep=True)(upper)
    for name in ("ab", "cd", "efghi", "ab", "kl", "ab", "cd", "efghi"):  # one is larger than the cache
        assert computed(name) == name.upper()
    assert calls == ["ab", "cd", "efghi", "kl", "cd", "efghi"]
    assert kept("b") == peek(kept, "b") == "B"
    clear_caches()
    assert (peek(computed, "cd"), peek(kept, "b")) == (None, "B")


def test_short_pass_and_heavy_work_get_one_thread_and_a_long_pass_all() -> None:
    def seen(tokens: int | None) -> int:
        with heavy_slot() if tokens is None else pass_slot(tokens):
            return torch.get_num_threads()

    with ThreadPoolExecutor(1) as pool:
        found = [pool.submit(seen, tokens).result() for tokens in (0, SHORT_TOKENS, SHORT_TOKENS + 1, None)]
    torch.set_num_threads(THREADS)
    assert found == [1, 1, THREADS, 1]
    assert [threads_for(tokens) for tokens in (1, SHORT_TOKENS, SHORT_TOKENS + 1)] == [1, 1, THREADS]
    assert [threads_for(SHORT_TOKENS // 3, 72 * many) for many in (1, 2, 4)] == [1, 1, THREADS]


def test_large_passes_come_one_at_a_time() -> None:
    with ThreadPoolExecutor(1) as pool, pass_slot(LARGE_TOKENS + 1):

        def large() -> bool:
            with pass_slot(LARGE_TOKENS + 1):
                return True

        second = pool.submit(large)
        wait(lambda: QUEUE.has_waiters(QueueEntry(Client("probe"), Work.LARGE_PASS)))
        assert not second.done()
    assert second.result(PATIENCE)
    torch.set_num_threads(THREADS)


def test_heavy_work_never_waits_for_waiting_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A page's script asks for times while somebody else does heavy work, who then asks for the same times."""
    monkeypatch.setattr(times, "SECONDS", 0.0)
    clear_caches()
    begun, found = threading.Event(), list[object]()

    def ask(within: Work) -> None:
        with QUEUE.slot(within):
            begun.wait(PATIENCE)
            found.append(times.time_ratios("naive", "torch", "64 tokens"))

    def ask_last() -> None:
        with QUEUE.slot(Work.HEAVY):
            script = threading.Thread(target=ask, args=(Work.SCRIPT,), daemon=True)
            script.start()
            begun.set()
            wait(lambda: QUEUE.has_waiters(QueueEntry(Client("probe"), Work.HEAVY)))
            found.append(times.time_ratios("naive", "torch", "64 tokens"))

    threading.Thread(target=ask_last, daemon=True).start()
    wait(lambda: len(found) == 2)
    assert found[0] is found[1]
