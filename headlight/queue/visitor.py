"""A visitor, as the queue tells one from another, and the names of those who have a page open."""

import secrets
from dataclasses import dataclass
from weakref import WeakValueDictionary


@dataclass(frozen=True)
class Visitor:
    """Somebody who asks. address: of the machine, "" for this one; session: the tab, "" of who has no page open."""

    address: str = ""
    session: str = ""


class OpenPage:
    """A tab by a random name, by which the data API knows it. Held by its session alone, so that it goes with that."""

    def __init__(self) -> None:
        self.name = secrets.token_hex(8)
        _open[self.name] = self


_open: WeakValueDictionary[str, OpenPage] = WeakValueDictionary()


def is_open(name: str) -> bool:
    """Tells whether a page of this name is open here."""
    return name in _open
