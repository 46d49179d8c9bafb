"""The one queue: it is fair, bounded and cancellable; the newest wins, and equal questions are computed once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight.queue.client import Client
from headlight.queue.executor import Cancelled, ClientDisconnected, Queue, raise_if_cancelled, yield_and_check_cancelled
from headlight.queue.policy import BOUNDS, QueueEntry, QueueFull, Work, bounds, table
from mha_core.errors import HeadlightError

from .looped import run
from .waiting import PATIENCE, Clock, bounded, wait

QUESTIONS = (Work.PICTURE, Work.LONG, Work.LOW_PRIORITY, Work.HEAVY)


def test_table_of_the_bounds_is_in_the_docs() -> None:
    written = (Path(__file__).parents[2] / "docs" / "serving.md").read_text("utf-8")
    assert table() in written, "write headlight.queue.policy.table() into docs/serving.md"
    for threads in (1, 2, 64):
        passes = bounds(threads)[Work.PASS].max_concurrency
        assert passes == bounds(threads)[Work.PICTURE].max_concurrency == min(threads, 4)


# ---- who is next; the clock is the test's


def queued(queue: Queue, address: str, session: str = "", work: Work = Work.TRAINING) -> QueueEntry:
    turn = QueueEntry(Client(address, session or address), work)
    queue.enqueue(turn)
    return turn


def began(queue: Queue, turns: dict[str, QueueEntry], clock: Clock) -> list[str]:
    """The order in which these turns begin, each ending after three minutes."""
    order, working = list[str](), list[QueueEntry]()
    while True:
        new = [name for name, turn in turns.items() if turn.began is not None and name not in order]
        order += new
        working += [turns[name] for name in new]
        if len(order) == len(turns):
            return order
        first = min(working, key=lambda turn: turn.began or 0)
        working.remove(first)
        clock.now = (first.began or 0) + 180
        queue.release(first)


def test_visitors_take_turns_and_ten_tabs_of_one_address_are_one_visitor() -> None:
    clock = Clock()
    queue = Queue(clock=clock)
    assert began(queue, {name: queued(queue, name) for name in "abcd"}, clock) == list("abcd")
    queue = Queue(clock=clock)
    turns = {f"tab{number}": queued(queue, "school", f"tab{number}") for number in range(10)}
    turns |= {"late": queued(queue, "home"), "later": queued(queue, "office")}
    assert began(queue, turns, clock) == ["tab0", "tab1", "late", "later", *(f"tab{number}" for number in range(2, 10))]


def test_queue_is_bounded_and_one_address_does_not_keep_others_out() -> None:
    queue = bounded(Work.TRAINING, max_queued=10)
    tabs = [queued(queue, "school", f"tab {number}") for number in range(12)]
    with pytest.raises(HeadlightError, match="10 trainings are already waiting"):
        queued(queue, "school", "one more")
    others = [queued(queue, f"home {number}") for number in range(3)]
    assert [tab.is_evicted for tab in tabs] == [False] * 9 + [True] * 3  # those who came last
    queue.wait(tabs[-1], lambda: False)  # it ends, without a place
    assert tabs[-1].began is None
    queue.release(tabs[-1])
    queue.release(tabs[0])
    assert others[0].began is not None
    queue = bounded(Work.TRAINING, max_queued=10)
    hasty = [queued(queue, "school") for _ in range(12)]
    classmates = [queued(queue, "school", f"tab {number}") for number in range(2)]
    assert [one.is_evicted for one in (*hasty, *classmates)] == [False] * 10 + [True] * 2 + [False] * 2


ACTS = st.tuples(st.booleans(), st.integers(0, 5), st.sampled_from(list(Work)), st.floats(0, 9))


@given(st.lists(ACTS, max_size=60))
def test_random_arrivals_keep_bounds_and_slots(
    acts: list[tuple[bool, int, Work, float]],
) -> None:
    clock = Clock()
    queue = Queue({work: replace(own, max_queued=3) for work, own in BOUNDS.items()}, clock)
    turns = dict[tuple[int, Work], list[QueueEntry]]()
    for comes, who, work, seconds in acts:
        clock.now += seconds
        own = turns.setdefault((who, work), [])
        if comes:
            with suppress(QueueFull):
                own.append(queued(queue, f"address {who % 3}", f"tab {who}", work=work))
        elif own:
            queue.release(own.pop(who % len(own)))
        for kind in Work:
            there = [turn for (_, one), some in turns.items() for turn in some if one is kind and not turn.is_evicted]
            working = sum(turn.began is not None for turn in there)
            assert working <= BOUNDS[kind].max_concurrency
            assert len(there) - working <= 3
            assert len(there) == working or working == BOUNDS[kind].max_concurrency, (
                "no place is free while somebody waits"
            )
    for turn in [turn for own in turns.values() for turn in own]:
        queue.release(turn)
    for kind in Work:
        assert all(queued(queue, "new", work=kind).began is not None for _ in range(BOUNDS[kind].max_concurrency))


@given(st.lists(st.integers(1, 9), min_size=2, max_size=5))
def test_queue_is_fair(seconds: list[int]) -> None:
    """All ask again and again for one place, for unlike times: each gets it, and none uses much more than another."""
    clock = Clock()
    queue = bounded(Work.TRAINING, max_concurrency=1, clock=clock)
    used, turns = [0.0] * len(seconds), [queued(queue, "", f"tab {n}") for n in range(len(seconds))]
    for _ in range(60):
        (now,) = [n for n, turn in enumerate(turns) if turn.began is not None]
        clock.now += seconds[now]
        used[now] += seconds[now]
        done, turns[now] = turns[now], QueueEntry(turns[now].client, Work.TRAINING)
        queue.enqueue(turns[now])
        queue.release(done)
    assert min(used) > 0
    assert max(used) - min(used) <= 2 * max(seconds)


# ---- places of threads


def test_heavy_work_comes_one_at_a_time_and_who_leaves_or_fails_makes_room() -> None:
    queue, entered = Queue(), list[str]()

    def work(name: str, check: Callable[[], object] = raise_if_cancelled) -> None:
        with queue.slot(Work.HEAVY, check, Client("", name)):
            entered.append(name)
            raise ZeroDivisionError

    def leaves() -> None:
        raise ClientDisconnected

    with ThreadPoolExecutor(3) as pool, queue.slot(Work.HEAVY), queue.slot(Work.HEAVY):  # which is in already
        gone, *fail = (pool.submit(work, name, check) for name, check in (("gone", leaves), ("a", int), ("b", int)))
        assert isinstance(gone.exception(PATIENCE), ClientDisconnected)
        with queue.slot(Work.PASS):  # which heavy work does not take
            assert entered == []
    assert all(isinstance(one.exception(), ZeroDivisionError) for one in fail)
    assert sorted(entered) == ["a", "b"]


def test_script_gives_its_place_up_for_heavy_work() -> None:
    queue = bounded(Work.SCRIPT, max_concurrency=1)
    with queue.slot(Work.SCRIPT, client=Client("", "one")):
        other = queued(queue, "", "other", work=Work.SCRIPT)
        with queue.slot(Work.PASS):
            assert other.began is None
        with queue.slot(Work.HEAVY):
            assert other.began is not None


# ---- questions


async def never() -> None:
    await asyncio.Event().wait()


async def soon() -> None:
    """Returns after all that can be done now."""
    for _ in range(10):
        await asyncio.sleep(0)


class Asked:
    """Questions to a queue that computes one picture at a time, and one that is held until `release`."""

    def __init__(self, **other: Any) -> None:
        self.queue = bounded(Work.PICTURE, **{"max_concurrency": 1, **other})
        self.computed, self._released = list[str](), threading.Event()

    def ask(self, session: str, key: str, view: str = "") -> asyncio.Task[bytes]:
        def compute() -> bytes:
            self.computed.append(key)
            return key.encode()

        return asyncio.create_task(self.queue.submit(Client("", session), key, compute, never(), view=view))

    async def release(self, *tasks: asyncio.Task[bytes]) -> list[bytes | BaseException]:
        """What these questions are answered."""
        await soon()
        self._released.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    async def __aenter__(self) -> Asked:
        def hold() -> bytes:
            self._released.wait(PATIENCE)
            return b""

        self._first = asyncio.create_task(self.queue.submit(Client("", "someone"), "held", hold, never()))
        await soon()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.release(self._first)


def refused(found: list[bytes | BaseException]) -> list[bool]:
    return [isinstance(one, QueueFull) for one in found]


async def test_equal_questions_are_computed_once() -> None:
    for key, computed in (("same", ["same"]), ("held", [])):  # held: it is being computed
        async with Asked() as asked:
            tasks = [asked.ask(f"visitor {number}", key) for number in range(50)]
            assert set(await asked.release(*tasks)) == {"".join(computed).encode()}
        assert asked.computed == computed


async def test_newest_question_of_a_view_and_of_a_visitor_takes_the_place_of_an_older_one() -> None:
    async with Asked() as asked:
        typed = [asked.ask("typing", f"key {number}", "maps") for number in range(3)]
        other = asked.ask("patient", "other", "maps")
        typed += [asked.ask("typing", f"key {number}", "maps") for number in range(3, 6)]
        beside = asked.ask("typing", "beside", "focus")
        assert refused(await asked.release(*typed)) == [True] * 5 + [False]
        assert [await other, await beside] == [b"other", b"beside"]
    assert asked.computed == ["key 5", "other", "beside"], "what is given up is not computed"
    async with Asked(max_queued_per_client=2) as asked:
        found = await asked.release(*(asked.ask("typing", f"key {number}") for number in range(6)))
        assert refused(found) == [True] * 4 + [False] * 2
    assert asked.computed == ["key 4", "key 5"]


async def test_visitors_take_turns_with_their_questions_and_of_one_address_only_so_many_wait() -> None:
    async with Asked() as asked:
        tasks = [asked.ask("much", f"much {number}") for number in range(4)]
        await soon()
        await asked.release(*tasks, *(asked.ask(name, name) for name in ("one", "two")))
    assert asked.computed[0] == "much 0"
    assert set(asked.computed[1:3]) == {"one", "two"}
    async with Asked(max_queued_per_client=3, max_queued=25) as asked:  # of one address
        found = await asked.release(*(asked.ask("", f"page {n}") for n in range(26)))
        assert refused(found) == [False] * 25 + [True]


async def test_abandoned_request_is_not_computed() -> None:
    async with Asked() as asked:
        with pytest.raises(ClientDisconnected):
            await asked.queue.submit(Client("", "visitor"), "left", lambda: b"", soon())
        cancelled = asked.ask("another", "cancelled")
        await soon()
        cancelled.cancel()
        assert await asked.release(asked.ask("visitor", "stays")) == [b"stays"]
    assert asked.computed == ["stays"]


async def test_long_work_gives_way_to_a_picture_before_each_pass_but_not_for_ever() -> None:
    queue = bounded(Work.HEAVY, yield_s=60.0)
    goes_on, looks, passes = threading.Event(), list[int](), list[int]()

    def heavy() -> bytes:
        for number in range(3):
            looks.append(number)
            yield_and_check_cancelled()
            passes.append(number)
            goes_on.wait(PATIENCE)
        return b"heavy"

    task = asyncio.create_task(queue.submit(Client("", "one"), "heavy", heavy, never(), work=Work.HEAVY))
    await asyncio.to_thread(wait, lambda: passes)

    def picture() -> bytes:
        goes_on.set()
        wait(lambda: len(looks) == 2)
        return str(len(passes)).encode()

    assert await queue.submit(Client("", "other"), "picture", picture, never()) == b"1"
    assert await task == b"heavy"
    assert len(passes) == 3
    assert all(BOUNDS[work].yield_s <= 0.2 for work in Work)


async def test_abandoned_long_job_is_cancelled_and_frees_its_slot() -> None:
    queue, begun, ended = Queue(), threading.Event(), threading.Event()

    def heavy() -> bytes:
        begun.set()
        try:
            while True:
                yield_and_check_cancelled()
        except Cancelled:
            ended.set()
            raise

    async def leaves() -> None:
        await asyncio.to_thread(begun.wait, PATIENCE)

    visitor = Client("", "visitor")
    with pytest.raises(ClientDisconnected):
        await queue.submit(visitor, "key", heavy, leaves(), work=Work.HEAVY)
    assert await asyncio.to_thread(ended.wait, PATIENCE)
    assert await queue.submit(visitor, "key", lambda: b"again", never(), work=Work.HEAVY) == b"again"


async def test_question_that_turns_out_to_be_heavy_begins_anew_when_its_turn_comes() -> None:
    queue, begun = Queue(), list[str]()

    def ask(name: str, session: str = "") -> asyncio.Task[bytes]:
        def compute() -> bytes:
            begun.append(name)
            with queue.slot(Work.HEAVY):
                return name.encode()

        return asyncio.create_task(
            queue.submit(Client("", session or name), name, compute, never(), work=Work.LOW_PRIORITY)
        )

    with queue.slot(Work.HEAVY):
        asked = [ask(name) for name in ("one", "two", "leaves")]
        await asyncio.to_thread(wait, lambda: len(begun) == 3)
        twice = ask("one", "late")
        await soon()
        asked[-1].cancel()
        known = queue.submit(Client("", "short"), "known", lambda: b"known", never(), work=Work.LOW_PRIORITY)
        assert await known == b"known", "it waits without a place among those below a picture"
    assert await asyncio.gather(*asked[:2], twice) == [b"one", b"two", b"one"]
    assert sorted(begun) == ["leaves", "one", "one", "two", "two"]


QUESTION = st.tuples(
    st.integers(0, 3), st.integers(0, 4), st.sampled_from(QUESTIONS), st.sampled_from(["", "view"]),
    st.sampled_from(["stays", "leaves", "fails"]),
)  # fmt: skip


@given(st.lists(QUESTION, min_size=1, max_size=25))
def test_random_departures_free_every_slot(acts: list[tuple[int, int, Work, str, str]]) -> None:
    queue = Queue()

    def compute(ends: str) -> bytes:
        yield_and_check_cancelled()
        if ends == "fails":
            raise ValueError
        return b"answer"

    async def play() -> None:
        tasks = []
        for who, key, work, view, ends in acts:
            leaves = asyncio.sleep(0) if ends == "leaves" else never()
            made, visitor = partial(compute, ends), Client("", f"tab {who}")
            tasks.append(asyncio.create_task(queue.submit(visitor, (key, work), made, leaves, work=work, view=view)))
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(one == b"answer" or isinstance(one, (QueueFull, ClientDisconnected, ValueError)) for one in found)
        for work in QUESTIONS:
            again = [queue.submit(Client("", "new"), (work, n), lambda: b"free", never(), work=work) for n in range(3)]
            assert await asyncio.wait_for(asyncio.gather(*again), PATIENCE) == [b"free"] * 3

    run(play())
