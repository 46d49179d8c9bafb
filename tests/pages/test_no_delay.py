"""An answer leaves at once, on the kind of socket that Streamlit opens."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pages.kit.server.no_delay import NoDelay
from pages.kit.server.sockets import transport_of

from .looped import run


@contextmanager
def serving(app: ASGIApp) -> Iterator[int]:
    """A server on a socket without a named protocol; yields its port."""
    with socket.socket(socket.AF_INET) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def test_nothing_waits_to_be_acknowledged() -> None:
    found = list[bool]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        connection = transport_of(receive).get_extra_info("socket")
        found.append(bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
        await PlainTextResponse("hello")(scope, receive, send)

    with serving(NoDelay(app)) as port, socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(2**16), b""))
    assert answer.endswith(b"hello")
    assert found == [True]


def test_a_server_that_hides_its_connection_is_left_alone() -> None:
    async def receive() -> dict[str, str]:
        return {}

    reached = list[str]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append(scope["type"])

    async def send(message: object) -> None:
        pass

    run(NoDelay(app)({"type": "http"}, receive, send))
    assert reached == ["http"]
