"""The names by which the wire knows a visitor: random, given out by the app's script, good while the session lives."""

import secrets
from dataclasses import dataclass
from weakref import WeakValueDictionary

import streamlit as st
from streamlit import runtime

from . import sockets

_KEY = "visit"


@dataclass(frozen=True)
class Visitor:
    """Somebody who asks. address: of the machine, "" for this one; session: the tab, "" of who has no page open."""

    address: str = ""
    session: str = ""


class _SessionName:
    """Held by its session alone, so that it goes with that."""

    def __init__(self) -> None:
        self.name = secrets.token_hex(8)


_visits: WeakValueDictionary[str, _SessionName] = WeakValueDictionary()


def name() -> str:
    """The name of the visitor whose script runs now."""
    if _KEY not in st.session_state:
        visit = st.session_state[_KEY] = _SessionName()
        _visits[visit.name] = visit
    found: str = st.session_state[_KEY].name
    return found


def visitor() -> Visitor:
    """The visitor whose script runs now."""
    return Visitor(address(), name())


def address() -> str:
    """The address of the visitor whose script runs now; "" of this machine."""
    return sockets.client_network(st.context.ip_address or "") if runtime.exists() else ""


def is_open(name: str) -> bool:
    """Tells whether there is a visitor of this name here."""
    return name in _visits


def is_connected(session: str) -> bool:
    """Tells whether a session of Streamlit's has a page open."""
    return runtime.exists() and runtime.get_instance().is_active_session(session)
