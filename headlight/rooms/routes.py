"""The routes of the rooms: acts as POST, states as an event stream. `messages` documents the protocol."""

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

from headlight.api.routes import error_response, is_same_origin
from headlight.server.readiness import STATE
from headlight.server.sockets import abort_connection, client_network_from_scope
from headlight.server.token_bucket import Rate, RateLimiter

from . import room as rules
from .messages import ALPHABET, CODE_LETTERS, PATH
from .room import NotAuthorized, RoomError, secret_digest
from .rooms import RoomNotFound, RoomService
from .store import Store, StoreUnavailable

MAX_BODY: Final = 2**15  # bytes
MAX_SECRET: Final = 64
ARRIVAL_SECONDS: Final = 10.0  # for the body of a request
SEND_TIMEOUT_SECONDS: Final = 30.0  # without progress of a message, after which the connection is aborted
PAUSE_SECONDS: Final = 0.25  # between two events of a stream: at most five a second
KEEPALIVE_SECONDS: Final = 15.0  # between two comments that keep proxies from closing a silent stream
RETRY_MS: Final = 1000  # after which a browser reconnects, and
LATE_RETRY_MS: Final = 10_000  # the same for a client above its rate
OPEN_RATE: Final[Rate] = 0.1, 10  # new rooms of a network
GUESS_RATE: Final[Rate] = 2.0, 400  # new phones and wrong codes of a network: a whole class may share one
REQUEST_RATE: Final[Rate] = 200.0, 1000  # of a network
MEMBER_RATE: Final[Rate] = 5.0, 30  # of a phone or host
MAX_LISTENERS: Final = 1200  # event streams in all, and
MAX_NETWORK_LISTENERS: Final = 400  # of one network
NO_STORE: Final = {"Cache-Control": "no-store"}
UNAVAILABLE_TEXT: Final = "The rooms cannot be reached at the moment. No vote is lost; this page reconnects by itself."
TOO_MANY_GUESSES: Final = "Too many wrong codes from your network; try again in a minute."
TOO_MANY_REQUESTS: Final = "Too many requests from here; try again in a moment."
POSTS: Final = ("open", "join", "act", "vote", "delete")

Body = dict[str, Any]


