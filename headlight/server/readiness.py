"""Liveness and readiness routes, and graceful shutdown.

After SIGTERM new pages and connections are refused with 503, so that clients reconnect elsewhere; running jobs are
stopped and saved; then the server receives the signal. A second SIGTERM ends the process at once.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from .base_path import BASE

LIVE, READY = "/livez", "/readyz"
WIND_UP_SECONDS = 12.0  # for trainings to stop and be saved
LEAVE_SECONDS = 5.0  # after that, for connections to close
END_SECONDS = 2.0  # for the final clean-up, as a store may hang
RETRY_AFTER_S = 3
BODY: Final = "This server is shutting down. Another one, or this one after a restart, answers in a few seconds."
_PAGE = f"""<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="{RETRY_AFTER_S}"><title>Headlight</title><p role="status">{BODY}</p></html>"""


@dataclass
class State:
    """The readiness of this process."""

    is_warm: bool = False
    is_ending: bool = False


STATE: Final = State()


class ReadinessMiddleware:
    """ASGI middleware that answers `LIVE` and `READY`, and refuses new pages and connections during shutdown."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or pass the connection on."""
        await (self._response(scope) or self.app)(scope, receive, send)

    def _response(self, scope: Scope) -> ASGIApp | None:
        """Return the response that replaces the app's, None where the app answers."""
        kind = scope["type"]
        path = scope["path"].removeprefix(BASE) if kind == "http" else ""
        if path == LIVE:
            return _text_response("live")
        if path == READY:
            if STATE.is_warm and not STATE.is_ending:
                return _text_response("ready")
            return _text_response("ending" if STATE.is_ending else "warming up", 503)
        if not STATE.is_ending:
            return None
        if kind == "websocket":
            return _text_response(BODY, 503)
        if kind == "http" and "text/html" in Headers(scope=scope).get("accept", ""):
            return HTMLResponse(_PAGE, 503, _HEADERS)
        return None


_HEADERS = {"Cache-Control": "no-store", "Retry-After": str(RETRY_AFTER_S)}


def _text_response(text: str, status: int = 200) -> Response:
    return PlainTextResponse(f"{text}\n", status, _HEADERS if status == 503 else {"Cache-Control": "no-store"})


@contextmanager
def graceful_shutdown(wind_up: Callable[[float], None], end: Callable[[], None]) -> Iterator[None]:
    """Handle SIGTERM with a graceful shutdown.

    Enter it in the event loop of the main thread; elsewhere, and on Windows, the signal is not handled.

    Args:
        wind_up: stops and saves running jobs within the given seconds; called in a thread.
        end: final clean-up, called in a thread with a timeout of `END_SECONDS`. It is called explicitly, because the
            process ends by a signal and runs no exit handlers.
    """
    loop, server_handler = asyncio.get_running_loop(), signal.getsignal(signal.SIGTERM)
    tasks: list[asyncio.Task[None]] = []

    def on_sigterm() -> None:
        loop.remove_signal_handler(signal.SIGTERM)  # so that a second one ends the process at once
        STATE.is_ending = True
        tasks.append(loop.create_task(leave()))

    async def leave() -> None:
        done = asyncio.Event()

        def work() -> None:
            try:
                wind_up(WIND_UP_SECONDS)
            finally:
                with suppress(RuntimeError):  # the loop is closed already
                    loop.call_soon_threadsafe(done.set)

        threading.Thread(target=work, daemon=True).start()
        with suppress(TimeoutError):
            async with asyncio.timeout(WIND_UP_SECONDS + 1):  # a store may hang
                await done.wait()
        if callable(server_handler):
            server_handler(signal.SIGTERM, None)
        loop.call_later(LEAVE_SECONDS if callable(server_handler) else 0, leave_now)

    def end_soon() -> None:
        thread = threading.Thread(target=end, daemon=True)
        thread.start()
        thread.join(END_SECONDS)

    def leave_now() -> None:
        end_soon()
        signal.raise_signal(signal.SIGTERM)
        os._exit(128 + signal.SIGTERM)  # process 1 ignores the default action of a signal

    with suppress(NotImplementedError, RuntimeError, ValueError):  # Windows, or another thread
        loop.add_signal_handler(signal.SIGTERM, on_sigterm)
    yield
    end_soon()
