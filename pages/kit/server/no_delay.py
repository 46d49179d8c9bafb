"""Answers leave at once: no packet waits for the visitor to acknowledge the one before."""

import socket
from contextlib import suppress

from starlette.types import ASGIApp, Receive, Scope, Send

from .sockets import transport_of


class NoDelay:
    """ASGI middleware that switches Nagle's algorithm off on every connection.

    An answer is written in two pieces, its headers and its body. With the algorithm the second one waits until the
    first is acknowledged, which systems put off for 40 ms. asyncio switches it off by itself, but not on a socket that
    was opened without naming its protocol, as Streamlit's is.

    Source: J. Nagle, RFC 896; https://github.com/Kludex/uvicorn/issues/3149.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        transport = transport_of(receive)
        connection = transport.get_extra_info("socket") if transport else None
        if connection is not None:
            with suppress(OSError):  # it is closed already
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await self.app(scope, receive, send)
