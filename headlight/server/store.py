"""The store of files that all processes of a server share, under random names.

Files lie in the temporary folder, readable by this user alone, or in the folder `HEADLIGHT_STORE`, which replicas may
share. Writes are atomic; only the file of a visit is ever overwritten. No file is executed or unpickled.
"""

import os
import re
import secrets
import tempfile
from pathlib import Path

from mha_core.errors import HeadlightError

from .store_folder import Folder, UserFolder

VARIABLE = "HEADLIGHT_STORE"
NAME = re.compile(r"[\w-]{22}", re.ASCII)
MAX_BYTES = 2 * 2**30  # of all files together; the oldest go first
_KINDS = ("film", "model", "data", "visit")
_OURS = re.compile(rf"{NAME.pattern}\.({'|'.join(_KINDS)})", re.ASCII)


def is_shared() -> bool:
    """Return whether other servers may read the store, so that it outlives this process."""
    return bool(os.environ.get(VARIABLE))


def put(kind: str, content: bytes, name: str = "") -> str:
    """Write a file and return its name, a new random one by default.

    Raises:
        HeadlightError: the file cannot be written.
    """
    name = name or secrets.token_urlsafe(16)
    try:
        _folder().write(_file(kind, name), content)
    except OSError:
        raise HeadlightError("the server’s disk is full or not writable; try again later") from None
    return name


def has(kind: str, name: str) -> bool:
    """Return whether a file exists."""
    return NAME.fullmatch(name) is not None and _folder().has(_file(kind, name))


def read(kind: str, name: str) -> bytes | None:
    """Return the content of a file; None for a missing file or an invalid name."""
    return _folder().read(_file(kind, name)) if NAME.fullmatch(name) else None


def delete(kind: str, name: str) -> None:
    """Delete a file, if it exists."""
    _folder().delete(_file(kind, name))


def sweep(max_age_s: float) -> None:
    """Delete the files older than so many seconds, and the oldest beyond `MAX_BYTES` in total."""
    _folder().sweep(_OURS, max_age_s, MAX_BYTES)


def _file(kind: str, name: str) -> str:
    if kind not in _KINDS or not NAME.fullmatch(name):
        raise ValueError(f"not a valid kind and name of a file: {kind:.20}")
    return f"{name}.{kind}"


def _folder() -> Folder:
    path = os.environ.get(VARIABLE)
    return Folder(Path(path)) if path else UserFolder(Path(tempfile.gettempdir()), "headlight-store")
