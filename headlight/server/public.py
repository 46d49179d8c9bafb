"""Whether this server is for strangers: it takes no files of theirs, and asks nobody for data."""

import os
from typing import Final

from . import options
from .addresses import LOOPBACK

VARIABLE: Final = "HEADLIGHT_PUBLIC"  # "1" in the environment; `headlight --public` sets it
# that of who started it: read before what computes sets it for itself
ASKS_HUB: Final = os.environ.get("HF_HUB_OFFLINE", "").upper() not in ("1", "ON", "YES", "TRUE")
NO_FILES: Final = "This public server does not accept files; Headlight on your own computer does."


def is_public() -> bool:
    """Tells it of this process."""
    return os.environ.get(VARIABLE) == "1"


def is_local() -> bool:
    """Tells whether only this machine reaches the server: who asks may read its files, and ask others for more."""
    return not is_public() and options.read("server.address") in LOOPBACK
