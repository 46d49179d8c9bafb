"""The gate of Streamlit's connections: how many there may be, how fast they may ask, how much may lie there unread."""

import asyncio
import os
import time
from collections import Counter

from google.protobuf.message import DecodeError
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

from headlight.server.sockets import KEY, abort_connection, client_network_of, connected
from headlight.server.token_bucket import Rate, TokenBucket

MAX_SOCKETS = 400  # connections in all, and
MAX_CONNECTIONS_PER_CLIENT = int(
    os.environ.get("HEADLIGHT_SOCKETS") or 100
)  # of one address: a class may sit behind a single one
MESSAGES: Rate = 20.0, 30  # of one connection, a second of silence; a key held down sends 30, for a few seconds
HASTY: Rate = 5.0, 1  # of all connections that have said more than that, together
BYTES_OF_ONE = 2**16  # of a message; a longer one counts as several
MAX_CONTROLS = 500  # that a message names: the largest page has some seventy
SMALL = 2**13  # bytes of a message that cannot name so many


class SocketGate:
    """ASGI middleware that bounds what visitors' connections may take: their number, their messages, their memory."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._hasty = TokenBucket(*HASTY)
        self._open: Counter[str] = Counter()  # connections, by address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return
        address = client_network_of(scope)
        if not self._accepts(address):
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

    def _accepts(self, address: str) -> bool:
        return self._open[address] < MAX_CONNECTIONS_PER_CLIENT and self._open.total() < MAX_SOCKETS


class _Connection:
    """One connection. Who does not read his answers is not heard until he does, and who is hasty waits for the others.

    A right to speak is earned by silence: who waits for his answers always has it, and whose next message is there
    before the last one was heard uses it up. All of those share one pace. The server stops reading from the network
    while a message waits here, so what waits is bounded too.
    """

    def __init__(self, receive: Receive, send: Send, hasty: TokenBucket) -> None:
        self._receive, self._send, self._hasty = receive, send, hasty
        self._silence = 0.0  # seconds in which nothing was said
        self._messages = TokenBucket(*MESSAGES, lambda: self._silence)
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
                abort_connection(self._receive)
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


def _names_too_many(content: bytes) -> bool:
    """Tells whether a message names more controls than any page has. What cannot be read, Streamlit refuses."""
    if len(content) <= SMALL:
        return False
    try:
        return len(BackMsg.FromString(content).rerun_script.widget_states.widgets) > MAX_CONTROLS
    except DecodeError:
        return False
