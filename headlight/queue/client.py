"""The clients of the queue, and the sessions that have a page open."""

import secrets
from dataclasses import dataclass
from weakref import WeakValueDictionary


@dataclass(frozen=True)
class Client:
    """A client of the server."""

    address: str = ""  # of its machine, "" for this one
    session: str = ""  # name of its tab's session, "" without a page


class Session:
    """An open page, under the random name that the data API uses. Only Streamlit's session holds a reference to it."""

    def __init__(self) -> None:
        self.id = secrets.token_hex(8)
        _open[self.id] = self


_open: WeakValueDictionary[str, Session] = WeakValueDictionary()


def is_open(name: str) -> bool:
    """Tell whether a page of this name is open on this server."""
    return name in _open
