"""The request handler for films, which the page has packed and stored under a random name."""

import re
import weakref

from headlight.server import store
from mha_core.errors import HeadlightError
from mha_core.show.packing import pack_parts


class StoredFilms:
    """Packed films in the store that all processes share; they are deleted with this object.

    Raises:
        HeadlightError: the store cannot be written.
    """

    def __init__(self, packed: bytes) -> None:
        self.packed = packed
        self.name = store.put("film", packed)
        weakref.finalize(self, store.delete, "film", self.name)


def film(raw: bytes) -> bytes:
    """Return the stored films of a name.

    Raises:
        HeadlightError: the films have been deleted.
    """
    name = re.fullmatch(rb"name=([\w-]{22})", raw, re.ASCII)
    packed = store.read("film", name[1].decode("ascii")) if name else None
    if packed is None:
        raise HeadlightError("these films are no longer stored; reload the page")
    return pack_parts(packed)
