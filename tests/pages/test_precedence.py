"""A script's message waits for the pictures that were asked for, and not for ever."""

from __future__ import annotations

import asyncio
import time

import pytest

from pages.kit.server.precedence import PAINT_SECONDS, first, give_way


@pytest.fixture(autouse=True)
def at_rest() -> None:
    time.sleep(PAINT_SECONDS)  # what another test asked for is painted


def test_nobody_waits_while_nothing_is_asked() -> None:
    begun = time.monotonic()
    asyncio.run(give_way(5))
    assert time.monotonic() - begun < 1


def test_a_message_goes_after_the_pictures_before_it() -> None:
    order = list[str]()

    async def picture(name: str, seconds: float) -> None:
        with first():
            await asyncio.sleep(seconds)
            order.append(name)

    async def message() -> None:
        await give_way(5)
        order.append("message")

    async def play() -> None:
        async with asyncio.TaskGroup() as group:
            for name, seconds in (("short", 0.02), ("long", 0.06)):
                group.create_task(picture(name, seconds))
            await asyncio.sleep(0)
            for _ in range(2):
                group.create_task(message())

    asyncio.run(play())
    assert order == ["short", "long", "message", "message"]


def test_it_does_not_wait_for_ever() -> None:
    async def play() -> None:
        with first():
            await give_way(0.02)

    asyncio.run(play())


def test_an_error_lets_the_others_go() -> None:
    async def play() -> None:
        with pytest.raises(ValueError, match="no"), first():
            raise ValueError("no")
        async with asyncio.timeout(1):
            await give_way(10)

    asyncio.run(play())
