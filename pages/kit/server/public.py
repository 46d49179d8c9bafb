"""Whether this server is for strangers: it takes no files of theirs, and asks nobody for data."""

import os
from typing import Final

VARIABLE: Final = "HEADLIGHT_PUBLIC"  # "1" in the environment; `headlight --public` sets it
NO_FILES: Final = "This server is open to everybody, so it takes no files; on a machine of your own Headlight does."


def is_public() -> bool:
    """Tells it of this process."""
    return os.environ.get(VARIABLE) == "1"
