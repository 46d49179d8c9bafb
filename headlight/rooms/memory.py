"""Rooms in this process."""

import asyncio
from dataclasses import dataclass

from .store import KEPT_SECONDS, MOST_ROOMS, Full, Tell, TellAway


@dataclass
class _Held:
    version: int
    content: bytes
    end: asyncio.TimerHandle


class Memory:
    """Rooms, each until `kept_seconds` after its last act, by a clock that is never set."""

    def __init__(self, most: int = MOST_ROOMS, kept_seconds: float = KEPT_SECONDS) -> None:
        self._most, self._kept_seconds = most, kept_seconds
        self._rooms: dict[str, _Held] = {}
        self._tell: Tell = lambda *_: None

    def start(self, tell: Tell, tell_away: TellAway) -> None:
        self._tell = tell

    async def create(self, code: str, content: bytes) -> bool:
        if code in self._rooms:
            return False
        if len(self._rooms) >= self._most:
            raise Full
        self._hold(code, 1, content)
        return True

    async def read(self, code: str) -> bytes | None:
        held = self._rooms.get(code)
        return held.content if held else None

    async def swap(self, code: str, version: int, content: bytes) -> bool:
        held = self._rooms.get(code)
        if held is None or held.version != version:
            return False
        held.end.cancel()
        self._hold(code, version + 1, content)
        return True

    async def delete(self, code: str) -> None:
        if code in self._rooms:
            self._rooms[code].end.cancel()
            self._drop(code)

    def _hold(self, code: str, version: int, content: bytes) -> None:
        end = asyncio.get_running_loop().call_later(self._kept_seconds, self._drop, code)
        self._rooms[code] = _Held(version, content, end)
        self._tell(code, version)

    def _drop(self, code: str) -> None:
        del self._rooms[code]
        self._tell(code, 0)
