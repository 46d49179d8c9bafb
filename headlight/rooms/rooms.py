"""The rooms of a server: serialises the changes of each room (compare-and-swap) and notifies its subscribers.

An act is answered once it is stored. If the store fails meanwhile, the client may send the act again: acts are
idempotent.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Final
from weakref import WeakValueDictionary

from headlight.server.readiness import STATE

from . import room as rules
from .messages import ALPHABET, CODE_LETTERS
from .room import Room, RoomError, secret_digest
from .store import Store, StoreUnavailable, TooManyRooms

ACT_SECONDS: Final = 5.0  # until an act is stored, including the wait for earlier ones and those of other servers
POLL_SECONDS: Final = 0.25  # between two reads of a room with subscribers: other servers may change it too
TOUCH_POLLS: Final = 80  # reads between two notes to the store that the room is in use

Change = Callable[[Room], None]


class RoomNotFound(RoomError):
    """No room has this code, or it was deleted."""

    def __init__(self) -> None:
        super().__init__(
            "No open room has this code. Check the code, or ask your teacher: a room also closes after 90 minutes "
            "without activity.",
            404,
        )


@dataclass(eq=False)
class Channel:
    """The latest state of a room that has subscribers here or is being changed."""

    # held while the room is read or changed, so that no older state follows a newer one
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    # set, and replaced by a new event, when there is a new state to send
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    content: bytes | None = None  # the room as stored, None before it was read or after it was deleted
    is_away: bool = False  # whether the store cannot be reached
    listeners: int = 0  # number of event streams
    poller: asyncio.Task[None] | None = None  # task that reads the room while it has listeners
    _room: Room | None = None

    @property
    def room(self) -> Room:
        """The room. Raises RoomNotFound if it was deleted."""
        if self._room is None:
            raise RoomNotFound
        return self._room

    def update(self, content: bytes | None, *, is_unavailable: bool = False) -> None:
        """Update the state; notify the subscribers if it has changed."""
        if (content, is_unavailable) != (self.content, self.is_away):
            self.content, self.is_away = content, is_unavailable
            self._room = rules.unpack(content) if content else None
            self.notify()

    def notify(self) -> None:
        """Wake all tasks that wait for a change."""
        self.changed.set()
        self.changed = asyncio.Event()


class RoomService:
    """The rooms of a store, with one channel for each room in use."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._channels: WeakValueDictionary[str, Channel] = WeakValueDictionary()

    async def open(self) -> dict[str, str]:
        """Create a room; return its code, the host's key and its digest.

        Raises:
            RoomError: there are too many rooms.
            StoreUnavailable: the store cannot be reached.
        """
        key = secrets.token_urlsafe(24)
        while True:
            code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LETTERS))
            try:
                if await self._store.create(code, Room(code, secret_digest(key)).pack()):
                    return {"code": code, "key": key, "listen": secret_digest(key)}
            except TooManyRooms:
                raise RoomError("This server has reached its maximum number of rooms; try again later.", 429) from None

    async def read(self, code: str) -> Room:
        """Return a room.

        Raises:
            RoomNotFound: there is no such room.
            StoreUnavailable: the store cannot be reached.
        """
        return rules.unpack(await self._content(code))

    async def change(self, code: str, change: Change) -> int:
        """Change a room; return the version that contains the change.

        Raises:
            RoomError: the change is not allowed, or there is no such room.
            StoreUnavailable: the store cannot be reached.
        """
        channel = self._channel(code)
        try:
            async with asyncio.timeout(ACT_SECONDS), channel.lock:
                while True:
                    content = await self._content(code)
                    room = rules.unpack(content)
                    change(room)
                    if room.pack() == content:
                        return room.version
                    room.version += 1
                    changed = room.pack()
                    if await self._store.swap(code, content, changed):
                        channel.update(changed)
                        return room.version
        except TimeoutError:
            raise StoreUnavailable from None

    async def delete(self, code: str, name: str) -> None:
        """Delete a room on behalf of its host.

        Raises:
            RoomError: the name is not the host's, or there is no such room.
            StoreUnavailable: the store cannot be reached.
        """
        rules.check_host(await self.read(code), name)
        await self._store.delete(code)

    @asynccontextmanager
    async def subscribe(self, code: str) -> AsyncIterator[Channel]:
        """Subscribe to a room: a context manager with its channel, which holds the newest state."""
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
            raise RoomNotFound
        return content

    async def _poll(self, code: str, channel: Channel) -> None:
        for number in takewhile(lambda _: channel.listeners and not STATE.is_ending, count()):
            if number % TOUCH_POLLS == 0:
                with suppress(StoreUnavailable):
                    await self._store.touch(code)
            await asyncio.sleep(POLL_SECONDS)
            await self._refresh(code, channel)
        channel.notify()

    async def _refresh(self, code: str, channel: Channel) -> None:
        async with channel.lock:
            try:
                channel.update(await self._store.read(code))
            except StoreUnavailable:
                channel.update(channel.content, is_unavailable=True)
