"""Films on the wire: the page's script packs them, the view asks for them by a name that nobody can guess."""

from __future__ import annotations

import re
import secrets
import threading
from weakref import WeakValueDictionary

from mha_core.errors import HeadlightError
from pages.kit.draw.packing import pack_parts


class Kept:
    """Packed films, to be asked for as long as whoever made them keeps this."""

    def __init__(self, packed: bytes) -> None:
        self.packed = packed
        self.name = secrets.token_urlsafe(16)
        with _lock:
            _films[self.name] = self


_films: WeakValueDictionary[str, Kept] = WeakValueDictionary()
_lock = threading.Lock()


def film(raw: bytes) -> bytes:
    """The films of a name. Raises a HeadlightError when nobody keeps them any more."""
    name = re.fullmatch(rb"name=([\w-]{1,64})", raw, re.ASCII)
    with _lock:
        kept = _films.get(name[1].decode("ascii")) if name else None
    if kept is None:
        raise HeadlightError("these films are gone; reload the page")
    return pack_parts(kept.packed)
