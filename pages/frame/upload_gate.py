"""The gate of Streamlit's uploads: who may leave files here, and how many at a time."""

import re
from collections import Counter
from typing import cast

import streamlit as st
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from headlight.server.public import NO_FILES, is_public

# Streamlit's route for files. It counts while a file streams in, up to the size in .streamlit/config.toml.
UPLOADS = "/_stcore/upload_file"
MAX_FILES = 4  # of one visitor at a time
MAX_BYTES = int(st.get_option("server.maxUploadSize")) * 2**20  # of a file
MAX_HELD = 128 * 2**20  # bytes of all files that are here, or on their way
_UPLOAD = re.compile(rf".*{UPLOADS}/([^/]+)/([^/]+)", re.DOTALL)


def is_connected(session: str) -> bool:
    """Tells whether a session of Streamlit's has a page open."""
    return runtime.exists() and runtime.get_instance().is_active_session(session)


def uploaded_files() -> MemoryUploadedFileManager:
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
            for oldest in list(uploaded_files().file_storage.get(session, ()))[:-MAX_FILES]:
                uploaded_files().remove_file(session, oldest)

    def _has_room(self, session: str) -> bool:
        held = sum(
            len(file.data) for files in list(uploaded_files().file_storage.values()) for file in list(files.values())
        )
        on_their_way = MAX_BYTES * self._arriving.total()
        return self._arriving[session] < MAX_FILES and held + on_their_way < MAX_HELD
