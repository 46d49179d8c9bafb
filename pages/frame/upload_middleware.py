"""Limits on uploads to Streamlit: which clients may upload, how many files, and how many bytes."""

import re
from collections import Counter
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
MAX_TOTAL_BYTES = 128 * 2**20  # of all stored and incoming files
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
    so that files cannot fill the memory.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._arriving: Counter[str] = Counter()  # incoming files by session

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
        status = 0

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        self._arriving[session] += 1
        try:
            await self.app(scope, receive, send_and_note_status)
        finally:
            self._arriving[session] -= 1
            self._arriving += Counter()  # drops zero counts
        if 200 <= status < 300:
            for oldest in list(uploaded_files().file_storage.get(session, ()))[:-MAX_FILES]:
                uploaded_files().remove_file(session, oldest)

    def _has_room(self, session: str) -> bool:
        stored = sum(
            len(file.data) for files in list(uploaded_files().file_storage.values()) for file in list(files.values())
        )
        incoming = MAX_BYTES * self._arriving.total()
        return self._arriving[session] < MAX_FILES and stored + incoming < MAX_TOTAL_BYTES
