"""Where rooms are held, each as bytes under its code: in this process, or in a Valkey that several servers share.

A change names the content that it was made of and is refused where another one was quicker, so that it is made anew.
Every room has an end, `kept_seconds` after its last change, by a clock that nobody sets.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from cachetools import TTLCache

VARIABLE: Final = "HEADLIGHT_ROOMS"  # the address; `headlight --rooms` sets it
MAX_ROOMS: Final = 100  # at a time
KEPT_SECONDS: Final = 90 * 60  # since the last act
TIMEOUT_SECONDS: Final = 2.0  # for an answer of a Valkey, or a connection to it
MAX_CONNECTIONS: Final = 16
PREFIX: Final = "headlight:2:room:"  # with the form of what is held: one that reads it otherwise does not meet it
_SWAP = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1
"""


class Away(Exception):
    """The store cannot be reached, so nothing is known of what was asked."""


class Full(Exception):
    """There are as many rooms as there may be."""


class Store(Protocol):
    """What holds rooms. Every method may raise Away."""

    async def create(self, code: str, content: bytes) -> bool:
        """Hold a new room; False where there is one of this code. Raises Full."""

    async def read(self, code: str) -> bytes | None:
        """A room; None where there is none."""

    async def swap(self, code: str, before: bytes, after: bytes) -> bool:
        """Put new content in the place of this one; False where another one stands there, or none."""

    async def delete(self, code: str) -> None:
        """Let go of a room."""


class MemoryStore:
    """Rooms in this process."""

    def __init__(self, max_rooms: int = MAX_ROOMS, kept_seconds: int = KEPT_SECONDS) -> None:
        self._rooms: TTLCache[str, bytes]
        self._rooms = TTLCache(max_rooms, kept_seconds, timer=lambda: asyncio.get_running_loop().time())

    async def create(self, code: str, content: bytes) -> bool:
        if code in self._rooms:
            return False
        if len(self._rooms) >= self._rooms.maxsize:
            raise Full
        self._rooms[code] = content
        return True

    async def read(self, code: str) -> bytes | None:
        return self._rooms.get(code)

    async def swap(self, code: str, before: bytes, after: bytes) -> bool:
        if self._rooms.get(code) != before:
            return False
        self._rooms[code] = after
        return True

    async def delete(self, code: str) -> None:
        self._rooms.pop(code, None)


class ValkeyStore:
    """Rooms in the Valkey at an address."""

    def __init__(self, address: str, max_rooms: int = MAX_ROOMS, kept_seconds: int = KEPT_SECONDS) -> None:
        from valkey import asyncio as client
        from valkey.exceptions import ValkeyError

        self._max_rooms, self._kept_seconds = max_rooms, kept_seconds
        pool = client.BlockingConnectionPool.from_url(
            address,
            max_connections=MAX_CONNECTIONS,
            timeout=TIMEOUT_SECONDS,
            socket_timeout=TIMEOUT_SECONDS,
            socket_connect_timeout=TIMEOUT_SECONDS,
        )
        self._client: Any = client.Valkey(connection_pool=pool)
        self._errors = (ValkeyError, OSError)

    async def create(self, code: str, content: bytes) -> bool:
        with self._translate_errors():
            if not await self._client.set(f"{PREFIX}{code}", content, nx=True, ex=self._kept_seconds):
                return False
            rooms = {key async for key in self._client.scan_iter(f"{PREFIX}*", count=1000)}
            if len(rooms) <= self._max_rooms:
                return True
        await self.delete(code)  # counted with it, so that servers which open rooms at once open none too many
        raise Full

    async def read(self, code: str) -> bytes | None:
        with self._translate_errors():
            content: bytes | None = await self._client.get(f"{PREFIX}{code}")
            return content

    async def swap(self, code: str, before: bytes, after: bytes) -> bool:
        with self._translate_errors():
            key = f"{PREFIX}{code}"
            return bool(await self._client.eval(_SWAP, 1, key, before, after, self._kept_seconds))

    async def delete(self, code: str) -> None:
        with self._translate_errors():
            await self._client.delete(f"{PREFIX}{code}")

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose(close_connection_pool=True)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except self._errors:
            raise Away from None


def store_at(address: str) -> Store | None:
    """The store at an address, "" for this process; None for "off". Raises a ValueError for what names none."""
    if address in ("", "off"):
        return None if address else MemoryStore()
    try:
        parts = urlsplit(address)
        if parts.scheme not in ("valkey", "valkeys") or not parts.hostname or parts.port == 0:
            raise ValueError
        return ValkeyStore(address)  # whether one is there is seen later: it may go and come
    except ImportError:
        raise ValueError("the package valkey is missing; pip install 'headlight-attention[rooms]' brings it") from None
    except ValueError:
        raise ValueError("the rooms are off, or at an address as valkey://HOST:6379/0") from None
