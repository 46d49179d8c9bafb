"""The store of files that all processes of a server share, under random names.

Files lie in the temporary folder, readable by this user alone, or in the folder `HEADLIGHT_STORE`, which replicas may
share. Writes are atomic; only the file of a visit is ever overwritten. No file is executed or unpickled.
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
MAX_BYTES = 2 * 2**30  # of all files together; the oldest go first
_KINDS = ("film", "model", "data", "visit")
_PART = r"[0-9a-f]{16}\.part"  # a file that is being written
_OURS = re.compile(rf"{NAME.pattern}\.({'|'.join(_KINDS)})|{_PART}", re.ASCII)


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
        file = _file(kind, name)
        part = file.with_name(f"{secrets.token_hex(8)}.part")
        try:
            part.touch(mode=0o600)
            part.write_bytes(content)
            part.replace(file)  # atomic
        finally:
            part.unlink(missing_ok=True)
    except OSError:
        raise HeadlightError("the server’s disk is full or not writable; try again later") from None
    return name


def has(kind: str, name: str) -> bool:
    """Return whether a file exists."""
    with suppress(OSError, ValueError):
        return _file(kind, name).is_file()
    return False


def read(kind: str, name: str) -> bytes | None:
    """Return the content of a file; None for a missing file or an invalid name."""
    with suppress(OSError, ValueError):
        return _file(kind, name).read_bytes()
    return None


def delete(kind: str, name: str) -> None:
    """Delete a file, if it exists."""
    with suppress(OSError):
        _file(kind, name).unlink()


def sweep(max_age_s: float) -> None:
    """Delete the files older than so many seconds, and the oldest beyond `MAX_BYTES` in total."""
    entries, now = list[tuple[float, int, Path]](), time.time()
    with suppress(OSError):
        for file in _folder().iterdir():
            with suppress(OSError):  # it is gone already
                status = file.lstat()
                if _OURS.fullmatch(file.name):
                    entries.append((now - status.st_mtime, status.st_size, file))
    total = 0
    for age, size, file in sorted(entries):
        total += size
        if age > max_age_s or total > MAX_BYTES:
            with suppress(OSError):
                file.unlink()


def _file(kind: str, name: str) -> Path:
    """Return the path of a file. Raises an OSError for its folder, a ValueError for a name."""
    if kind not in _KINDS or not NAME.fullmatch(name):
        raise ValueError(f"not a valid kind and name of a file: {kind:.20}")
    return _folder() / f"{name}.{kind}"


def _folder() -> Path:
    """Return the folder, after creating it if need be. Raises an OSError."""
    if path := os.environ.get(VARIABLE):
        Path(path).mkdir(mode=0o700, parents=True, exist_ok=True)
        return Path(path)
    uid = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir(), f"headlight-store-{uid}")  # in one that other users write into
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    is_own = status.st_uid == uid and not status.st_mode & 0o077
    if hasattr(os, "getuid") and (folder.is_symlink() or not is_own):
        raise PermissionError(f"the folder of the store, {folder}, must belong to this user alone")
    return folder
