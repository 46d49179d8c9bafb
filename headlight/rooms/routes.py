"""The routes of the rooms: acts as POST, states as an event stream. `messages` documents the protocol."""

import asyncio
import json
import secrets
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import Any, Final

from cachetools import TTLCache
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
from .store import KEPT_SECONDS, Store, StoreUnavailable

MAX_BODY: Final = 2**15  # bytes
MAX_SECRET: Final = 64
ARRIVAL_SECONDS: Final = 10.0  # for the body of a request
SEND_TIMEOUT_SECONDS: Final = 30.0  # without progress of a message, after which the connection is aborted
PAUSE_SECONDS: Final = 0.25  # between two events of a stream: at most five a second
KEEPALIVE_SECONDS: Final = 15.0  # between two comments that keep proxies from closing a silent stream
RETRY_MS: Final = 1000  # after which a browser reconnects, and
LATE_RETRY_MS: Final = 10_000  # the same for a client above its rate
OPEN_RATE: Final[Rate] = 0.1, 10  # new rooms of a network
GUESS_RATE: Final[Rate] = 2.0, 400  # new phones, wrong codes and invented secrets of a network
MAX_WAIT_SECONDS: Final = 20.0  # of a new phone for its turn in a network that guesses codes
LATE_SECONDS: Final = 3.0  # before a refusal, so that a hasty client has few requests a second
MEMBER_RATE: Final[Rate] = 5.0, 30  # of a phone or host
MAX_STREAMS: Final = 1200  # in all, and
MAX_OWN_STREAMS: Final = 4  # of one phone or host: a newer one replaces its oldest
NO_STORE: Final = {"Cache-Control": "no-store"}
UNAVAILABLE_TEXT: Final = "The rooms cannot be reached at the moment. No vote is lost; this page reconnects by itself."
TOO_MANY_GUESSES: Final = "Too many wrong codes from your network; try again in a minute."
TOO_MANY_REQUESTS: Final = "Too many requests from here; try again in a moment."
TOO_MANY_TABS: Final = "This room is open in newer tabs of this device; close one of them."
POSTS: Final = ("open", "join", "act", "vote", "delete")

Body = dict[str, Any]


class RoomRoutes:
    """The ASGI app of the routes under `PATH`.

    A class may share one network, so members are limited each by their own secret. Only what no member sends counts
    for its network: the new phones, the wrong codes and the secrets that this server has not issued. Without a store
    rooms are off.
    """

    def __init__(self, store: Store | None) -> None:
        self._rooms = RoomService(store) if store else None
        self._opens, self._strangers, self._own_requests = map(RateLimiter, (OPEN_RATE, GUESS_RATE, MEMBER_RATE))
        # a network proves that it knows a code once; what it proved tells a guesser nothing new
        self._known_codes: TTLCache[tuple[str, str], bool] = TTLCache(10_000, KEPT_SECONDS)
        # of each member, the oldest first
        self._streams: defaultdict[tuple[str, str], list[asyncio.Timeout]] = defaultdict(list)

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
            body = await _body(request)
            return JSONResponse(await self._result(rooms, name, network, body), headers=NO_STORE)
        except RoomError as error:
            error = await self._limit_guesses(error, network)
            return error_response(error.status, str(error), {"Retry-After": "1"} if error.status == 429 else {})
        except StoreUnavailable:
            return error_response(503, UNAVAILABLE_TEXT, {"Retry-After": "1"})

    async def _limit_guesses(self, error: RoomError, network: str) -> RoomError:
        """Delay a refusal, and replace one that reveals whether a room exists if the network has tried too many."""
        is_guess = isinstance(error, RoomNotFound | NotAuthorized)
        if is_guess and not self._strangers.allows((network, "")):
            error = RoomError(TOO_MANY_GUESSES, 429)
        if error.status == 429:
            await asyncio.sleep(LATE_SECONDS)
        return error

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
        if "token" in body:
            member = self._digest(body, "token")
            with suppress(RoomNotFound):  # treated as a new phone, so that nobody learns which codes there are
                if member in (await rooms.read(code)).phones:
                    return {"token": body["token"], "listen": member}
        wait = self._strangers.wait((network, code if (code, network) in self._known_codes else ""), MAX_WAIT_SECONDS)
        if wait is None:
            raise RoomError(TOO_MANY_GUESSES, 429)
        await asyncio.sleep(wait)
        token = secrets.token_urlsafe(16)
        member = secret_digest(token)
        try:
            await rooms.change(code, lambda room: rules.join(room, member))
        except RoomNotFound as error:  # counted already
            raise RoomError(str(error), error.status) from None
        self._known_codes[code, network] = True
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

        headers, timeout = {**NO_STORE, "X-Accel-Buffering": "no"}, asyncio.timeout(None)
        try:
            async with timeout, aclosing(self._events(rooms, request, timeout)) as events:
                response = StreamingResponse(events, headers=headers, media_type="text/event-stream")
                await response(request.scope, request.receive, send_in_time)
        except (OSError, ClientDisconnect):  # a TimeoutError too
            if not timeout.expired():
                abort_connection(request.receive)
                return
            last = _event("wait", {"message": TOO_MANY_TABS}, LATE_RETRY_MS).encode()
            with suppress(OSError):
                await send_in_time({"type": "http.response.body", "body": last})

    async def _events(self, rooms: RoomService, request: Request, timeout: asyncio.Timeout) -> AsyncGenerator[str]:
        network, query = client_network_from_scope(request.scope), request.query_params
        name = query.get("listen", "")[:MAX_SECRET]
        try:
            if not self._own_requests.allows(name):
                raise RoomError(TOO_MANY_REQUESTS, 429)
            code = _code(query.get("code"))
            async with rooms.subscribe(code) as channel:
                if not channel.is_away:
                    rules.member_view(channel.room, name)  # a stranger takes no stream from a member
                    self._known_codes[code, network] = True
                with self._counted((code, name), timeout):
                    while not STATE.is_ending:
                        changed = channel.changed
                        if channel.is_away:
                            yield _event("wait", {"message": UNAVAILABLE_TEXT})
                        else:
                            yield _event("room", rules.member_view(channel.room, name))
                        await asyncio.sleep(PAUSE_SECONDS)
                        while not changed.is_set():
                            try:
                                await asyncio.wait_for(changed.wait(), KEEPALIVE_SECONDS)
                            except TimeoutError:
                                yield ": still here\n\n"
        except RoomError as error:
            error = await self._limit_guesses(error, network)
            kind, retry = ("wait", LATE_RETRY_MS) if error.status == 429 else ("gone", RETRY_MS)
            yield _event(kind, {"message": str(error)}, retry)

    @contextmanager
    def _counted(self, member: tuple[str, str], timeout: asyncio.Timeout) -> Iterator[None]:
        """Count a stream; end the oldest one of its member, or of the busiest member, if there are too many.

        Raises:
            RoomError: no member has more streams than this one would have.
        """
        streams = self._streams
        try:
            if len(streams[member]) >= MAX_OWN_STREAMS:
                streams[member].pop(0).reschedule(0)
            elif sum(map(len, streams.values())) >= MAX_STREAMS:
                busiest = max(streams.values(), key=len)
                if len(busiest) <= len(streams[member]) + 1:
                    raise RoomError(TOO_MANY_REQUESTS, 429)
                busiest.pop(0).reschedule(0)
            streams[member].append(timeout)
            yield
        finally:
            streams[member] = [stream for stream in streams[member] if stream is not timeout]
            if not streams[member]:
                del streams[member]


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
