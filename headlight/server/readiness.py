"""Whether visitors are to be sent here: when the server is warm, and not when it was told to end.

On SIGTERM nobody new is let in, what is under way is wound up, and then the server around the app hears of it. Whoever
is here is told to connect anew, elsewhere. A second SIGTERM ends it at once.
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
WIND_UP_SECONDS = 12.0  # for trainings to end and to be kept, and then
LEAVE_SECONDS = 5.0  # for connections to close; who does not read is left behind
END_SECONDS = 2.0  # for what is left to be deleted; a store may hang
RETRY_AFTER_S = 3  # after which a page may be asked for anew
BODY: Final = "This server is restarting; it, or another one, will answer in a few seconds."
_PAGE = f"""<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="{RETRY_AFTER_S}"><title>Headlight</title><p role="status">{BODY}</p></html>"""


@dataclass
class State:
    """What this process is ready for."""

    is_warm: bool = False
    is_ending: bool = False


STATE: Final = State()


class ReadinessGate:
    """ASGI middleware that answers `LIVE` and `READY`, and lets no new page and no new connection in at the end."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._answer(scope) or self.app)(scope, receive, send)

    def _answer(self, scope: Scope) -> ASGIApp | None:
        """What is said in the app's place; None where the app answers."""
        kind = scope["type"]
        path = scope["path"].removeprefix(BASE) if kind == "http" else ""
        if path == LIVE:
            return _said("live")
        if path == READY:
            if STATE.is_warm and not STATE.is_ending:
                return _said("ready")
            return _said("ending" if STATE.is_ending else "warming up", 503)
        if not STATE.is_ending:
            return None
        if kind == "websocket":
            return _said(BODY, 503)
        if kind == "http" and "text/html" in Headers(scope=scope).get("accept", ""):
            return HTMLResponse(_PAGE, 503, _HEADERS)
        return None


_HEADERS = {"Cache-Control": "no-store", "Retry-After": str(RETRY_AFTER_S)}


def _said(text: str, status: int = 200) -> Response:
    return PlainTextResponse(f"{text}\n", status, _HEADERS if status == 503 else {"Cache-Control": "no-store"})


@contextmanager
def graceful_shutdown(wind_up: Callable[[float], None], end: Callable[[], None]) -> Iterator[None]:
    """Has SIGTERM end this process in order. To be entered in the event loop of the main thread; elsewhere in vain.

    Args:
        wind_up: ends what is under way, within so many seconds; called in a thread.
        end: called last, in a thread that is not waited for long. The server leaves by a signal, so that nothing is
            called at exit.
    """
    loop, served = asyncio.get_running_loop(), signal.getsignal(signal.SIGTERM)
    tasks: list[asyncio.Task[None]] = []

    def begin() -> None:
        loop.remove_signal_handler(signal.SIGTERM)  # a second one ends it at once
        STATE.is_ending = True
        tasks.append(loop.create_task(leave()))

    async def leave() -> None:
        done = asyncio.Event()

        def work() -> None:
            try:
                wind_up(WIND_UP_SECONDS)
            finally:
                with suppress(RuntimeError):  # the loop is closed: that was too late
                    loop.call_soon_threadsafe(done.set)

        threading.Thread(target=work, daemon=True).start()
        with suppress(TimeoutError):
            async with asyncio.timeout(WIND_UP_SECONDS + 1):  # a store may hang
                await done.wait()
        if callable(served):
            served(signal.SIGTERM, None)
        loop.call_later(LEAVE_SECONDS if callable(served) else 0, leave_now)

    def end_soon() -> None:
        thread = threading.Thread(target=end, daemon=True)
        thread.start()
        thread.join(END_SECONDS)

    def leave_now() -> None:
        end_soon()
        signal.raise_signal(signal.SIGTERM)
        os._exit(128 + signal.SIGTERM)  # process 1 does not end by a signal

    with suppress(NotImplementedError, RuntimeError, ValueError):  # Windows, or another thread
        loop.add_signal_handler(signal.SIGTERM, begin)
    yield
    end_soon()
