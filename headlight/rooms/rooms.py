"""The rooms of a server: acts one after the other, each on the newest state, and who follows a room sees each change.

An act is answered when it is stored. One that may or may not have been, since the store went away, may come again: it
is nothing new then.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

from headlight.server.readiness import STATE

from . import room as rules
from .messages import ALPHABET, CODE_LETTERS
from .room import Refusal, Room, listen_name
from .store import Away, Full, Store

ACT_SECONDS: Final = 5.0  # for an act to be stored, with those before it and those of other servers
POLL_SECONDS: Final = 0.25  # between two looks at a room that is followed: others may change it too

Change = Callable[[Room], None]


class Gone(Refusal):
    """There is no such room."""

    def __init__(self) -> None:
        super().__init__(
            "There is no room of this code: it was mistyped, or the room is gone: "
            "deleted, 90 minutes without an act, or its server was started anew.",
            404,
        )


class Channel:
    """A room that somebody here follows or changes, with its last content.

    Attributes:
        lock: held while the room is read or changed, so that no older state comes after a newer one.
        changed: set, and replaced, when there is something new to send.
    """

    def __init__(self) -> None:
        self.lock, self.changed = asyncio.Lock(), asyncio.Event()
        self.content: bytes | None = None
        self._room: Room | None = None
        self.is_away = False
        self.listeners = 0
        self.poller: asyncio.Task[None] | None = None

    @property
    def room(self) -> Room:
        """The room. Raises Gone."""
        if self._room is None:
            raise Gone
        return self._room

    def take(self, content: bytes | None, *, is_away: bool = False) -> None:
        """Take over what was read or stored."""
        if (content, is_away) != (self.content, self.is_away):
            self.content, self.is_away = content, is_away
            self._room = rules.unpack(content) if content else None
            self.notify()

    def notify(self) -> None:
        """Wake whoever waits for a change."""
        self.changed.set()
        self.changed = asyncio.Event()


class Rooms:
    """Those of a store; each room has one channel for as long as somebody uses it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._channels: WeakValueDictionary[str, Channel] = WeakValueDictionary()

    async def open(self) -> dict[str, str]:
        """A new room: its code, the host's key and listen name. Raises a Refusal, or Away."""
        key = secrets.token_urlsafe(24)
        while True:
            code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LETTERS))
            try:
                if await self._store.create(code, Room(code, listen_name(key)).pack()):
                    return {"code": code, "key": key, "listen": listen_name(key)}
            except Full:
                raise Refusal("The maximum number of rooms is open; try again later.", 429) from None

    async def read(self, code: str) -> Room:
        """A room. Raises Gone, or Away."""
        return rules.unpack(await self._content(code))

    async def change(self, code: str, change: Change) -> int:
        """Change a room; return the version in which that is done. Raises a Refusal, or Away."""
        channel = self._channel(code)
        try:
            async with asyncio.timeout(ACT_SECONDS), channel.lock:
                while True:
                    before = await self._content(code)
                    room = rules.unpack(before)
                    change(room)
                    if room.pack() == before:
                        return room.version
                    room.version += 1
                    after = room.pack()
                    if await self._store.swap(code, before, after):
                        channel.take(after)
                        return room.version
        except TimeoutError:
            raise Away from None

    async def delete(self, code: str, name: str) -> None:
        """Delete a room, as its host. Raises a Refusal, or Away."""
        rules.check_host(await self.read(code), name)
        await self._store.delete(code)

    @asynccontextmanager
    async def follow(self, code: str) -> AsyncIterator[Channel]:
        """The channel of a room, with its newest state, that sees each change."""
        channel = self._channel(code)
        channel.listeners += 1
        try:
            await self._refresh(code, channel)
            if channel.poller is None or channel.poller.done():
                channel.poller = asyncio.create_task(self._poll(code, channel))
            yield channel
        finally:
            channel.listeners -= 1

    def _channel(self, code: str) -> Channel:
        return self._channels.setdefault(code, Channel())

    async def _content(self, code: str) -> bytes:
        content = await self._store.read(code)
        if content is None:
            raise Gone
        return content

    async def _poll(self, code: str, channel: Channel) -> None:
        while channel.listeners and not STATE.is_ending:
            await asyncio.sleep(POLL_SECONDS)
            await self._refresh(code, channel)
        channel.notify()

    async def _refresh(self, code: str, channel: Channel) -> None:
        async with channel.lock:
            try:
                channel.take(await self._store.read(code))
            except Away:
                channel.take(channel.content, is_away=True)
