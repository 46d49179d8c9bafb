"""Limits on uploads to Streamlit: which clients may upload, how many files, and how many bytes."""

import asyncio
import re
from collections import Counter
from contextlib import suppress
from typing import cast

import streamlit as st
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from headlight.server.public import NO_FILES, is_public

# Streamlit's upload route, which limits each file to the size in .streamlit/config.toml while it streams in.
UPLOADS = "/_stcore/upload_file"
MAX_FILES = 4  # per session
MAX_BYTES = int(st.get_option("server.maxUploadSize")) * 2**20  # per file
MIN_BYTES_PER_SECOND = 2**14  # of a file that arrives,
GRACE_SECONDS = 10.0  # behind which it may be for so long
MAX_TOTAL_BYTES = 128 * 2**20  # of all stored and incoming files
TOO_SLOW = PlainTextResponse("The file arrived too slowly", 408, {"Connection": "close"})
_UPLOAD = re.compile(rf".*{UPLOADS}/([^/]+)/([^/]+)", re.DOTALL)


def is_connected(session: str) -> bool:
    """Return whether a session of Streamlit has a page open."""
    return runtime.exists() and runtime.get_instance().is_active_session(session)


def uploaded_files() -> MemoryUploadedFileManager:
    """Return Streamlit's store of uploaded files, by session with the oldest first."""
    return cast(MemoryUploadedFileManager, runtime.get_instance().uploaded_file_mgr)


class UploadMiddleware:
    """ASGI middleware that accepts a few files from each client with an open page.

    Session IDs are random and known to their browser alone. Streamlit itself rejects files that are too large and
    deletes files at the end of a session, but not when the user leaves the page: here a new file replaces the oldest,
    so that files cannot fill the memory. A file that arrives too slowly is dropped, sooner if another one needs its
    place, and so is the oldest one of a session that has more arriving files than the other one's.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._arriving: list[_Upload] = []  # the oldest first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Accept or reject an upload, and pass on any other connection."""
        if scope["type"] != "http" or UPLOADS not in scope["path"]:
            await self.app(scope, receive, send)
            return
        match = _UPLOAD.fullmatch(scope["path"])
        if match is None or scope["method"] not in ("PUT", "DELETE") or not is_connected(match[1]):
            await PlainTextResponse("Not Found", 404)(scope, receive, send)
        elif scope["method"] == "DELETE":
            await self.app(scope, receive, send)
        elif is_public():
            await PlainTextResponse(NO_FILES, 403)(scope, receive, send)
        else:
            await self._accept(match[1], scope, receive, send)

    async def _accept(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Accept a file if there is room for it."""
        if not self._has_room(session):
            await PlainTextResponse("Too many files", 429)(scope, receive, send)
            return
        upload = _Upload(session, receive)
        status = 0

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        self._arriving.append(upload)
        try:
            async with upload.timeout:
                await self.app(scope, upload.receive, send_and_note_status)
        except TimeoutError:
            if not upload.timeout.expired():
                raise
            if not status:
                await TOO_SLOW(scope, receive, send)
        finally:
            self._arriving = [file for file in self._arriving if file is not upload]
        if 200 <= status < 300:
            for oldest in list(uploaded_files().file_storage.get(session, ()))[:-MAX_FILES]:
                uploaded_files().remove_file(session, oldest)

    def _has_room(self, session: str) -> bool:
        """Return whether there is room for a file, for which another one that is still arriving may be dropped."""
        stored = sum(
            len(file.data) for files in list(uploaded_files().file_storage.values()) for file in list(files.values())
        )
        counts = Counter(upload.session for upload in self._arriving)
        left, has_too_many = MAX_TOTAL_BYTES - stored - MAX_BYTES * counts.total(), counts[session] >= MAX_FILES
        if left > 0 and not has_too_many:
            return True
        slow = [file for file in self._arriving if file.is_slow and (file.session == session or not has_too_many)]
        dropped = slow or [file for file in self._arriving if counts[file.session] > counts[session] + 1]
        if not dropped or left + MAX_BYTES <= 0:
            return False
        self._arriving.remove(dropped[0])
        with suppress(RuntimeError):  # it ends already
            dropped[0].timeout.reschedule(0)
        return True


class _Upload:
    """A file that is arriving, and its timeout, which its bytes extend."""

    def __init__(self, session: str, receive: Receive) -> None:
        self.session, self._receive = session, receive
        self._due = asyncio.get_running_loop().time()  # when the bytes that have arrived should have
        self.timeout = asyncio.timeout_at(self._due + GRACE_SECONDS)

    @property
    def is_slow(self) -> bool:
        """Tell whether the file is more than a second late."""
        return asyncio.get_running_loop().time() > self._due + 1

    async def receive(self) -> Message:
        """Return the next part of the file."""
        message = await self._receive()
        self._due += len(message.get("body", b"")) / MIN_BYTES_PER_SECOND
        self.timeout.reschedule(self._due + GRACE_SECONDS if message.get("more_body") else None)
        return message
