"""The names by which the wire knows a visitor: random, given out by the app's script, good while the page is open."""

from __future__ import annotations

import secrets

from cachetools import LRUCache
from streamlit import runtime

MOST_VISITS = 20_000  # names that are known at once

_sessions: LRUCache[str, str] = LRUCache(MOST_VISITS)  # name of a visit -> its session


def begin(session: str) -> str:
    """A new name for the visitor of this session."""
    name = secrets.token_hex(8)
    _sessions[name] = session
    return name


def is_open(name: str) -> bool:
    """Tells whether the visitor of this name has a page open here."""
    session = _sessions.get(name)
    return session is not None and is_connected(session)


def is_connected(session: str) -> bool:
    """Tells whether a session has a page open."""
    return runtime.exists() and runtime.get_instance().is_active_session(session)
