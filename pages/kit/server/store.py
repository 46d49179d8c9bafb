"""What all processes of a server can read, on one machine or many: files by names that nobody can guess.

They lie in the temporary folder, for this user alone, or in the folder that `HEADLIGHT_STORE` names, which replicas
share. A file is written whole, and but for that of a visit never again under its name. None is run or unpickled.
"""

import os
import re
import secrets
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from mha_core.errors import HeadlightError

VARIABLE = "HEADLIGHT_STORE"
NAME = re.compile(r"[\w-]{22}", re.ASCII)
MOST_BYTES = 2 * 2**30  # of all files together; the oldest go first
_KINDS = ("film", "model", "data", "visit")
_PART = ".part"
_OURS = re.compile(rf"{NAME.pattern}\.({'|'.join(_KINDS)})|[0-9a-f]{{16}}\{_PART}", re.ASCII)


def is_shared() -> bool:
    """Tells whether other servers read it too, so that it outlives this one."""
    return bool(os.environ.get(VARIABLE))


def keep(kind: str, content: bytes, name: str = "") -> str:
    """Keeps a file; returns its name, a new one where none is given.

    Raises:
        HeadlightError: it cannot be written.
    """
    name = name or secrets.token_urlsafe(16)
    try:
        place = _file(kind, name)
        part = place.with_name(f"{secrets.token_hex(8)}{_PART}")
        try:
            part.touch(mode=0o600)
            part.write_bytes(content)
            part.replace(place)  # whole, or not there
        finally:
            part.unlink(missing_ok=True)
    except OSError:
        raise HeadlightError("the server's disk is full or cannot be written; try again later") from None
    return name


def has(kind: str, name: str) -> bool:
    """Tells whether there is such a file."""
    if not NAME.fullmatch(name):
        return False
    with suppress(OSError):
        return _file(kind, name).is_file()
    return False


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
    """Deletes what is `older` than so many seconds, as whoever kept it is gone, and the oldest beyond `MOST_BYTES`."""
    held = 0
    for age, size, file in sorted(_files()):
        held += size
        if age > older or held > MOST_BYTES:
            with suppress(OSError):  # it is gone already
                file.unlink()


def _files() -> list[tuple[float, int, Path]]:
    """The age in seconds, the size and the place of every file of ours."""
    found, now = list[tuple[float, int, Path]](), time.time()
    with suppress(OSError):
        for file in _folder().iterdir():
            with suppress(OSError):  # it is gone already
                status = file.lstat()
                if _OURS.fullmatch(file.name):
                    found.append((now - status.st_mtime, status.st_size, file))
    return found


def _file(kind: str, name: str) -> Path:
    if kind not in _KINDS or not NAME.fullmatch(name):
        raise ValueError(f"no name of a {kind:.20}")
    return _folder() / f"{name}.{kind}"


def _folder() -> Path:
    """Raises an OSError when it cannot be made, or is somebody else's where it has to be this user's alone."""
    named = os.environ.get(VARIABLE)
    if named:
        folder = Path(named)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder
    own = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"headlight-store-{own}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if hasattr(os, "getuid") and (folder.is_symlink() or status.st_uid != own or status.st_mode & 0o077):
        raise PermissionError("the store is not this user's alone")
    return folder
