"""Stores of rooms, each as bytes under its code: in this process, or in a Valkey that several servers share.

Writes are compare-and-swap: they fail if the content has changed meanwhile, and the caller retries. A room expires
`kept_seconds` after its last change, by a monotonic clock. Where there are too many, an idle room gives its place to a
new one: the one with the oldest change of those that for `IDLE_SECONDS` were neither changed nor listened to.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from cachetools import TTLCache

VARIABLE: Final = "HEADLIGHT_ROOMS"  # its URL; `headlight --rooms` sets it
MAX_ROOMS: Final = 100  # at a time
KEPT_SECONDS: Final = 90 * 60  # since the last act
IDLE_SECONDS: Final = 60
EXPIRED: Final = -2  # the time to live of a key that is no longer there
TIMEOUT_SECONDS: Final = 2.0  # for a response of a Valkey, or a connection to it
MAX_CONNECTIONS: Final = 16
PREFIX: Final = "headlight:2:room:"  # 2 is the version of the format: servers of another version ignore these keys
LISTENED: Final = "headlight:2:listened:"  # prefix of the keys of rooms with listeners
_SWAP = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1
"""


class StoreUnavailable(Exception):
    """The store cannot be reached; whether the operation took place is unknown."""


class TooManyRooms(Exception):
    """The store has reached its maximum number of rooms."""


class MemoryStore:
    """Rooms in this process."""

    def __init__(self, max_rooms: int = MAX_ROOMS, kept_seconds: int = KEPT_SECONDS) -> None:
        self._rooms: TTLCache[str, bytes]  # the oldest change first
        self._rooms = TTLCache(max_rooms, kept_seconds, timer=lambda: asyncio.get_running_loop().time())
        self._in_use: TTLCache[str, bool] = TTLCache(max_rooms, IDLE_SECONDS, timer=self._rooms.timer)

    async def create(self, code: str, content: bytes) -> bool:
        """Store a new room; return False if the code is taken.

        Raises:
            TooManyRooms: there are too many rooms, and none is idle.
        """
        if code in self._rooms:
            return False
        if len(self._rooms) >= self._rooms.maxsize:
            idle = next((room for room in self._rooms if room not in self._in_use), None)
            if idle is None:
                raise TooManyRooms
            del self._rooms[idle]
        self._rooms[code] = content
        await self.touch(code)
        return True

    async def read(self, code: str) -> bytes | None:
        """Return a room, None if there is none."""
        return self._rooms.get(code)

    async def swap(self, code: str, expected: bytes, content: bytes) -> bool:
        """Replace the content of a room; return False if it is not the expected one."""
        if self._rooms.get(code) != expected:
            return False
        self._rooms[code] = content
        await self.touch(code)
        return True

    async def touch(self, code: str) -> None:
        """Note that a room has listeners; call it more often than every `IDLE_SECONDS`."""
        self._in_use[code] = True

    async def delete(self, code: str) -> None:
        """Delete a room, if there is one."""
        self._rooms.pop(code, None)
        self._in_use.pop(code, None)


class ValkeyStore:
    """Rooms in the Valkey at a URL; every method may raise StoreUnavailable."""

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
        """See `MemoryStore`."""
        with self._translate_errors():
            if not await self._client.set(f"{PREFIX}{code}", content, nx=True, ex=self._kept_seconds):
                return False
            rooms = {key async for key in self._client.scan_iter(f"{PREFIX}*", count=1000)}
            # counted with the new room, so that concurrent servers cannot exceed the maximum
            if len(rooms) <= self._max_rooms or await self._delete_idle(rooms):
                return True
        await self.delete(code)
        raise TooManyRooms

    async def _delete_idle(self, rooms: set[bytes]) -> bool:
        """Delete the idle room with the oldest change; return False if none is idle."""
        names = [key.decode().removeprefix(PREFIX) for key in rooms]
        listened = await self._client.mget([f"{LISTENED}{name}" for name in names])
        silent = [name for name, has_listeners in zip(names, listened, strict=True) if not has_listeners]
        left = [(await self._client.ttl(f"{PREFIX}{name}"), name) for name in silent]
        if not left or min(left)[0] > self._kept_seconds - IDLE_SECONDS:
            return False
        seconds, oldest = min(left)
        return seconds == EXPIRED or bool(await self._client.delete(f"{PREFIX}{oldest}"))

    async def touch(self, code: str) -> None:
        """See `MemoryStore`."""
        with self._translate_errors():
            await self._client.set(f"{LISTENED}{code}", b"1", ex=IDLE_SECONDS)

    async def read(self, code: str) -> bytes | None:
        """See `MemoryStore`."""
        with self._translate_errors():
            content: bytes | None = await self._client.get(f"{PREFIX}{code}")
            return content

    async def swap(self, code: str, expected: bytes, content: bytes) -> bool:
        """See `MemoryStore`."""
        with self._translate_errors():
            key = f"{PREFIX}{code}"
            return bool(await self._client.eval(_SWAP, 1, key, expected, content, self._kept_seconds))

    async def delete(self, code: str) -> None:
        """See `MemoryStore`."""
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
            raise StoreUnavailable from None


Store = MemoryStore | ValkeyStore


def open_store(address: str) -> Store | None:
    """Return the store at a URL, that of this process for "" and None for "off".

    Raises:
        ValueError: the URL is invalid, or the package valkey is missing.
    """
    if address in ("", "off"):
        return None if address else MemoryStore()
    try:
        parts = urlsplit(address)
        if parts.scheme not in ("valkey", "valkeys") or not parts.hostname or parts.port == 0:
            raise ValueError
        return ValkeyStore(address)  # connects later: the server may be restarted at any time
    except ImportError:
        raise ValueError("the package valkey is missing; pip install 'headlight-attention[rooms]'") from None
    except ValueError:
        raise ValueError("choose off, or a URL such as valkey://HOST:6379/0") from None
