"""The gates in front of the app: which names it answers to, which routes it has, and which files come in.

Everything is decided by the scope's path and headers as they arrived, never by a URL put together from them.
"""

import asyncio
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
from .sockets import network_of
from .visits import is_connected

# What Streamlit serves and Headlight has no use for: counters, an interface for agents, logins.
_CLOSED = re.compile(r"(.*/)?(_stcore/(metrics|script-health-check|agent(/.*)?)|auth/.*|oauth2callback)/?", re.DOTALL)

# Streamlit's route for files. It counts while a file streams in, up to the size in .streamlit/config.toml.
UPLOADS = "/_stcore/upload_file"
MOST_FILES = 4  # of one visitor at a time
MOST_ARRIVING = 16  # of all visitors at a time, and
MOST_OF_ADDRESS = 8  # of those of one address
MOST_HELD = 128 * 2**20  # bytes of all files that are here, and
MOST_HELD_OF_ADDRESS = 48 * 2**20  # of those of one address
ARRIVAL_SECONDS = 60.0  # for a file to arrive in
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
    """ASGI middleware that lets files pass only from visitors who have a page open, only a few at a time, and in time.

    A session's name is a random number that only its own browser knows. Streamlit itself refuses a file that is too
    large, and forgets a visitor's files with the visit, but not when their page is left: here the oldest makes room
    for a new one, so that they cannot fill the memory.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._arriving: Counter[str] = Counter()  # files on their way, by session
        self._from: Counter[str] = Counter()  # the same by address
        self._homes: dict[str, str] = {}  # session -> address, of those who have left something

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
        """Lets a file in when there is room for it, and ends it when it does not come to an end by itself."""
        address = network_of(scope)
        if not self._has_room(session, address):
            await PlainTextResponse("Too many files", 429)(scope, receive, send)
            return
        status = 0

        async def send_on(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        self._arriving[session] += 1
        self._from[address] += 1
        self._homes[session] = address
        try:
            async with asyncio.timeout(ARRIVAL_SECONDS):
                await self.app(scope, receive, send_on)
        except TimeoutError:
            if not status:
                await PlainTextResponse("The file takes too long", 408)(scope, receive, send)
        finally:
            self._arriving[session] -= 1
            self._from[address] -= 1
            self._arriving += Counter()  # drops who has none on the way
            self._from += Counter()
        if 200 <= status < 300:
            for oldest in list(left_here().file_storage.get(session, ()))[:-MOST_FILES]:
                left_here().remove_file(session, oldest)

    def _has_room(self, session: str, address: str) -> bool:
        stored = list(left_here().file_storage.items())
        held = {known: sum(len(file.data) for file in list(files.values())) for known, files in stored}
        self._homes = {known: home for known, home in self._homes.items() if known in held or self._arriving[known]}
        own = sum(size for known, size in held.items() if self._homes.get(known) == address)
        return (
            self._arriving[session] < MOST_FILES
            and self._from[address] < MOST_OF_ADDRESS
            and self._arriving.total() < MOST_ARRIVING
            and own < MOST_HELD_OF_ADDRESS
            and sum(held.values()) < MOST_HELD
        )
