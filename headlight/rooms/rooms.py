"""The rooms of a server: acts one after the other, each on the newest state, and who listens hears of what they made.

Acts that come while another is stored are stored together: a class that votes at once costs a few changes. An act is
answered when it is stored. One that may or may not have been, since the store went away, may come again: it is nothing
new then.
"""

import asyncio
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from . import room as rules
from .messages import ALPHABET, CODE_LETTERS, RoomMine, RoomOpened
from .refusals import NO_ROOM, Refusal
from .room import Room, listen_name
from .store import Away, Full, Store

TRIES: Final = 50  # a change of a room, while other replicas are quicker; one of them is each time
REREAD_SECONDS: Final = 30.0  # a room that is listened to: nobody tells that it came to its end in a store elsewhere
AGAIN_SECONDS: Final = 1.0  # the same of one that could not be read: nobody tells that it could be again

Change = Callable[[Room], bool]


class Gone(Refusal):
    """There is no such room."""

    def __init__(self) -> None:
        super().__init__(NO_ROOM, 404)


@dataclass
class Followed:
    """A room that somebody here listens to or changes.

    Attributes:
        room: as it was told last; None where it is gone, or was not read yet.
        number: grows with whatever is to be told anew.
        is_stale: it has changed since it was read.
        changed: set, and replaced, when it does.
    """

    code: str
    room: Room | None = None
    is_away: bool = False
    number: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    listeners: int = 0
    waiting: list[tuple[Change, asyncio.Future[int]]] = field(default_factory=list)
    worker: asyncio.Task[None] | None = None
    reader: asyncio.Task[None] | None = None
    is_stale: bool = False
    read_at: float = 0.0
    _told: tuple[int, bytes] = (-1, b"")

    def take(self, room: Room | None, is_away: bool = False) -> None:
        """Takes a state that was read or made; one that is older than what is told is none."""
        if room and self.room and room.version < self.room.version:
            return
        if room != self.room or is_away != self.is_away:
            self.room, self.is_away, self.number = room, is_away, self.number + 1
            self.changed.set()
            self.changed = asyncio.Event()

    def told(self, name: str) -> bytes:
        """What who has this name is told, as JSON. Raises a Stranger, or Gone."""
        if self.room is None:
            raise Gone
        if rules.is_host(self.room, name):
            return _json(rules.state_of(self.room, name))
        if self._told[0] != self.number:  # what all phones are told is written once
            self._told = self.number, _json(rules.state(self.room)).removesuffix(_json(_NOTHING_SAID) + b"}")
        return self._told[1] + _json(rules.mine(self.room, name)) + b"}"


_NOTHING_SAID: Final[RoomMine] = {"choice": None, "sentence": ""}


def _json(told: object) -> bytes:
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class Rooms:
    """Those of a store; to be made in the event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._followed: dict[str, Followed] = {}
        store.start(self._tell, self._tell_away)

    async def open(self) -> RoomOpened:
        """A new room. Raises a Refusal, or Away."""
        key = secrets.token_urlsafe(24)
        while True:
            code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LETTERS))
            try:
                if await self._store.create(code, Room(code, listen_name(key)).packed()):
                    return {"code": code, "key": key, "listen": listen_name(key)}
            except Full:
                raise Refusal("There are as many rooms here as there may be; try again later.", 429) from None

    async def do(self, code: str, change: Change) -> int:
        """Changes a room; the version in which that is done. Raises a Refusal, or Away."""
        followed = self._follow(code)
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        followed.waiting.append((change, done))
        if followed.worker is None:
            followed.worker = asyncio.create_task(self._work(followed))
        return await done

    async def read(self, code: str) -> Room:
        """A room. Raises Gone, or Away."""
        content = await self._store.read(code)
        if content is None:
            raise Gone
        return rules.unpacked(content)

    async def delete(self, code: str, name: str) -> None:
        """Deletes a room, as its host. Raises a Refusal, or Away."""
        if not rules.is_host(await self.read(code), name):
            raise rules.Stranger("Only the host of this room may do that.")
        await self._store.delete(code)
        self._tell(code, 0)

    async def listen(self, code: str) -> Followed:
        """A room that is told of until `leave`, with its newest state."""
        followed = self._follow(code)
        followed.listeners += 1
        try:
            await self._read(followed)
        except BaseException:
            self.leave(followed)
            raise
        return followed

    def leave(self, followed: Followed) -> None:
        followed.listeners -= 1
        self._drop(followed)

    def look_again(self, followed: Followed) -> None:
        """Has a room read anew that was not for long, or could not be."""
        kept = AGAIN_SECONDS if followed.is_away else REREAD_SECONDS
        if asyncio.get_running_loop().time() - followed.read_at > kept:
            self._read_soon(followed)

    def _follow(self, code: str) -> Followed:
        return self._followed.setdefault(code, Followed(code))

    def _drop(self, followed: Followed) -> None:
        if not (followed.listeners or followed.worker):
            self._followed.pop(followed.code, None)

    async def _work(self, followed: Followed) -> None:
        while followed.waiting:
            batch, followed.waiting = followed.waiting, []
            try:
                await self._store_all(followed, batch)
            except Exception as error:  # it belongs to whoever waits for it
                for _, done in batch:
                    if not done.done():
                        done.set_exception(error)
        followed.worker = None
        self._drop(followed)

    async def _store_all(self, followed: Followed, batch: list[tuple[Change, asyncio.Future[int]]]) -> None:
        for _ in range(TRIES):
            room = await self.read(followed.code)
            before = room.version
            outcomes = [_done(change, room) for change, _ in batch]
            if any(outcome is True for outcome in outcomes):
                room.version += 1
                if not await self._store.swap(followed.code, before, room.packed()):
                    continue
                followed.take(room)
            for (_, done), outcome in zip(batch, outcomes, strict=True):
                if done.done():  # whoever asked is gone
                    continue
                if isinstance(outcome, Exception):
                    done.set_exception(outcome)
                else:
                    done.set_result(room.version)
            return
        raise Away

    def _tell(self, code: str, version: int) -> None:
        followed = self._followed.get(code)
        if followed is None:
            return
        if version == 0:
            followed.take(None)
        elif followed.listeners and (followed.room is None or followed.room.version < version):
            self._read_soon(followed)

    def _tell_away(self, is_away: bool) -> None:
        for followed in self._followed.values():
            if is_away:
                followed.take(followed.room, is_away=True)
            elif followed.listeners:
                self._read_soon(followed)

    def _read_soon(self, followed: Followed) -> None:
        followed.is_stale = True  # also what is being read
        if followed.reader is None or followed.reader.done():
            followed.reader = asyncio.create_task(self._read_until_new(followed))

    async def _read_until_new(self, followed: Followed) -> None:
        while followed.is_stale:
            followed.is_stale = False
            await self._read(followed)

    async def _read(self, followed: Followed) -> None:
        followed.read_at = asyncio.get_running_loop().time()
        try:
            content = await self._store.read(followed.code)
        except Away:
            followed.take(followed.room, is_away=True)
        else:
            followed.take(rules.unpacked(content) if content else None)


def _done(change: Change, room: Room) -> bool | Exception:
    try:
        return change(room)
    except Refusal as refusal:
        return refusal
