"""What visitors share is computed once and holds up nobody else; large passes come one at a time."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from cachetools import LRUCache

from pages.kit.lessons.quantities import times
from pages.kit.picture.sharing import (
    LARGE_TOKENS,
    SHORT_TOKENS,
    THREADS,
    alone,
    forget,
    known,
    shared,
    threads_for,
    turn,
)
from pages.kit.server.queue import QUEUE, Turn, Work
from pages.kit.server.visits import Visitor

from .waiting import PATIENCE, wait


def test_what_two_ask_for_at_once_is_computed_once() -> None:
    calls: list[str] = []
    second = threading.Event()

    @shared(LRUCache(4))
    def computed(name: str) -> str:
        calls.append(name)
        if len(calls) > 1:
            second.set()
        second.wait(0.5)  # a moment in which another one could begin
        return name.upper()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(computed, ["a"] * 4)) == ["A"] * 4
    assert calls == ["a"]


def test_nobody_waits_for_something_else() -> None:
    begun, go_on = threading.Event(), threading.Event()

    @shared(LRUCache(4))
    def computed(name: str) -> str:
        if name == "slow":
            begun.set()
            go_on.wait(PATIENCE)
        return name.upper()

    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(computed, "slow")
        assert begun.wait(PATIENCE)
        try:
            assert pool.submit(computed, "quick").result(timeout=PATIENCE) == "QUICK"
            assert not slow.done()
        finally:
            go_on.set()
        assert slow.result() == "SLOW"


def test_an_error_is_not_kept_and_who_waited_tries_himself() -> None:
    calls: list[str] = []
    asked = threading.Barrier(2)

    def key(name: str) -> str:
        asked.wait(20)
        return name

    @shared(LRUCache(4), key)
    def computed(name: str) -> str:
        calls.append(name)
        if len(calls) == 1:
            raise ValueError(name)
        return name.upper()

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(computed, "a") for _ in range(2)]
    assert sorted(str(one.exception()) for one in both) == ["None", "a"]
    assert calls == ["a", "a"]


def test_what_is_larger_than_the_cache_is_returned_and_the_oldest_goes_first() -> None:
    calls: list[str] = []
    cache: LRUCache[object, str] = LRUCache(4, len)

    @shared(cache)
    def computed(name: str) -> str:
        calls.append(name)
        return name

    for name in ("ab", "cd", "efghi", "ab", "kl", "ab", "cd", "efghi"):
        assert computed(name) == name
        assert cache.currsize <= 4
    assert calls == ["ab", "cd", "efghi", "kl", "cd", "efghi"]


def test_what_is_known_is_looked_up_and_what_is_forgotten_computed_anew() -> None:
    calls: list[str] = []

    @shared(LRUCache(4))
    def computed(name: str) -> str:
        calls.append(name)
        return name.upper()

    @shared({}, for_good=True)
    def kept(name: str) -> str:
        calls.append(name)
        return name.upper()

    assert (known(computed, "a"), known(kept, "b"), calls) == (None, None, [])
    assert (computed("a"), kept("b")) == (known(computed, "a"), known(kept, "b")) == ("A", "B")
    forget()
    assert (known(computed, "a"), known(kept, "b")) == (None, "B")
    assert (computed("a"), kept("b"), calls) == ("A", "B", ["a", "b", "a"])


def test_a_short_pass_and_heavy_work_get_one_thread_and_a_long_pass_all() -> None:
    def seen(tokens: int | None) -> int:
        with alone() if tokens is None else turn(tokens):
            return torch.get_num_threads()

    with ThreadPoolExecutor(1) as pool:
        found = [pool.submit(seen, tokens).result() for tokens in (0, SHORT_TOKENS, SHORT_TOKENS + 1, None)]
    torch.set_num_threads(THREADS)
    assert found == [1, 1, THREADS, 1]
    assert [threads_for(tokens) for tokens in (1, SHORT_TOKENS, SHORT_TOKENS + 1)] == [1, 1, THREADS]
    assert [threads_for(SHORT_TOKENS // 3, 72 * many) for many in (1, 2, 4)] == [1, 1, THREADS]


def test_large_passes_come_one_at_a_time() -> None:
    inside, most = [0], [0]
    lock = threading.Lock()

    def large() -> None:
        with turn(LARGE_TOKENS + 1):
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            time.sleep(0.02)
            with lock:
                inside[0] -= 1

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(large) for _ in range(6)]:
            done.result(20)
    torch.set_num_threads(THREADS)
    assert most == [1]


def test_who_does_heavy_work_never_waits_for_one_who_waits_to_do_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A page's script asks for times while somebody else does heavy work, who then asks for the same times."""
    monkeypatch.setattr(times, "SECONDS", 0.0)
    times.forget()
    begun, found = threading.Event(), list[object]()

    def ask(within: Work) -> None:
        with QUEUE.place(within):
            begun.wait(PATIENCE)
            found.append(times.time_ratios("naive", "torch", "64 tokens"))

    def ask_last() -> None:
        with QUEUE.place(Work.HEAVY):
            script = threading.Thread(target=ask, args=(Work.SCRIPT,), daemon=True)
            script.start()
            begun.set()
            wait(lambda: QUEUE.others_wait(Turn(Visitor("probe"), Work.HEAVY)))
            found.append(times.time_ratios("naive", "torch", "64 tokens"))

    threading.Thread(target=ask_last, daemon=True).start()
    wait(lambda: len(found) == 2)
    assert found[0] is found[1]
