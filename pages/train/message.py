"""Films on the wire: the page's script packs them, the view asks for them by a name that nobody can guess."""

import re
import weakref

from headlight.server import store
from mha_core.errors import HeadlightError
from mha_core.show.packing import pack_parts


class HeldFilms:
    """Packed films, to be asked for in any process as long as whoever made them keeps this.

    Raises a HeadlightError when they cannot be written.
    """

    def __init__(self, packed: bytes) -> None:
        self.packed = packed
        self.name = store.put("film", packed)
        weakref.finalize(self, store.delete, "film", self.name)


def film(raw: bytes) -> bytes:
    """The films of a name. Raises a HeadlightError when nobody keeps them any more."""
    name = re.fullmatch(rb"name=([\w-]{22})", raw, re.ASCII)
    packed = store.read("film", name[1].decode("ascii")) if name else None
    if packed is None:
        raise HeadlightError("these films are no longer stored; reload the page")
    return pack_parts(packed)
