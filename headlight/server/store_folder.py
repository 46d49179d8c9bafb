"""Folders of files that are written atomically."""

import os
import re
import secrets
import time
from contextlib import suppress
from pathlib import Path

_PART = re.compile(r"[0-9a-f]{16}\.part")  # a file that is being written


class Folder:
    """A folder of files, created at its first use."""

    def __init__(self, path: Path) -> None:
        self._place = path

    def write(self, file: str, content: bytes) -> None:
        """Write a file atomically. Raises an OSError."""
        folder = self._folder()
        part = folder / f"{secrets.token_hex(8)}.part"
        try:
            part.touch(mode=0o600)
            part.write_bytes(content)
            part.replace(folder / file)  # atomic
        finally:
            part.unlink(missing_ok=True)

    def has(self, file: str) -> bool:
        """Return whether a file exists."""
        with suppress(OSError):
            return (self._folder() / file).is_file()
        return False

    def read(self, file: str) -> bytes | None:
        """Return the content of a file, None if it does not exist."""
        with suppress(OSError):
            return (self._folder() / file).read_bytes()
        return None

    def delete(self, file: str) -> None:
        """Delete a file, if it exists."""
        with suppress(OSError):
            (self._folder() / file).unlink()

    def sweep(self, names: re.Pattern[str], max_age_s: float, max_bytes: int) -> None:
        """Delete files that are too old, and the oldest ones beyond a total size.

        Args:
            names: pattern of the names that may be deleted.
            max_age_s: the largest age, in seconds.
            max_bytes: the largest total size.
        """
        entries, now = list[tuple[float, int, str]](), time.time()
        with suppress(OSError):
            for file in self._folder().iterdir():
                with suppress(OSError):  # it is gone already
                    status = file.lstat()
                    if names.fullmatch(file.name) or _PART.fullmatch(file.name):
                        entries.append((now - status.st_mtime, status.st_size, file.name))
        total = 0
        for age, size, name in sorted(entries):
            total += size
            if age > max_age_s or total > max_bytes:
                self.delete(name)

    def _folder(self) -> Path:
        """Return the path of the folder, after creating it if need be. Raises an OSError."""
        self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._place


class UserFolder(Folder):
    """A folder inside one that other users write into; it is used only if it belongs to this user alone."""

    def __init__(self, parent: Path, name: str) -> None:
        self._own = os.getuid() if hasattr(os, "getuid") else 0
        super().__init__(parent / f"{name}-{self._own}")

    def _folder(self) -> Path:
        self._place.mkdir(mode=0o700, exist_ok=True)
        status = self._place.lstat()
        is_own = status.st_uid == self._own and not status.st_mode & 0o077
        if hasattr(os, "getuid") and (self._place.is_symlink() or not is_own):
            raise PermissionError(f"the folder of the store, {self._place}, must belong to this user alone")
        return self._place
