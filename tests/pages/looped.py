"""Coroutines in tests, each in a thread of its own, as a browser's loop may run in that of the test; and ASGI apps."""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

P = ParamSpec("P")
T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(None if timeout is None else 0)
        if not ready and timeout:
            self.now += timeout
        return ready


class _Loop(asyncio.SelectorEventLoop):
    """A loop whose time is 0 at first and jumps to the next timer whenever nothing else is to be done."""

    def __init__(self) -> None:
        self._jumping = _Selector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def _run(main: Coroutine[Any, Any, T], loop: Callable[[], asyncio.AbstractEventLoop] | None = None) -> T:
    with asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(main)


def run(main: Coroutine[Any, Any, T]) -> T:
    """What a coroutine gives, or raises."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_run, main).result()


def without_waiting(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make a function of a coroutine whose sleeps and timeouts take no time. It must not wait for threads."""

    @functools.wraps(test)
    def ran(*args: P.args, **kwargs: P.kwargs) -> T:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(_run, test(*args, **kwargs), _Loop).result()

    return ran


async def through(gate: Callable[[ASGIApp], ASGIApp], **asked: Any) -> list[Message]:
    """What comes through a gate of an app that accepts a connection, and says 200 and x with a header of its own."""
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept", "headers": [(b"x-frame-options", b"ALLOW")]})
        else:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"x-frame-options", b"ALLOW")]})
            await send({"type": "http.response.body", "body": b"x"})

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    await gate(app)({"type": "http", "path": "/", "headers": [], **asked}, receive, send)
    return sent
