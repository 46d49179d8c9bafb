"""How often rooms may be asked, by network and by voter. Of networks nothing is held for longer than it counts."""

import hashlib
import secrets
from typing import Final

from cachetools import TTLCache

from headlight.server.token_bucket import Buckets, Rate

OPENS: Final[Rate] = 0.1, 10  # rooms, of a network
ASKS: Final[Rate] = 200.0, 1000  # acts and joins, of a network: a class may sit behind a single one
OWN: Final[Rate] = 5.0, 30  # acts of one phone or host
GUESSES: Final[Rate] = 0.5, 30  # codes that a network has not been let in by of late
MOST_LISTENERS: Final = 1200  # event streams in all, and
MOST_LISTENERS_OF_ONE: Final = 400  # of one network
KNOWN_SECONDS: Final = 600.0  # for which a network that has joined a room is not slowed there


class Guesses:
    """Who guesses codes: a network that has asked for too many rooms finds only those that it has found already.

    So a class goes on while somebody in it guesses, and the guesser learns nothing.
    """

    def __init__(self) -> None:
        self._asked = Buckets(GUESSES)
        self._known: TTLCache[bytes, None] = TTLCache(10_000, KNOWN_SECONDS)
        self._salt = secrets.token_bytes(16)

    def is_slowed(self, network: str, code: str) -> bool:
        """Tells whether a network finds no room of this code that it does not know; counts that it asked."""
        return self._name(network, code) not in self._known and not self._asked.allows(network)

    def right(self, network: str, code: str) -> None:
        """Takes note that somebody of a network is in a room."""
        self._known[self._name(network, code)] = None

    def _name(self, network: str, code: str) -> bytes:
        return hashlib.blake2b(f"{code} {network}".encode(), key=self._salt, digest_size=12).digest()
