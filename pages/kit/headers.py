"""The security headers of every response, and the gate in front of what visitors upload."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import streamlit
from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

__all__ = ["HEADERS", "MOST_ARRIVING", "MOST_FILES", "UPLOADS", "SecurityHeaders", "UploadGate"]


def _inline_script_hashes() -> str:
    """The hashes of the scripts that stand in Streamlit's own index.html, and of no others."""
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text("utf-8")
    digests = (
        hashlib.sha256(script.encode()).digest() for script in re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    )
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


# blob: is how Streamlit loads a component's one inline line; everything else comes from this server.
# Styles are set inline by Streamlit's own front end.
_POLICY = {
    "default-src": "'self'",
    "script-src": f"'self' blob: {_inline_script_hashes()}",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self'",
    "worker-src": "'self' blob:",
    "frame-src": "'none'",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}

HEADERS = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in _POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}


# Streamlit's route for files. It counts while a file streams in, up to the size in .streamlit/config.toml.
UPLOADS = "/_stcore/upload_file"
MOST_FILES = 4  # of one visitor at a time
MOST_ARRIVING = 16  # of all visitors at a time
_UPLOAD = re.compile(rf".*{UPLOADS}/([^/]+)/([^/]+)", re.DOTALL)


class SecurityHeaders:
    """ASGI middleware that adds `HEADERS` to every HTTP response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        await self.app(scope, receive, send_with_headers)


def _is_connected(session: str) -> bool:
    return runtime.exists() and runtime.get_instance().is_active_session(session)


def _files_of(session: str) -> list[str]:
    """The ids of the files that a visitor has left here, the oldest first."""
    manager = runtime.get_instance().uploaded_file_mgr
    return list(manager.file_storage.get(session, ())) if isinstance(manager, MemoryUploadedFileManager) else []


def _forget(session: str, file: str) -> None:
    manager = runtime.get_instance().uploaded_file_mgr
    if isinstance(manager, MemoryUploadedFileManager):
        manager.remove_file(session, file)


class UploadGate:
    """ASGI middleware that lets files pass only from visitors who have a page open, and only a few at a time.

    A session's name is a random number that only its own browser knows. Streamlit itself refuses a file that is too
    large, and forgets a visitor's files with the visit, but not when their page is left: here the oldest makes room
    for a new one, so that they cannot fill the memory.

    Args:
        connected: whether a session has a page open.
        files: the ids of the files that a session has here, the oldest first.
        forget: takes a session's file away.
    """

    def __init__(
        self,
        app: ASGIApp,
        connected: Callable[[str], bool] = _is_connected,
        files: Callable[[str], list[str]] = _files_of,
        forget: Callable[[str, str], None] = _forget,
    ) -> None:
        self.app = app
        self._connected = connected
        self._files = files
        self._forget = forget
        self._arriving: Counter[str] = Counter()  # files on their way, by session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or UPLOADS not in scope.get("path", ""):
            await self.app(scope, receive, send)
            return
        found = _UPLOAD.fullmatch(scope["path"])
        if found is None or scope["method"] not in ("PUT", "DELETE") or not self._connected(found[1]):
            await PlainTextResponse("Not Found", 404)(scope, receive, send)
        elif scope["method"] == "DELETE":
            await self.app(scope, receive, send)
        else:
            await self._pass(found[1], scope, receive, send)

    async def _pass(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a file in when there is room for it."""
        if self._arriving[session] >= MOST_FILES or self._arriving.total() >= MOST_ARRIVING:
            await PlainTextResponse("Too many files", 429)(scope, receive, send)
            return
        self._arriving[session] += 1
        kept = self._files(session)
        for oldest in kept[: max(0, len(kept) + self._arriving[session] - MOST_FILES)]:
            self._forget(session, oldest)
        try:
            await self.app(scope, receive, send)
        finally:
            self._arriving[session] -= 1
            self._arriving += Counter()  # drops who has none on the way
