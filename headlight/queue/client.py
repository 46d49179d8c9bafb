"""The clients of the queue, and the sessions that have a page open."""

import secrets
from dataclasses import dataclass
from weakref import WeakValueDictionary


@dataclass(frozen=True)
class Client:
    """A client of the server. address: of its machine, "" for this one; session: of its tab, "" without a page."""

    address: str = ""
    session: str = ""


class Session:
    """An open page, by the random name by which the data API knows it. Streamlit's session alone holds it."""

    def __init__(self) -> None:
        self.name = secrets.token_hex(8)
        _open[self.name] = self


_open: WeakValueDictionary[str, Session] = WeakValueDictionary()


def is_open(name: str) -> bool:
    """Tell whether a page of this name is open on this server."""
    return name in _open
