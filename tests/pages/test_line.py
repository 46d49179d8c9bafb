"""The line of those who ask for pictures: the newest of a visitor, few at once, nothing for who has gone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from pages.kit.picture.sharing import Unwanted, check_wanted
from pages.kit.wire.line import RATE, Busy, Gone, Line, Work


async def never() -> None:
    await asyncio.Event().wait()


def in_line(scene: Callable[[Line, threading.Event, list[str]], Awaitable[None]], **sizes: int) -> list[str]:
    """Plays a scene in a line whose one thread is held until the event is set; returns what was computed, in order."""
    held, computed = threading.Event(), list[str]()

    async def play() -> None:
        line = Line(**{"at_once": 1, **sizes})

        def hold() -> bytes:
            held.wait(10)
            return b""

        first = asyncio.create_task(line.answer("someone", "held", hold, never()))
        await asyncio.sleep(0.02)
        await scene(line, held, computed)
        held.set()
        await first

    asyncio.run(play())
    return computed


def ask(line: Line, visitor: str, key: str, computed: list[str]) -> asyncio.Task[bytes]:
    def compute() -> bytes:
        computed.append(key)
        return key.encode()

    return asyncio.create_task(line.answer(visitor, key, compute, never()))


def test_equal_questions_are_computed_once() -> None:
    async def scene(line: Line, held: threading.Event, computed: list[str]) -> None:
        asked = [ask(line, f"visitor {number}", "same", computed) for number in range(50)]
        await asyncio.sleep(0.02)
        held.set()
        assert set(await asyncio.gather(*asked)) == {b"same"}

    assert in_line(scene) == ["same"]


def test_a_visitors_newest_questions_push_out_his_oldest() -> None:
    async def scene(line: Line, held: threading.Event, computed: list[str]) -> None:
        asked = [ask(line, "typing", f"key {number}", computed) for number in range(6)]
        other = ask(line, "patient", "other", computed)
        await asyncio.sleep(0.02)
        held.set()
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [isinstance(one, Busy) for one in found] == [True] * 4 + [False] * 2
        assert await other == b"other"

    assert in_line(scene, most_of_one=2) == ["key 4", "other", "key 5"], "what was pushed out is not computed"


def test_visitors_take_turns() -> None:
    async def scene(line: Line, held: threading.Event, computed: list[str]) -> None:
        asked = [ask(line, "much", f"much {number}", computed) for number in range(4)]
        await asyncio.sleep(0.01)
        asked += [ask(line, name, name, computed) for name in ("one", "two")]
        await asyncio.sleep(0.01)
        held.set()
        await asyncio.gather(*asked)

    assert in_line(scene, most_of_one=4) == ["much 0", "one", "two", "much 1", "much 2", "much 3"]


def test_what_nobody_waits_for_is_not_computed() -> None:
    async def scene(line: Line, held: threading.Event, computed: list[str]) -> None:
        async def hangs_up() -> None:
            await asyncio.sleep(0.01)

        def compute() -> bytes:
            computed.append("left")
            return b""

        with pytest.raises(Gone):
            await line.answer("visitor", "left", compute, hangs_up())
        stays = ask(line, "visitor", "stays", computed)
        await asyncio.sleep(0.01)
        held.set()
        assert await stays == b"stays"

    assert in_line(scene) == ["stays"]


def test_a_full_line_takes_nobody() -> None:
    async def scene(line: Line, held: threading.Event, computed: list[str]) -> None:
        asked = [ask(line, f"visitor {number}", f"question {number}", computed) for number in range(4)]
        await asyncio.sleep(0.01)
        with pytest.raises(Busy) as busy:
            await ask(line, "late", "question", computed)
        assert busy.value.seconds >= 1
        held.set()
        await asyncio.gather(*asked)

    assert len(in_line(scene, most_waiting=5)) == 4


def test_an_error_goes_to_all_who_wait_and_is_not_kept() -> None:
    async def play() -> None:
        line, tries = Line(at_once=1), list[int]()

        def fails() -> bytes:
            tries.append(1)
            raise ValueError

        for _ in range(2):
            both = [asyncio.create_task(line.answer(name, "key", fails, never())) for name in "ab"]
            found = await asyncio.gather(*both, return_exceptions=True)
            assert [type(one) for one in found] == [ValueError, ValueError]
        assert len(tries) == 2

    asyncio.run(play())


def test_who_asks_too_often_waits() -> None:
    async def play() -> int:
        line, refused = Line(), 0
        for number in range(int(RATE[1]) + 40):
            try:
                await line.answer("flood", number, lambda: b"", never())
            except Busy:
                refused += 1
        return refused

    assert asyncio.run(play()) > 0


def test_what_takes_long_does_not_hold_up_what_is_short() -> None:
    async def play() -> None:
        line, held = Line(at_once=1), threading.Event()

        def slow() -> bytes:
            held.wait(10)
            return b"slow"

        long = [asyncio.create_task(line.answer("one", key, slow, never(), work=Work.LONG)) for key in "ab"]
        await asyncio.sleep(0.02)
        assert await line.answer("other", "short", lambda: b"short", never()) == b"short"
        held.set()
        assert await asyncio.gather(*long) == [b"slow"] * 2

    asyncio.run(play())


def test_many_may_wait_behind_one_address() -> None:
    async def scene(line: Line, held: threading.Event, computed: list[str]) -> None:
        opened = [line.answer("class", n, lambda: b"page", never(), most=25) for n in range(25)]
        asked = [asyncio.create_task(one) for one in opened]
        await asyncio.sleep(0.02)
        held.set()
        assert await asyncio.gather(*asked) == [b"page"] * 25

    in_line(scene, most_of_one=3)


def test_heavy_work_that_nobody_waits_for_is_broken_off() -> None:
    async def play() -> None:
        line, begun, ended = Line(), threading.Event(), threading.Event()

        def heavy() -> bytes:
            begun.set()
            try:
                while True:
                    check_wanted()
            except Unwanted:
                ended.set()
                raise

        async def leaves() -> None:
            await asyncio.to_thread(begun.wait, 10)

        with pytest.raises(Gone):
            await line.answer("visitor", "key", heavy, leaves(), work=Work.HEAVY)
        assert await asyncio.to_thread(ended.wait, 10)
        assert await line.answer("visitor", "key", lambda: b"again", never(), work=Work.HEAVY) == b"again"

    asyncio.run(play())
