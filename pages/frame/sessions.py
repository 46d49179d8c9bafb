"""The client of the running script, for the queue and the data API."""

import streamlit as st
from streamlit import runtime

from headlight.queue.client import Client, Session
from headlight.server.sockets import client_network

_KEY = "visit"


def session_id() -> str:
    """Return the random ID of this page's session."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = Session()
    page: Session = st.session_state[_KEY]
    return page.id


def client() -> Client:
    """Return the client of the running script."""
    return Client(address(), session_id())


def address() -> str:
    """Return the network address of the client, "" for this machine."""
    return client_network(st.context.ip_address or "") if runtime.exists() else ""
