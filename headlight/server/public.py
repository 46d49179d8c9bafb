"""Settings of a public server: no uploads and no downloads from the Hugging Face hub."""

import os
from typing import Final

from . import options
from .addresses import LOOPBACK

VARIABLE: Final = "HEADLIGHT_PUBLIC"  # "1" in the environment; `headlight --public` sets it
# read here before a library sets it
ASKS_HUB: Final = os.environ.get("HF_HUB_OFFLINE", "").upper() not in ("1", "ON", "YES", "TRUE")
NO_FILES: Final = "This is a public server, which accepts no files. Install Headlight on your own machine to use them."


def is_public() -> bool:
    """Return whether this process is a public server."""
    return os.environ.get(VARIABLE) == "1"


def is_local() -> bool:
    """Return whether only this machine reaches the server, so that clients may read its files and use the hub."""
    return not is_public() and options.read("server.address") in LOOPBACK
