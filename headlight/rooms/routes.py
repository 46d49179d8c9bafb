"""The routes of the rooms: acts as POST, states as an event stream. `messages` says what goes to and fro."""

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headlight.api.routes import error_response, is_own_page
from headlight.server.readiness import STATE
from headlight.server.sockets import abort_connection, client_network_of
from headlight.server.token_bucket import Rate, RateLimiter

from . import room as rules
from .messages import ALPHABET, CODE_LETTERS, PATH
from .room import Refusal, Stranger, listen_name
from .rooms import Gone, Rooms
from .store import Away, Store

MAX_BODY: Final = 2**15  # bytes
MAX_SECRET: Final = 64
ARRIVAL_SECONDS: Final = 10.0  # for a body
UNREAD_SECONDS: Final = 30.0  # who has not taken a message for so long is hung up on
PAUSE_SECONDS: Final = 0.25  # between two messages of a stream, of which no second has more than five
BEAT_SECONDS: Final = 15.0  # of silence, which something on the way might take for the end
RETRY_MS: Final = 1000  # after which a browser connects anew, and
LATE_RETRY_MS: Final = 10_000  # the same, of one that comes too often
OPENS: Final[Rate] = 0.1, 10  # rooms, of a network
GUESSES: Final[Rate] = 2.0, 400  # new phones and wrong codes of a network: a class may sit behind a single one
REQUESTS: Final[Rate] = 200.0, 1000  # of a network
OWN_REQUESTS: Final[Rate] = 5.0, 30  # of one phone or host
MAX_LISTENERS: Final = 1200  # event streams in all, and
MAX_NETWORK_LISTENERS: Final = 400  # of one network
NO_STORE: Final = {"Cache-Control": "no-store"}
AWAY: Final = "The rooms cannot be reached for a moment. No votes are lost, and it continues by itself."
GUESSED: Final = "Too many wrong codes were entered from your network; try again in a minute."
OFTEN: Final = "Too many requests; try again in a moment."
POSTS: Final = ("open", "join", "act", "vote", "delete")

Body = dict[str, Any]


