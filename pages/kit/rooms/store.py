"""Where rooms are held, as bytes with a version: in this process, or in a Valkey that replicas share.

A change names the version that it was made of and is refused where another one was quicker, so that it is made anew of
that. Which one, the environment says: `HEADLIGHT_ROOMS`.
"""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

VARIABLE: Final = "HEADLIGHT_ROOMS"  # "" here, "off" nowhere, or valkey://HOST:PORT/NUMBER; `headlight --rooms` sets it
MOST_ROOMS: Final = 100  # at a time
KEPT_SECONDS: Final = 90 * 60.0  # since the last act

Tell = Callable[[str, int], None]  # a room has changed to a version, 0: it is gone
TellAway = Callable[[bool], None]  # the store cannot be reached, or can again: then any room may have changed


class Away(Exception):
    """The store cannot be reached, so nothing is known of what was asked."""


class Full(Exception):
    """There are as many rooms as there may be."""


class Store(Protocol):
    """What holds rooms. Every method may raise Away."""

    def start(self, tell: Tell, tell_away: TellAway) -> None:
        """Says from now on what changes; called once, in the event loop."""

    async def create(self, code: str, content: bytes) -> bool:
        """Holds a new room, of version 1; False where there is one of this code. Raises Full."""

    async def read(self, code: str) -> bytes | None:
        """A room; None where there is none."""

    async def swap(self, code: str, version: int, content: bytes) -> bool:
        """Puts the next version in the place of this one; False where another one stands there, or none."""

    async def delete(self, code: str) -> None:
        """Lets go of a room."""


@dataclass
class _Held:
    version: int
    content: bytes
    end: asyncio.TimerHandle


class Memory:
    """Rooms in this process, each until `kept_seconds` after its last act, by a clock that is never set."""

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


def of_environment() -> Store | None:
    """The store that the environment names; None where rooms are off."""
    named = os.environ.get(VARIABLE, "")
    if named == "off":
        return None
    if not named:
        return Memory()
    from .shared import Shared

    return Shared(named)
