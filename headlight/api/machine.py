"""What only who sits at this machine may ask: which models it holds, a folder of it, and one more of the hub.

GET only, for this server's own pages only. A download answers as it goes: a line of JSON for each step, the last one
with the model's name, or why there is none. Who hangs up ends it.
"""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from headlight.registry import foreign
from headlight.server import public
from headlight.ui.numbers import capital
from headlight.ui.web import API
from mha_core.errors import HeadlightError
from mha_core.pretrained import hub

from .routes import error_response, is_own_page

PATH = f"{API}/machine"
MAX_QUERY_BYTES = 4096  # bytes of a question
NO_HUB = "downloads from the Hugging Face hub are disabled: HF_HUB_OFFLINE is set, or this server is public"
_one = threading.Lock()  # at a time, out of the hub

Asked = dict[str, str]


def cached(_: Asked) -> list[dict[str, str]]:
    """Every model of the cache."""
    return [asdict(found) for found in foreign.cached()]


def folder(asked: Asked) -> dict[str, str]:
    """A folder by its path, which has a name from now on."""
    return asdict(foreign.opened(asked.get("path", "")))


def size(asked: Asked) -> dict[str, int]:
    """How many bytes a model of the hub would bring."""
    return {"size": hub.size_of(*_wanted(asked))}


def _wanted(asked: Asked) -> tuple[str, str | None]:
    """The id and the revision. Raises a HeadlightError where the hub is not to be asked."""
    if not (public.is_local() and public.ASKS_HUB):
        raise HeadlightError(NO_HUB)
    name, _, revision = asked.get("id", "").strip().partition("@")
    return name, revision or None


ANSWERS: dict[str, Callable[[Asked], Any]] = {"cached": cached, "folder": folder, "size": size}


async def of_this_machine(scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI app of the questions under `PATH`."""
    name, raw = scope["path"].removeprefix(f"{PATH}/"), scope["query_string"]
    asked = {key: texts[0] for key, texts in parse_qs(raw.decode("ascii", "replace")).items()}
    if name not in (*ANSWERS, "download") or len(raw) > MAX_QUERY_BYTES:
        answer: ASGIApp = error_response(404, "Unknown route.")
    elif scope["method"] != "GET" or not is_own_page(Headers(scope=scope)):
        answer = error_response(403, "Only requests from Headlight’s own pages are accepted.")
    elif name == "download":
        headers = {"Cache-Control": "no-store"}
        answer = StreamingResponse(_progress(asked), headers=headers, media_type="application/x-ndjson")
    else:
        answer = await asyncio.to_thread(_answer, ANSWERS[name], asked)
    await answer(scope, receive, send)


async def _progress(asked: Asked) -> AsyncIterator[bytes]:
    """Yield each step of a download as a line of JSON; a client that disconnects ends the download."""
    steps: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
    loop, disconnected = asyncio.get_running_loop(), threading.Event()

    def put(step: dict[str, Any] | None) -> None:
        loop.call_soon_threadsafe(steps.put_nowait, step)

    def on_progress(done: float) -> None:
        if disconnected.is_set():
            raise HeadlightError("nobody waits for it any more")
        put({"done": round(done, 4)})

    def work() -> None:
        try:
            put(_got(asked, on_progress))
        except HeadlightError as error:
            put({"error": f"{capital(str(error))}."})
        finally:
            put(None)

    working = asyncio.create_task(asyncio.to_thread(work))
    try:
        while (step := await steps.get()) is not None:
            yield json.dumps(step).encode() + b"\n"
    finally:
        disconnected.set()
        await working


def _got(asked: Asked, progress: Callable[[float], None]) -> dict[str, str]:
    wanted = _wanted(asked)
    if not _one.acquire(blocking=False):
        raise HeadlightError("another model is being downloaded; wait until it has finished")
    try:
        _, revision = hub.download(*wanted, progress)
    finally:
        _one.release()
    return asdict(foreign.cached_one(wanted[0], revision))


def _answer(question: Callable[[Asked], Any], asked: Asked) -> Response:
    try:
        return JSONResponse(question(asked), headers={"Cache-Control": "no-store"})
    except HeadlightError as error:
        return error_response(422, f"{capital(str(error))}.")
