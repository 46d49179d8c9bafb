"""Coroutines in tests, each in a thread of its own, as a browser's loop may run in that of the test; and ASGI apps."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """What a coroutine gives, or raises."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, main).result()


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
