"""The routes of the rooms: acts as POST, what is told as an event stream. `messages` says what goes to and fro."""

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headlight.api.routes import is_own_page, refused
from headlight.server.readiness import STATE
from headlight.server.sockets import hang_up, hung_up, network_of
from headlight.server.token_bucket import Buckets

from . import room as rules
from .bounds import ASKS, MOST_LISTENERS, MOST_LISTENERS_OF_ONE, OPENS, OWN, Guesses
from .messages import ALPHABET, CODE_LETTERS, PATH, RoomJoined, RoomSentences, RoomTold, RoomVersion
from .refusals import AWAY, GUESSED, LATE, OFTEN, Bilingual, Refusal
from .room import Stranger, listen_name
from .rooms import Change, Followed, Gone, Rooms
from .store import Away, Store

LONGEST_BODY: Final = 2**15  # bytes
LONGEST_QUERY: Final = 200
LONGEST_SECRET: Final = 64
ARRIVAL_SECONDS: Final = 10.0  # for a body
UNREAD_SECONDS: Final = 30.0  # who has not taken a message for so long is hung up on
PAUSE_SECONDS: Final = 0.25  # between two messages of a stream, of which no second has more than five
LOOK_SECONDS: Final = 1.0  # after which a stream looks whether somebody listens and whether the server ends
BEAT_SECONDS: Final = 15.0  # of silence, which something on the way might take for the end
AGAIN_MS: Final = 1000  # after which a browser connects anew, and
MUCH_LATER_MS: Final = 10_000  # the same, of one that comes too often
HEADERS: Final = {"Cache-Control": "no-store"}

Said = dict[str, Any]


class RoomRoutes:
    """The ASGI app of the routes under `PATH`.

    Args:
        store: of the rooms, None where there are none.
    """

    def __init__(self, store: Store | None) -> None:
        self._rooms = Rooms(store) if store else None
        self._opens, self._asks, self._own, self._guesses = Buckets(OPENS), Buckets(ASKS), Buckets(OWN), Guesses()
        self._listeners: Counter[str] = Counter()  # by network

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name, headers = scope["path"].removeprefix(f"{PATH}/"), Headers(scope=scope)
        network = network_of(scope)
        method = "POST" if name in ("open", *_POSTS) else "GET"
        if name not in ("open", "events", "sentences", *_POSTS):
            answer: ASGIApp = refused(404, "There is no such route.")
        elif self._rooms is None:
            answer = refused(404, "There are no rooms on this server.")
        elif scope["method"] != method:
            answer = refused(405, f"Only {method} is answered here.", {"Allow": method})
        # a page elsewhere can send no JSON without being asked whence it comes
        elif not is_own_page(headers) or (method == "POST" and headers.get("content-type") != "application/json"):
            answer = refused(403, "Only Headlight’s own pages are answered here.")
        elif name == "events":
            await self._stream(self._rooms, scope, network, receive, send)
            return
        else:
            answer = await self._answer(self._rooms, name, scope, network, receive)
        await answer(scope, receive, send)

    async def _answer(self, rooms: Rooms, name: str, scope: Scope, network: str, receive: Receive) -> Response:
        """The answer to what is no stream; a refusal is a sentence."""
        language = _asked(scope).get("lang", "")
        try:
            if not self._asks.allows(network):
                raise Refusal(OFTEN, 429)
            if name == "open":
                return JSONResponse(await self._open(rooms, network), headers=HEADERS)
            said: Said = _asked(scope) if name == "sentences" else await _body(receive)
            said["code"] = _code(said.get("code"))
            for secret in {"key", "token"} & said.keys():
                if not self._own.allows(_named(said, secret)):
                    raise Refusal(OFTEN, 429)
            said["slowed"] = slowed = self._guesses.is_slowed(network, said["code"])
            try:
                told = await _ANSWERS[name](rooms, said)
            except (Gone, Stranger):
                if slowed:
                    raise Refusal(GUESSED, 429) from None
                raise
            self._guesses.right(network, said["code"])
        except Refusal as refusal:
            again = {"Retry-After": "1"} if refusal.status == 429 else {}
            return refused(refusal.status, refusal.told.said(language), again)
        except Away:
            return refused(503, AWAY.said(language), {"Retry-After": "1"})
        return JSONResponse(told, headers=HEADERS)

    async def _open(self, rooms: Rooms, network: str) -> object:
        if not self._opens.allows(network):
            raise Refusal("Too many rooms were opened from your network; try again in a minute.", 429)
        opened = await rooms.open()
        self._guesses.right(network, opened["code"])
        return opened

    async def _stream(self, rooms: Rooms, scope: Scope, network: str, receive: Receive, send: Send) -> None:
        """Tells a room's states until nobody listens, the room is gone, or the server ends."""
        headers = {**HEADERS, "Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no"}
        listed = [(key.lower().encode(), value.encode()) for key, value in headers.items()]
        gone = asyncio.create_task(hung_up(receive))
        self._listeners[network] += 1
        try:
            await _send(send, {"type": "http.response.start", "status": 200, "headers": listed})
            async for said in self._messages(rooms, _asked(scope), network, gone):
                await _send(send, {"type": "http.response.body", "body": said, "more_body": True})
            await _send(send, {"type": "http.response.body", "body": b""})
        except OSError:  # a TimeoutError too
            hang_up(receive)
        finally:
            gone.cancel()
            self._listeners[network] -= 1
            self._listeners += Counter()  # drops who has none

    async def _messages(self, rooms: Rooms, said: Said, network: str, gone: asyncio.Task[None]) -> AsyncIterator[bytes]:
        code, name, language = (str(said.get(key)) for key in ("code", "listen", "lang"))
        slowed = self._guesses.is_slowed(network, code)
        full = self._listeners.total() > MOST_LISTENERS or self._listeners[network] > MOST_LISTENERS_OF_ONE
        if full or not self._asks.allows(network):
            yield _event("wait", _sentence_told(OFTEN, language), MUCH_LATER_MS)
            return
        followed = await rooms.listen(code)
        try:
            async for message in _told(rooms, followed, name, language, gone):
                if not isinstance(message, Refusal):
                    if not followed.is_away:
                        self._guesses.right(network, code)
                    yield message
                elif slowed:
                    yield _event("wait", _sentence_told(GUESSED, language), MUCH_LATER_MS)
                else:
                    yield _event("gone", _sentence_told(message.told, language))
        finally:
            rooms.leave(followed)


