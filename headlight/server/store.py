"""What all processes of a server can read, on one machine or many: files by names that nobody can guess.

They lie in the temporary folder, for this user alone, or in the folder that `HEADLIGHT_STORE` names and replicas share.
A file is written whole, and but for that of a visit never again under its name. None is run or unpickled.
"""

import os
import re
import secrets
import tempfile
from pathlib import Path

from mha_core.errors import HeadlightError

from .store_folder import Folder, FolderOfUser

VARIABLE = "HEADLIGHT_STORE"
NAME = re.compile(r"[\w-]{22}", re.ASCII)
MAX_BYTES = 2 * 2**30  # of all files together; the oldest go first
_KINDS = ("film", "model", "data", "visit")
_OURS = re.compile(rf"{NAME.pattern}\.({'|'.join(_KINDS)})", re.ASCII)


def is_shared() -> bool:
    """Tells whether other servers read it too, so that it outlives this one."""
    return bool(os.environ.get(VARIABLE))


def put(kind: str, content: bytes, name: str = "") -> str:
    """Keeps a file; returns its name, a new one where none is given.

    Raises:
        HeadlightError: it cannot be written.
    """
    name = name or secrets.token_urlsafe(16)
    try:
        _place().write(_file(kind, name), content)
    except OSError:
        raise HeadlightError("the server’s disk is full or not writable; try again later") from None
    return name


def has(kind: str, name: str) -> bool:
    """Tells whether there is such a file."""
    return NAME.fullmatch(name) is not None and _place().has(_file(kind, name))


def read(kind: str, name: str) -> bytes | None:
    """The content of a file; None when there is none, and for what no name is."""
    return _place().read(_file(kind, name)) if NAME.fullmatch(name) else None


def delete(kind: str, name: str) -> None:
    """Deletes a file, if it is there."""
    _place().delete(_file(kind, name))


def sweep(older: float) -> None:
    """Deletes what is `older` than so many seconds, as whoever kept it is gone, and the oldest beyond `MAX_BYTES`."""
    _place().sweep(_OURS, older, MAX_BYTES)


def _file(kind: str, name: str) -> str:
    if kind not in _KINDS or not NAME.fullmatch(name):
        raise ValueError(f"no name of a {kind:.20}")
    return f"{name}.{kind}"


def _place() -> Folder:
    named = os.environ.get(VARIABLE)
    return Folder(Path(named)) if named else FolderOfUser(Path(tempfile.gettempdir()), "headlight-store")