class RoomRoutes:
    """The ASGI app of the routes under `PATH`.

    Args:
        store: of the rooms, None if rooms are off.
    """

    def __init__(self, store: Store | None) -> None:
        self._rooms = RoomService(store) if store else None
        self._opens, self._guesses = RateLimiter(OPEN_RATE), RateLimiter(GUESS_RATE)
        self._requests, self._own_requests = RateLimiter(REQUEST_RATE), RateLimiter(MEMBER_RATE)
        self._listeners: Counter[str] = Counter()  # by network

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request, name = Request(scope, receive), scope["path"].removeprefix(f"{PATH}/")
        method = "POST" if name in POSTS else "GET"
        if name not in ("events", *POSTS):
            response: ASGIApp = error_response(404, "Unknown route.")
        elif self._rooms is None:
            response = error_response(404, "Rooms are off on this server.")
        elif scope["method"] != method:
            response = error_response(405, f"Only {method} is allowed here.", {"Allow": method})
        # another site can send no JSON without a CORS preflight, which is not answered
        elif not is_same_origin(request.headers) or (
            method == "POST" and request.headers.get("content-type") != "application/json"
        ):
            response = error_response(403, "Only Headlight’s own pages may use this route.")
        elif name == "events":
            await self._stream(self._rooms, request, send)
            return
        else:
            response = await self._post(self._rooms, name, request)
        await response(scope, receive, send)

    async def _post(self, rooms: RoomService, name: str, request: Request) -> Response:
        """Return the response to a POST; an error is a sentence."""
        network = client_network_from_scope(request.scope)
        try:
            if not self._requests.allows(network):
                raise RoomError(TOO_MANY_REQUESTS, 429)
            body = await _body(request)
            return JSONResponse(await self._result(rooms, name, network, body), headers=NO_STORE)
        except RoomError as error:
            error = self._limit_guesses(error, network)
            return error_response(error.status, str(error), {"Retry-After": "1"} if error.status == 429 else {})
        except StoreUnavailable:
            return error_response(503, UNAVAILABLE_TEXT, {"Retry-After": "1"})

    def _limit_guesses(self, error: RoomError, network: str) -> RoomError:
        """Replace an error that reveals whether a room exists if the network has tried too many codes."""
        is_guess = isinstance(error, RoomNotFound | NotAuthorized)
        return RoomError(TOO_MANY_GUESSES, 429) if is_guess and not self._guesses.allows(network) else error

    async def _result(self, rooms: RoomService, name: str, network: str, body: Body) -> object:
        if name == "open":
            if not self._opens.allows(network):
                raise RoomError("Too many rooms were opened from your network; try again in a minute.", 429)
            return await rooms.open()
        code = _code(body.get("code"))
        if name == "join":
            return await self._join(rooms, code, network, body)
        member = self._digest(body, "token" if name == "vote" else "key")
        if name == "delete":
            await rooms.delete(code, member)
            return {}
        apply = rules.vote if name == "vote" else rules.act
        return {"version": await rooms.change(code, lambda room: apply(room, member, body))}

    async def _join(self, rooms: RoomService, code: str, network: str, body: Body) -> dict[str, str]:
        if "key" in body:
            member = self._digest(body, "key")
            rules.check_host(await rooms.read(code), member)
            return {"token": "", "listen": member}
        if "token" in body and (member := self._digest(body, "token")) in (await rooms.read(code)).phones:
            return {"token": body["token"], "listen": member}
        if not self._guesses.allows(network):
            raise RoomError(TOO_MANY_GUESSES, 429)
        token = secrets.token_urlsafe(16)
        member = secret_digest(token)
        await rooms.change(code, lambda room: rules.join(room, member))
        return {"token": token, "listen": member}

    def _digest(self, body: Body, secret: str) -> str:
        """Return the digest of a body's secret and count the request against its rate limit."""
        value = body.get(secret)
        if not isinstance(value, str) or len(value) > MAX_SECRET:
            raise NotAuthorized(f"The {secret} of this room is missing.")
        if not self._own_requests.allows(name := secret_digest(value)):
            raise RoomError(TOO_MANY_REQUESTS, 429)
        return name

    async def _stream(self, rooms: RoomService, request: Request, send: Send) -> None:
        """Send a room's states until the client disconnects, the room is deleted or the server stops."""

        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(SEND_TIMEOUT_SECONDS):
                await send(message)

        network, headers = client_network_from_scope(request.scope), {**NO_STORE, "X-Accel-Buffering": "no"}
        self._listeners[network] += 1
        try:
            async with aclosing(self._events(rooms, request.query_params, network)) as events:
                response = StreamingResponse(events, headers=headers, media_type="text/event-stream")
                await response(request.scope, request.receive, send_in_time)
        except (OSError, ClientDisconnect):  # a TimeoutError too
            abort_connection(request.receive)
        finally:
            self._listeners[network] -= 1
            self._listeners += Counter()  # drops the networks without any

    async def _events(self, rooms: RoomService, query: Mapping[str, str], network: str) -> AsyncGenerator[str]:
        full = self._listeners.total() > MAX_LISTENERS or self._listeners[network] > MAX_NETWORK_LISTENERS
        if full or not self._requests.allows(network):
            yield _event("wait", {"message": TOO_MANY_REQUESTS}, LATE_RETRY_MS)
            return
        try:
            async with rooms.subscribe(_code(query.get("code"))) as channel:
                while not STATE.is_ending:
                    changed = channel.changed
                    if channel.is_away:
                        yield _event("wait", {"message": UNAVAILABLE_TEXT})
                    else:
                        yield _event("room", rules.member_view(channel.room, query.get("listen", "")))
                    await asyncio.sleep(PAUSE_SECONDS)
                    while not changed.is_set():
                        try:
                            await asyncio.wait_for(changed.wait(), KEEPALIVE_SECONDS)
                        except TimeoutError:
                            yield ": still here\n\n"
        except RoomError as error:
            error = self._limit_guesses(error, network)
            kind, retry = ("wait", LATE_RETRY_MS) if error.status == 429 else ("gone", RETRY_MS)
            yield _event(kind, {"message": str(error)}, retry)


def _code(value: object) -> str:
    """Normalize a code; raise RoomNotFound for one that no room can have."""
    code = value.upper() if isinstance(value, str) else ""
    if len(code) != CODE_LETTERS or not set(code) <= set(ALPHABET):
        raise RoomNotFound
    return code


async def _body(request: Request) -> Body:
    """Return the JSON object of a request."""
    content = b""
    try:
        async with asyncio.timeout(ARRIVAL_SECONDS):
            async for chunk in request.stream():
                content += chunk
                if len(content) > MAX_BODY:
                    break
    except TimeoutError:
        raise RoomError("The request took too long to arrive; send it again.", 408) from None
    except ClientDisconnect:
        content = b""
    if len(content) > MAX_BODY:
        raise RoomError(f"That is too long: at most {MAX_BODY:,} bytes are accepted.", 413)
    with suppress(ValueError, RecursionError):
        if isinstance(body := json.loads(content), dict):
            return body
    raise RoomError("A JSON object is expected.")


def _event(kind: str, data: object, retry_ms: int = RETRY_MS) -> str:
    return f"retry: {retry_ms}\nevent: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
