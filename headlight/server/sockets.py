"""The connections: how many there may be, how fast they may ask, how much may lie there unread; no answer waits."""

import asyncio
import ipaddress
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any

from cachetools import TTLCache
from google.protobuf.message import DecodeError
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

Rate = tuple[float, int]  # a second, and at once

KEY = "Sec-WebSocket-Key"  # the header by which a browser tells its connections apart
connected: set[str] = set()  # the keys of those that are open

MOST_SOCKETS = 400  # connections in all, and
MOST_OF_ONE = int(os.environ.get("HEADLIGHT_SOCKETS") or 100)  # of one address: a class may sit behind a single one
MESSAGES: Rate = 20.0, 30  # of one connection, a second of silence; a key held down sends 30, for a few seconds
HASTY: Rate = 5.0, 1  # of all connections that have said more than that, together
BYTES_OF_ONE = 2**16  # of a message; a longer one counts as several
MOST_CONTROLS = 500  # that a message names: the largest page has some seventy
SMALL = 2**13  # bytes of a message that cannot name so many
MOST_OPEN = 8192  # files and connections of this process


def client_network(address: str) -> str:
    """Whom an address stands for: of IPv6 its network, since everybody there has 2⁶⁴ of them."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))


def network_of(scope: Scope) -> str:
    """Whom the address stands for that a question comes from."""
    return client_network(str((scope.get("client") or ("",))[0]))


def allow_open_files() -> None:
    """Lets this process have as many connections as the machine allows it to ask for: often 256 or 1,024 at first."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = MOST_OPEN if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class Bucket:
    """Counts what may happen `rate` times a second, and `most` times at once."""

    def __init__(self, rate: float, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._most, self._clock = rate, most, clock
        self._left, self._seen = float(most), clock()

    def take(self, count: int = 1) -> float:
        """Takes some, on credit if need be; the seconds until they are there."""
        self._fill()
        self._left -= count
        return max(0.0, -self._left / self._rate)

    def allows(self, count: int = 1) -> bool:
        """Takes some if they are there; who is refused takes none, so that he does not keep others out."""
        self._fill()
        there = self._left >= count
        self._left -= count * there
        return there

    def _fill(self) -> None:
        now = self._clock()
        self._left = min(self._most, self._left + self._rate * (now - self._seen))
        self._seen = now


class Buckets:
    """A bucket for each name, forgotten when it is full again."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._buckets: TTLCache[Hashable, Bucket] = TTLCache(10_000, rate[1] / rate[0])

    def allows(self, name: Hashable) -> bool:
        """Takes one of a name, if it is there."""
        bucket = self._buckets[name] = self._buckets.get(name) or Bucket(*self._rate)
        return bucket.allows()


class NoDelay:
    """ASGI middleware that switches Nagle's algorithm off on every connection, so that answers leave at once.

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


class SocketGate:
    """ASGI middleware that bounds what visitors' connections may take: their number, their messages, their memory."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._hasty = Bucket(*HASTY)
        self._open: Counter[str] = Counter()  # connections, by address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return
        address = network_of(scope)
        if not self._lets_in(address):
            await send({"type": "websocket.close", "code": 1013})
            return
        self._open[address] += 1
        key = Headers(scope=scope).get(KEY, "")
        connected.add(key)
        connection = _Connection(receive, send, self._hasty)
        try:
            await self.app(scope, connection.receive, connection.send)
        finally:
            connected.discard(key)
            self._open[address] -= 1
            self._open += Counter()  # drops who has none open

    def _lets_in(self, address: str) -> bool:
        return self._open[address] < MOST_OF_ONE and self._open.total() < MOST_SOCKETS


class _Connection:
    """One connection. Who does not read his answers is not heard until he does, and who is hasty waits for the others.

    A right to speak is earned by silence: who waits for his answers always has it, and whose next message is there
    before the last one was heard uses it up. All of those share one pace. The server stops reading from the network
    while a message waits here, so what waits is bounded too.
    """

    def __init__(self, receive: Receive, send: Send, hasty: Bucket) -> None:
        self._receive, self._send, self._hasty = receive, send, hasty
        self._silence = 0.0  # seconds in which nothing was said
        self._messages = Bucket(*MESSAGES, lambda: self._silence)
        self._read = asyncio.Event()  # no answer waits to be read
        self._read.set()

    async def receive(self) -> Message:
        """The next message, when it is its time."""
        asked = time.monotonic()
        message = await self._receive()
        self._silence += time.monotonic() - asked
        if message["type"] == "websocket.receive":
            content: bytes = message.get("bytes") or b""
            count = 1 + len(content) // BYTES_OF_ONE
            if _names_too_many(content):
                hang_up(self._receive)
                return {"type": "websocket.disconnect", "code": 1008}
            await asyncio.sleep(0 if self._messages.allows(count) else self._hasty.take(count))
            await self._read.wait()
        return message

    async def send(self, message: Message) -> None:
        """Sends an answer, as soon as enough of the earlier ones has been read."""
        self._read.clear()
        try:
            await self._send(message)
        finally:
            self._read.set()


def hang_up(receive: Receive) -> None:
    """Ends a connection at once. ASGI can only close it politely: after all has been read, which may be never."""
    transport = transport_of(receive)
    if transport:
        transport.abort()


async def hung_up(receive: Receive) -> None:
    """Returns when the visitor has hung up."""
    while (await receive())["type"] != "http.disconnect":
        pass


def transport_of(receive: Receive) -> Any:
    """The connection itself, None where the server hides it."""
    return getattr(getattr(receive, "__self__", None), "transport", None)


def _names_too_many(content: bytes) -> bool:
    """Tells whether a message names more controls than any page has. What cannot be read, Streamlit refuses."""
    if len(content) <= SMALL:
        return False
    try:
        return len(BackMsg.FromString(content).rerun_script.widget_states.widgets) > MOST_CONTROLS
    except DecodeError:
        return False
