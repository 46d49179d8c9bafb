"""Rooms in a Valkey that replicas share. A change and the word of it are one script, so either both are there or none.

The word goes by a stream, which each replica reads from where it was: what is published to nobody is lost without a
sign, what stands in a stream is not.
"""

import asyncio
from typing import Any, Final

from .store import KEPT_SECONDS, MOST_ROOMS, Away, Full, Tell, TellAway

WAIT_SECONDS: Final = 2.0  # for an answer
AGAIN_SECONDS: Final = 0.5  # until a Valkey that is away is asked again
BLOCK_MS: Final = 1000
MOST_CONNECTIONS: Final = 16
# 1 is the form of what is held: another version of Headlight that reads it otherwise does not meet it
_ROOM, _ALL, _CHANGES = "headlight:1:room:", "headlight:1:rooms", "headlight:1:changes"

_CREATE = """
local now = tonumber(redis.call('TIME')[1])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[4]) then return -1 end
redis.call('HSET', KEYS[1], 'version', 1, 'content', ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
redis.call('ZADD', KEYS[2], now + ARGV[3], ARGV[1])
redis.call('EXPIRE', KEYS[2], ARGV[3])
return 1
"""
_SWAP = """
if redis.call('HGET', KEYS[1], 'version') ~= ARGV[4] then return 0 end
local version = tonumber(ARGV[4]) + 1
redis.call('HSET', KEYS[1], 'version', version, 'content', ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
redis.call('ZADD', KEYS[2], redis.call('TIME')[1] + ARGV[3], ARGV[1])
redis.call('EXPIRE', KEYS[2], ARGV[3])
redis.call('XADD', KEYS[3], 'MAXLEN', '~', 10000, '*', 'code', ARGV[1], 'version', version)
redis.call('EXPIRE', KEYS[3], ARGV[3])
return 1
"""
_DELETE = """
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('XADD', KEYS[3], 'MAXLEN', '~', 10000, '*', 'code', ARGV[1], 'version', 0)
redis.call('EXPIRE', KEYS[3], ARGV[2])
return 1
"""


class Shared:
    """Rooms in the Valkey at an address, each until `kept_seconds` after its last act by the clock there."""

    def __init__(self, address: str, most: int = MOST_ROOMS, kept_seconds: float = KEPT_SECONDS) -> None:
        from valkey import asyncio as client
        from valkey.exceptions import ValkeyError

        self._most, self._kept_seconds = most, int(kept_seconds)
        pool = client.BlockingConnectionPool.from_url(
            address,
            max_connections=MOST_CONNECTIONS,
            timeout=WAIT_SECONDS,
            socket_timeout=WAIT_SECONDS,
            socket_connect_timeout=WAIT_SECONDS,
        )
        self._valkey: Any = client.Valkey(connection_pool=pool)
        self._away = (ValkeyError, OSError, asyncio.TimeoutError)
        self._create, self._swap, self._delete = map(self._valkey.register_script, (_CREATE, _SWAP, _DELETE))
        self._reader: asyncio.Task[None] | None = None

    def start(self, tell: Tell, tell_away: TellAway) -> None:
        self._reader = asyncio.get_running_loop().create_task(self._read_changes(tell, tell_away))

    async def create(self, code: str, content: bytes) -> bool:
        done = await self._run(self._create, code, content, self._kept_seconds, self._most)
        if done < 0:
            raise Full
        return done == 1

    async def read(self, code: str) -> bytes | None:
        try:
            content: bytes | None = await self._valkey.hget(f"{_ROOM}{code}", "content")
        except self._away:
            raise Away from None
        return content

    async def swap(self, code: str, version: int, content: bytes) -> bool:
        return await self._run(self._swap, code, content, self._kept_seconds, version) == 1

    async def delete(self, code: str) -> None:
        await self._run(self._delete, code, self._kept_seconds)

    async def close(self) -> None:
        """Ends what `start` began, and all connections."""
        if self._reader:
            self._reader.cancel()
        await self._valkey.aclose(close_connection_pool=True)

    async def _run(self, script: Any, code: str, *arguments: object) -> int:
        try:
            return int(await script(keys=[f"{_ROOM}{code}", _ALL, _CHANGES], args=[code, *arguments]))
        except self._away:
            raise Away from None

    async def _read_changes(self, tell: Tell, tell_away: TellAway) -> None:
        """Reads the stream for ever. Where it begins anew, what changed before is not read: any room may have."""
        while True:
            try:
                newest = await self._valkey.xrevrange(_CHANGES, count=1)
                at = newest[0][0] if newest else "0"
                tell_away(False)
                while True:
                    for _, entries in await self._valkey.xread({_CHANGES: at}, block=BLOCK_MS):
                        for _, said in entries:
                            tell(said[b"code"].decode(), int(said[b"version"]))
                        at = entries[-1][0]
            except self._away:
                tell_away(True)
                await asyncio.sleep(AGAIN_SECONDS)
