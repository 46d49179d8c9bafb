"""The gates in front of the app: which names it answers to, which routes it has, and which files come in.

Everything is decided by the scope's path and headers as they arrived, never by a URL put together from them.
"""

import ipaddress
import re
import socket
from collections import Counter
from contextlib import suppress
from typing import cast
from urllib.parse import urlsplit

import streamlit as st
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from .public import NO_FILES, is_public
from .visits import is_connected

# What Streamlit serves and Headlight has no use for: counters, an interface for agents, logins.
_CLOSED = re.compile(r"(.*/)?(_stcore/(metrics|script-health-check|agent(/.*)?)|auth/.*|oauth2callback)/?", re.DOTALL)

# Streamlit's route for files. It counts while a file streams in, up to the size in .streamlit/config.toml.
UPLOADS = "/_stcore/upload_file"
MOST_FILES = 4  # of one visitor at a time
MAX_BYTES = int(st.get_option("server.maxUploadSize")) * 2**20  # of a file
MOST_HELD = 128 * 2**20  # bytes of all files that are here, or on their way
_UPLOAD = re.compile(rf".*{UPLOADS}/([^/]+)/([^/]+)", re.DOTALL)


def own_names() -> set[str]:
    """The names that this server is known by: its machine's, and those in Streamlit's configuration."""
    machine = socket.gethostname().lower()
    told = [st.get_option("browser.serverAddress"), *(st.get_option("server.allowedHosts") or [])]
    return {"localhost", machine, f"{machine}.local", *(str(name).lower() for name in told if name)}


class HostGate:
    """ASGI middleware that answers only under a name of this server.

    A page elsewhere can lead its own name to this machine and then ask in this server's place (DNS rebinding). An
    address of numbers cannot be led anywhere, so every one of those is fine.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or self._is_own(scope):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            told = "This server has another name. Start it with --server.allowedHosts=NAME to give it this one."
            await PlainTextResponse(told, 421)(scope, receive, send)

    def _is_own(self, scope: Scope) -> bool:
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        try:
            where = urlsplit(f"//{hosts[0]}" if len(hosts) == 1 else "")
        except ValueError:
            return False
        if where.username is not None:
            return False
        name = (where.hostname or "").rstrip(".")
        with suppress(ValueError):
            return bool(ipaddress.ip_address(name))
        return bool(name) and any(
            own in ("*", name) or (own.startswith("*.") and name.endswith(own[1:])) for own in own_names()
        )


class RouteGate:
    """ASGI middleware that says 404 to Streamlit's routes that Headlight has no use for."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _CLOSED.fullmatch(scope["path"]):
            await PlainTextResponse("Not Found", 404)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def left_here() -> MemoryUploadedFileManager:
    """What visitors have left here: by session its files, the oldest first."""
    return cast(MemoryUploadedFileManager, runtime.get_instance().uploaded_file_mgr)


class UploadGate:
    """ASGI middleware that lets files pass only from visitors who have a page open, and only a few at a time.

    A session's name is a random number that only its own browser knows. Streamlit itself refuses a file that is too
    large, and forgets a visitor's files with the visit, but not when their page is left: here the oldest makes room
    for a new one, so that they cannot fill the memory.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._arriving: Counter[str] = Counter()  # files on their way, by session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or UPLOADS not in scope["path"]:
            await self.app(scope, receive, send)
            return
        found = _UPLOAD.fullmatch(scope["path"])
        if found is None or scope["method"] not in ("PUT", "DELETE") or not is_connected(found[1]):
            await PlainTextResponse("Not Found", 404)(scope, receive, send)
        elif scope["method"] == "DELETE":
            await self.app(scope, receive, send)
        elif is_public():
            await PlainTextResponse(NO_FILES, 403)(scope, receive, send)
        else:
            await self._pass(found[1], scope, receive, send)

    async def _pass(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a file in when there is room for it."""
        if not self._has_room(session):
            await PlainTextResponse("Too many files", 429)(scope, receive, send)
            return
        status = 0

        async def send_on(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        self._arriving[session] += 1
        try:
            await self.app(scope, receive, send_on)
        finally:
            self._arriving[session] -= 1
            self._arriving += Counter()  # drops who has none on the way
        if 200 <= status < 300:
            for oldest in list(left_here().file_storage.get(session, ()))[:-MOST_FILES]:
                left_here().remove_file(session, oldest)

    def _has_room(self, session: str) -> bool:
        held = sum(len(file.data) for files in list(left_here().file_storage.values()) for file in list(files.values()))
        on_their_way = MAX_BYTES * self._arriving.total()
        return self._arriving[session] < MOST_FILES and held + on_their_way < MOST_HELD
