"""Network identity of clients, open connections, and options of sockets."""

import ipaddress
import socket
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

KEY = "Sec-WebSocket-Key"  # the header by which a browser tells its connections apart
open_connections: set[str] = set()  # keys of the open connections

MAX_OPEN = 8192  # files and connections of this process


def client_network(address: str) -> str:
    """Return the address that a client is counted by: of IPv6 the /64 network, since a client has 2⁶⁴ addresses."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv4Address):
        return address
    return str(ip.ipv4_mapped or ipaddress.ip_network((ip, 64), strict=False))


def client_network_from_scope(scope: Scope) -> str:
    """Return the address that the client of a request is counted by."""
    return client_network(str((scope.get("client") or ("",))[0]))


def allow_open_files() -> None:
    """Raise the limit of open files, often 256 or 1,024 at first, as far as the machine allows."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = MAX_OPEN if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


class NoDelay:
    """ASGI middleware that switches Nagle's algorithm off on every connection, so that responses leave at once.

    A response is written in two pieces, its headers and its body. With the algorithm the second one waits until the
    first is acknowledged, which systems delay by 40 ms. asyncio switches it off by itself, but not on a socket that was
    opened without naming its protocol, as Streamlit's is.

    Source: J. Nagle, RFC 896; https://github.com/Kludex/uvicorn/issues/3149.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Set TCP_NODELAY and pass the connection on."""
        transport = get_transport(receive)
        connection = transport.get_extra_info("socket") if transport else None
        if connection is not None:
            with suppress(OSError):  # it is closed already
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await self.app(scope, receive, send)


def abort_connection(receive: Receive) -> None:
    """Abort a connection at once: a polite close waits until the client has read everything, which may be never."""
    transport = get_transport(receive)
    if transport:
        transport.abort()


async def wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass


def get_transport(receive: Receive) -> Any:
    """Return the transport of a connection, None where the server hides it."""
    return getattr(getattr(receive, "__self__", None), "transport", None)
