"""What all processes of this machine's user can read: small files by names that nobody can guess."""

import os
import re
import secrets
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from mha_core.errors import HeadlightError

NAME = re.compile(r"[\w-]{22}", re.ASCII)
_KINDS = ("film", "model")


def keep(kind: str, content: bytes, name: str = "") -> str:
    """Keeps a file; returns its name, a new one where none is given.

    Raises:
        HeadlightError: it cannot be written.
    """
    name = name or secrets.token_urlsafe(16)
    try:
        place = _file(kind, name)
        part = place.with_suffix(f".{secrets.token_hex(4)}")
        part.write_bytes(content)
        part.replace(place)  # whole, or not there
    except OSError:
        raise HeadlightError("the server's disk is full or cannot be written; try again later") from None
    return name


def read(kind: str, name: str) -> bytes | None:
    """The content of a file; None when there is none, and for what no name is."""
    if not NAME.fullmatch(name):
        return None
    with suppress(OSError):
        return _file(kind, name).read_bytes()
    return None


def forget(kind: str, name: str) -> None:
    """Deletes a file, if it is there."""
    with suppress(OSError):
        _file(kind, name).unlink()


def sweep(older: float) -> None:
    """Deletes what is `older` than so many seconds: whoever kept it was killed before it could."""
    with suppress(OSError):
        for file in _folder().iterdir():
            with suppress(OSError):  # it is gone already
                if file.lstat().st_mtime < time.time() - older:
                    file.unlink()


def _file(kind: str, name: str) -> Path:
    if kind not in _KINDS or not NAME.fullmatch(name):
        raise ValueError(f"no name of a {kind:.20}")
    return _folder() / f"{name}.{kind}"


def _folder() -> Path:
    """For this user alone. Raises an OSError when it cannot be made, or is somebody else's."""
    own = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"headlight-store-{own}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if hasattr(os, "getuid") and (folder.is_symlink() or status.st_uid != own or status.st_mode & 0o077):
        raise PermissionError("the store is not this user's alone")
    return folder
