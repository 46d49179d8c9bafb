"""What holds rooms, as bytes with a version.

A change names the version that it was made of and is refused where another one was quicker, so that it is made anew of
that.
"""

from collections.abc import Callable
from typing import Final, Protocol

MOST_ROOMS: Final = 100  # at a time
KEPT_SECONDS: Final = 90 * 60.0  # since the last act

Tell = Callable[[str, int], None]  # a room has changed to a version, 0: it is gone
TellAway = Callable[[bool], None]  # the store cannot be reached, or can again: then any room may have changed


class Away(Exception):
    """The store cannot be reached, so nothing is known of what was asked."""


class Full(Exception):
    """There are as many rooms as there may be."""


class Store(Protocol):
    """What holds rooms. Every method may raise Away."""

    def start(self, tell: Tell, tell_away: TellAway) -> None:
        """Says from now on what changes; called once, in the event loop."""

    async def create(self, code: str, content: bytes) -> bool:
        """Holds a new room, of version 1; False where there is one of this code. Raises Full."""

    async def read(self, code: str) -> bytes | None:
        """A room; None where there is none."""

    async def swap(self, code: str, version: int, content: bytes) -> bool:
        """Puts the next version in the place of this one; False where another one stands there, or none."""

    async def delete(self, code: str) -> None:
        """Lets go of a room."""