async def _told(
    rooms: Rooms, followed: Followed, name: str, language: str, gone: asyncio.Task[None]
) -> AsyncIterator[bytes | Refusal]:
    """The messages of a stream; the last one may be why there are no more."""
    told, clock = -1, asyncio.get_running_loop().time
    beat = clock() + BEAT_SECONDS
    while not (gone.done() or STATE.is_ending):
        changed = followed.changed
        if followed.number != told:
            told, beat = followed.number, clock() + BEAT_SECONDS
            try:
                if followed.is_away:
                    yield _event("wait", _sentence_told(AWAY, language))
                else:
                    yield _event("room", followed.told(name))
            except Refusal as refusal:
                yield refusal
                return
            await asyncio.sleep(PAUSE_SECONDS)
        elif clock() > beat:
            beat = clock() + BEAT_SECONDS
            yield b": still here\n\n"
        else:
            rooms.look_again(followed)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await changed.wait()


# ---- what is asked of a room


async def _join(rooms: Rooms, said: Said) -> RoomJoined:
    if "key" in said:
        name = _named(said, "key")
        if not rules.is_host(await rooms.read(said["code"]), name):
            raise Stranger("This is not the host’s link of this room.")
        return {"token": "", "listen": name}
    if "token" in said and (name := _named(said, "token")) in (await rooms.read(said["code"])).phones:
        return {"token": said["token"], "listen": name}
    token = secrets.token_urlsafe(16)
    name = listen_name(token)
    await rooms.do(said["code"], lambda room: rules.join(room, name, is_slowed=said["slowed"]))
    return {"token": token, "listen": name}


async def _act(rooms: Rooms, said: Said) -> RoomVersion:
    name = _named(said, "key")
    return await _done(rooms, said, lambda room: rules.act(room, name, said))


async def _vote(rooms: Rooms, said: Said) -> RoomVersion:
    name = _named(said, "token")
    return await _done(rooms, said, lambda room: rules.vote(room, name, said))


async def _sentence(rooms: Rooms, said: Said) -> RoomVersion:
    name, number = _named(said, "token"), secrets.randbelow(2**30)
    return await _done(rooms, said, lambda room: rules.write(room, name, said.get("text"), number))


async def _delete(rooms: Rooms, said: Said) -> dict[str, str]:
    await rooms.delete(said["code"], _named(said, "key"))
    return {}


async def _sentences(rooms: Rooms, said: Said) -> RoomSentences:
    return {"sentences": rules.sentences(await rooms.read(said["code"]), str(said.get("listen")))}


_POSTS: Final[dict[str, Callable[[Rooms, Said], Awaitable[object]]]] = {
    "join": _join, "act": _act, "vote": _vote, "sentence": _sentence, "delete": _delete,
}  # fmt: skip
_ANSWERS: Final = {**_POSTS, "sentences": _sentences}


async def _done(rooms: Rooms, said: Said, change: Change) -> RoomVersion:
    return {"version": await rooms.do(said["code"], change)}


# ---- what arrives, and what is sent


def _named(said: Said, secret: str) -> str:
    given = said.get(secret)
    if not isinstance(given, str) or len(given) > LONGEST_SECRET:
        raise Stranger(f"The {secret} of this room is missing.")
    return listen_name(given)


def _code(said: object) -> str:
    """A code, as it is written. Raises Gone for what can be none."""
    code = said.upper() if isinstance(said, str) else ""
    if len(code) != CODE_LETTERS or not set(code) <= set(ALPHABET):
        raise Gone
    return code


def _asked(scope: Scope) -> Said:
    raw: bytes = scope["query_string"][:LONGEST_QUERY]
    return {key: texts[0] for key, texts in parse_qs(raw.decode("ascii", "replace")).items()}


async def _body(receive: Receive) -> Said:
    """The one JSON object of a request. Raises a Refusal."""
    content = b""
    try:
        async with asyncio.timeout(ARRIVAL_SECONDS):
            while (message := await receive()).get("more_body") and len(content) <= LONGEST_BODY:
                content += message["body"]
    except TimeoutError:
        raise Refusal(LATE, 408) from None
    content += message.get("body", b"")
    if len(content) > LONGEST_BODY:
        raise Refusal(f"That is too long: {LONGEST_BODY:,} bytes may come at once.", 413)
    try:
        said = json.loads(content)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise Refusal("A JSON object is expected.")
    return said


def _event(kind: str, told: bytes, again_ms: int = AGAIN_MS) -> bytes:
    return f"retry: {again_ms}\nevent: {kind}\ndata: ".encode() + told + b"\n\n"


def _sentence_told(told: Bilingual, language: str) -> bytes:
    return json.dumps(RoomTold(told=told.said(language)), ensure_ascii=False).encode()


async def _send(send: Send, message: Message) -> None:
    async with asyncio.timeout(UNREAD_SECONDS):
        await send(message)