class RoomRoutes:
    """The ASGI app of the routes under `PATH`.

    Args:
        store: of the rooms, None where there are none.
    """

    def __init__(self, store: Store | None) -> None:
        self._rooms = Rooms(store) if store else None
        self._opens, self._guesses = RateLimiter(OPENS), RateLimiter(GUESSES)
        self._requests, self._own_requests = RateLimiter(REQUESTS), RateLimiter(OWN_REQUESTS)
        self._listeners: Counter[str] = Counter()  # by network

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, name = Request(scope, receive), scope["path"].removeprefix(f"{PATH}/")
        method = "POST" if name in POSTS else "GET"
        if name not in ("events", *POSTS):
            response: ASGIApp = error_response(404, "Unknown route.")
        elif self._rooms is None:
            response = error_response(404, "Rooms are disabled on this server.")
        elif scope["method"] != method:
            response = error_response(405, f"Only {method} is allowed.", {"Allow": method})
        # a page elsewhere can send no JSON without being asked whence it comes
        elif not is_own_page(request.headers) or (
            method == "POST" and request.headers.get("content-type") != "application/json"
        ):
            response = error_response(403, "Only requests from Headlight’s own pages are accepted.")
        elif name == "events":
            await self._stream(self._rooms, request, send)
            return
        else:
            response = await self._post(self._rooms, name, request)
        await response(scope, receive, send)

    async def _post(self, rooms: Rooms, name: str, request: Request) -> Response:
        """The response to a POST; a refusal is a sentence."""
        network = client_network_of(request.scope)
        try:
            if not self._requests.allows(network):
                raise Refusal(OFTEN, 429)
            body = await _body(request)
            return JSONResponse(await self._result(rooms, name, network, body), headers=NO_STORE)
        except Refusal as refusal:
            refusal = self._limit_guesses(refusal, network)
            return error_response(refusal.status, str(refusal), {"Retry-After": "1"} if refusal.status == 429 else {})
        except Away:
            return error_response(503, AWAY, {"Retry-After": "1"})

    def _limit_guesses(self, refusal: Refusal, network: str) -> Refusal:
        """The refusal that a network gets: one that guesses too often learns not even whether there is a room."""
        is_guess = isinstance(refusal, Gone | Stranger)
        return Refusal(GUESSED, 429) if is_guess and not self._guesses.allows(network) else refusal

    async def _result(self, rooms: Rooms, name: str, network: str, body: Body) -> object:
        if name == "open":
            if not self._opens.allows(network):
                raise Refusal("Too many rooms were opened from your network; try again in a minute.", 429)
            return await rooms.open()
        code = _code(body.get("code"))
        if name == "join":
            return await self._join(rooms, code, network, body)
        who = self._listen_name(body, "token" if name == "vote" else "key")
        if name == "delete":
            await rooms.delete(code, who)
            return {}
        apply = rules.vote if name == "vote" else rules.act
        return {"version": await rooms.change(code, lambda room: apply(room, who, body))}

    async def _join(self, rooms: Rooms, code: str, network: str, body: Body) -> dict[str, str]:
        if "key" in body:
            who = self._listen_name(body, "key")
            rules.check_host(await rooms.read(code), who)
            return {"token": "", "listen": who}
        if "token" in body and (who := self._listen_name(body, "token")) in (await rooms.read(code)).phones:
            return {"token": body["token"], "listen": who}
        if not self._guesses.allows(network):
            raise Refusal(GUESSED, 429)
        token = secrets.token_urlsafe(16)
        who = listen_name(token)
        await rooms.change(code, lambda room: rules.join(room, who))
        return {"token": token, "listen": who}

    def _listen_name(self, body: Body, secret: str) -> str:
        """The name of who sends a secret, and counts that it was sent. Raises a Refusal."""
        value = body.get(secret)
        if not isinstance(value, str) or len(value) > MAX_SECRET:
            raise Stranger(f"The {secret} of this room is missing.")
        if not self._own_requests.allows(name := listen_name(value)):
            raise Refusal(OFTEN, 429)
        return name

    async def _stream(self, rooms: Rooms, request: Request, send: Send) -> None:
        """Send a room's states until nobody listens, the room is gone, or the server ends."""

        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(UNREAD_SECONDS):
                await send(message)

        network, headers = client_network_of(request.scope), {**NO_STORE, "X-Accel-Buffering": "no"}
        self._listeners[network] += 1
        try:
            async with aclosing(self._events(rooms, request.query_params, network)) as events:
                response = StreamingResponse(events, headers=headers, media_type="text/event-stream")
                await response(request.scope, request.receive, send_in_time)
        except (OSError, ClientDisconnect):  # a TimeoutError too
            abort_connection(request.receive)
        finally:
            self._listeners[network] -= 1
            self._listeners += Counter()  # drops who has none

    async def _events(self, rooms: Rooms, query: Mapping[str, str], network: str) -> AsyncGenerator[str]:
        full = self._listeners.total() > MAX_LISTENERS or self._listeners[network] > MAX_NETWORK_LISTENERS
        if full or not self._requests.allows(network):
            yield _event("wait", {"told": OFTEN}, LATE_RETRY_MS)
            return
        try:
            async with rooms.follow(_code(query.get("code"))) as channel:
                while not STATE.is_ending:
                    changed = channel.changed
                    if channel.is_away:
                        yield _event("wait", {"told": AWAY})
                    else:
                        yield _event("room", rules.state_of(channel.room, query.get("listen", "")))
                    await asyncio.sleep(PAUSE_SECONDS)
                    while not changed.is_set():
                        try:
                            await asyncio.wait_for(changed.wait(), BEAT_SECONDS)
                        except TimeoutError:
                            yield ": still here\n\n"
        except Refusal as refusal:
            refusal = self._limit_guesses(refusal, network)
            kind, retry = ("wait", LATE_RETRY_MS) if refusal.status == 429 else ("gone", RETRY_MS)
            yield _event(kind, {"told": str(refusal)}, retry)


def _code(value: object) -> str:
    """A code, as it is written. Raises Gone for what can be none."""
    code = value.upper() if isinstance(value, str) else ""
    if len(code) != CODE_LETTERS or not set(code) <= set(ALPHABET):
        raise Gone
    return code


async def _body(request: Request) -> Body:
    """The one JSON object of a request. Raises a Refusal."""
    content = b""
    try:
        async with asyncio.timeout(ARRIVAL_SECONDS):
            async for chunk in request.stream():
                content += chunk
                if len(content) > MAX_BODY:
                    break
    except TimeoutError:
        raise Refusal("The request took too long to arrive; send it again.", 408) from None
    except ClientDisconnect:
        content = b""
    if len(content) > MAX_BODY:
        raise Refusal(f"The request is too long; at most {MAX_BODY:,} bytes are allowed.", 413)
    with suppress(ValueError, RecursionError):
        if isinstance(body := json.loads(content), dict):
            return body
    raise Refusal("A JSON object is expected.")


def _event(kind: str, data: object, retry_ms: int = RETRY_MS) -> str:
    return f"retry: {retry_ms}\nevent: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
