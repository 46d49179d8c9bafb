"""Limits on Streamlit's WebSocket connections: their number, message rate and memory."""

import asyncio
import os
import time
from collections import Counter

from google.protobuf.message import DecodeError
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

from headlight.server.sockets import KEY, abort_connection, client_network_from_scope, open_connections
from headlight.server.token_bucket import Rate, TokenBucket

MAX_SOCKETS = 400  # connections of all clients
MAX_CONNECTIONS_PER_CLIENT = int(
    os.environ.get("HEADLIGHT_SOCKETS") or 100
)  # per address, as a class may share a single one
MESSAGE_RATE: Rate = 20.0, 30  # of one connection, per second of idle time; a held key sends 30 for a few seconds
OVERFLOW_RATE: Rate = 5.0, 1  # of all connections above that rate together
BYTES_PER_MESSAGE = 2**16  # a longer message counts as several
MAX_CONTROLS = 500  # in a message; the largest page has about seventy
MIN_PARSED_BYTES = 2**13  # a message of at most this size cannot name too many controls


class SocketMiddleware:
    """ASGI middleware that limits connections, messages and memory of clients."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._overflow = TokenBucket(*OVERFLOW_RATE)
        self._open: Counter[str] = Counter()  # connections, by address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the connection on within the limits, or close it."""
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return
        address = client_network_from_scope(scope)
        if self._open[address] >= MAX_CONNECTIONS_PER_CLIENT or self._open.total() >= MAX_SOCKETS:
            await send({"type": "websocket.close", "code": 1013})
            return
        self._open[address] += 1
        key = Headers(scope=scope).get(KEY, "")
        open_connections.add(key)
        connection = _Connection(receive, send, self._overflow)
        try:
            await self.app(scope, connection.receive, connection.send)
        finally:
            open_connections.discard(key)
            self._open[address] -= 1
            self._open += Counter()  # drops zero counts


class _Connection:
    """A connection with back-pressure: no message is read while a response is unsent.

    Tokens are earned by idle time, so that a client that waits for responses always has one. Messages without a token
    share the pace of one bucket with those of all other connections. The server stops reading from the network while a
    message waits here, so that their number is bounded too.
    """

    def __init__(self, receive: Receive, send: Send, overflow: TokenBucket) -> None:
        self._receive, self._send, self._overflow = receive, send, overflow
        self._idle_seconds = 0.0  # the bucket's clock: time without a message
        self._messages = TokenBucket(*MESSAGE_RATE, lambda: self._idle_seconds)
        self._drained = asyncio.Event()  # set while no response is being sent
        self._drained.set()

    async def receive(self) -> Message:
        """Return the next message when the rate limit allows it."""
        start = time.monotonic()
        message = await self._receive()
        self._idle_seconds += time.monotonic() - start
        if message["type"] == "websocket.receive":
            content: bytes = message.get("bytes") or b""
            count = 1 + len(content) // BYTES_PER_MESSAGE
            if has_too_many_controls(content):
                abort_connection(self._receive)
                return {"type": "websocket.disconnect", "code": 1008}
            await asyncio.sleep(0 if self._messages.allows(count) else self._overflow.take(count))
            await self._drained.wait()
        return message

    async def send(self, message: Message) -> None:
        """Send a response when enough of the earlier ones are sent."""
        self._drained.clear()
        try:
            await self._send(message)
        finally:
            self._drained.set()


def has_too_many_controls(content: bytes) -> bool:
    """Return whether a message names more controls than any page has; Streamlit rejects an invalid message."""
    if len(content) <= MIN_PARSED_BYTES:
        return False
    try:
        return len(BackMsg.FromString(content).rerun_script.widget_states.widgets) > MAX_CONTROLS
    except DecodeError:
        return False
