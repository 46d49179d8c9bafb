"""Where the rooms of this server are held, as the environment says: in this process, in a Valkey, or nowhere."""

import os
from typing import Final

from .memory import Memory
from .store import Store

VARIABLE: Final = "HEADLIGHT_ROOMS"  # "" here, "off" nowhere, or valkey://HOST:PORT/NUMBER; `headlight --rooms` sets it


def of_environment() -> Store | None:
    """The store that the environment names; None where rooms are off."""
    named = os.environ.get(VARIABLE, "")
    if named == "off":
        return None
    if not named:
        return Memory()
    from .shared import Shared

    return Shared(named)
