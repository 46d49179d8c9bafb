"""Routes for clients on the server's own machine: cached models, a local folder, and downloads from the hub.

GET only, for this server's own pages. A download streams a line of JSON for each step, the last one with the model's
name or the error; it stops when the client disconnects.
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

from .routes import error_response, is_same_origin

PATH = f"{API}/machine"
MAX_QUERY_BYTES = 4096
NO_HUB = "downloads from the Hugging Face hub are off: HF_HUB_OFFLINE is set, or other machines reach this server"
_download_lock = threading.Lock()  # one download at a time

Params = dict[str, str]


def _repo_and_revision(params: Params) -> tuple[str, str | None]:
    """Return the ID and the revision of a model. Raises a HeadlightError if downloads are not allowed."""
    if not (public.is_local() and public.ASKS_HUB):
        raise HeadlightError(NO_HUB)
    name, _, revision = params.get("id", "").strip().partition("@")
    return name, revision or None


HANDLERS: dict[str, Callable[[Params], Any]] = {
    "cached": lambda _: [asdict(source) for source in foreign.list_cached()],
    "folder": lambda params: asdict(foreign.open_folder(params.get("path", ""))),
    "size": lambda params: {"size": hub.download_size(*_repo_and_revision(params))},  # bytes of a download
}


async def machine_app(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve the routes under `PATH`, as an ASGI app."""
    name, raw = scope["path"].removeprefix(f"{PATH}/"), scope["query_string"]
    params = {key: texts[0] for key, texts in parse_qs(raw.decode("ascii", "replace")).items()}
    if name not in (*HANDLERS, "download") or len(raw) > MAX_QUERY_BYTES:
        response: ASGIApp = error_response(404, "Unknown route.")
    elif scope["method"] != "GET" or not is_same_origin(Headers(scope=scope)):
        response = error_response(403, "Only requests from Headlight’s own pages are accepted.")
    elif name == "download":
        headers = {"Cache-Control": "no-store"}
        response = StreamingResponse(_progress(params), headers=headers, media_type="application/x-ndjson")
    else:
        response = await asyncio.to_thread(_response, name, params)
    await response(scope, receive, send)


async def _progress(params: Params) -> AsyncIterator[bytes]:
    """Yield each step of a download as a line of JSON; a client that disconnects ends the download."""
    steps: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
    loop, disconnected = asyncio.get_running_loop(), threading.Event()

    def put(step: dict[str, Any] | None) -> None:
        loop.call_soon_threadsafe(steps.put_nowait, step)

    def on_progress(done: float) -> None:
        if disconnected.is_set():
            raise HeadlightError("the client has disconnected")
        put({"done": round(done, 4)})

    def work() -> None:
        try:
            name, revision = _repo_and_revision(params)
            if not _download_lock.acquire(blocking=False):
                raise HeadlightError("another model is being downloaded; try again when it is complete")
            try:
                _, revision = hub.download(name, revision, on_progress)
            finally:
                _download_lock.release()
            put(asdict(foreign.find_cached(name, revision)))
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


def _response(name: str, params: Params) -> Response:
    try:
        return JSONResponse(HANDLERS[name](params), headers={"Cache-Control": "no-store"})
    except HeadlightError as error:
        return error_response(422, f"{capital(str(error))}.")
