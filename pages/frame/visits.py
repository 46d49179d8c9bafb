"""The visitor whose script runs now, as the queue and the data API know them."""

import streamlit as st
from streamlit import runtime

from headlight.queue.client import Client, Session
from headlight.server.sockets import client_network

_KEY = "visit"


def session_id() -> str:
    """Return the random name of the visitor's page."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = Session()
    page: Session = st.session_state[_KEY]
    return page.name


def visitor() -> Client:
    """Return the visitor whose script runs now: address and page."""
    return Client(address(), session_id())


def address() -> str:
    """The address of the visitor; "" of this machine."""
    return client_network(st.context.ip_address or "") if runtime.exists() else ""
