"""Where the rooms of this server are held, as the environment says: in this process, in a Valkey, or nowhere."""

import os
from typing import Final

from .memory import Memory
from .store import Store

VARIABLE: Final = "HEADLIGHT_ROOMS"  # "" here, "off" nowhere, or valkey://HOST:PORT/NUMBER; `headlight --rooms` sets it


def of_environment() -> Store | None:
    """The store that the environment names; None where rooms are off. Raises a ValueError for what names none."""
    named = os.environ.get(VARIABLE, "")
    if named == "off":
        return None
    if not named:
        return Memory()
    try:
        from .shared import Shared

        return Shared(named)
    except ImportError:
        raise ValueError(f"{VARIABLE}: the package valkey is missing") from None
    except ValueError:
        raise ValueError(f"{VARIABLE}: the rooms are off, or at an address as valkey://HOST:6379/0") from None
