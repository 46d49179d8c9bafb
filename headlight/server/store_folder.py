"""A folder of files that are written whole."""

import os
import re
import secrets
import time
from contextlib import suppress
from pathlib import Path

_PART = re.compile(r"[0-9a-f]{16}\.part")  # a file that is being written


class Folder:
    """The files of a folder, which is made when it is first asked for."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def write(self, file: str, content: bytes) -> None:
        """Writes a file. Raises an OSError."""
        folder = self._folder()
        part = folder / f"{secrets.token_hex(8)}.part"
        try:
            part.touch(mode=0o600)
            part.write_bytes(content)
            part.replace(folder / file)  # whole, or not there
        finally:
            part.unlink(missing_ok=True)

    def has(self, file: str) -> bool:
        """Tells whether there is such a file."""
        with suppress(OSError):
            return (self._folder() / file).is_file()
        return False

    def read(self, file: str) -> bytes | None:
        """The content of a file; None when there is none."""
        with suppress(OSError):
            return (self._folder() / file).read_bytes()
        return None

    def delete(self, file: str) -> None:
        """Deletes a file, if it is there."""
        with suppress(OSError):
            (self._folder() / file).unlink()

    def sweep(self, ours: re.Pattern[str], older: float, most: int) -> None:
        """Deletes files of such names that are too old, and the oldest beyond so many bytes; others stay."""
        found, now = list[tuple[float, int, str]](), time.time()
        with suppress(OSError):
            for file in self._folder().iterdir():
                with suppress(OSError):  # it is gone already
                    status = file.lstat()
                    if ours.fullmatch(file.name) or _PART.fullmatch(file.name):
                        found.append((now - status.st_mtime, status.st_size, file.name))
        held = 0
        for age, size, name in sorted(found):
            held += size
            if age > older or held > most:
                self.delete(name)

    def _folder(self) -> Path:
        """Raises an OSError when it cannot be made."""
        self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._place


class FolderOfUser(Folder):
    """A folder below one that others write into too: it is this user's alone, or not used."""

    def __init__(self, below: Path, name: str) -> None:
        self._own = os.getuid() if hasattr(os, "getuid") else 0
        super().__init__(below / f"{name}-{self._own}")

    def _folder(self) -> Path:
        self._place.mkdir(mode=0o700, exist_ok=True)
        status = self._place.lstat()
        is_own = status.st_uid == self._own and not status.st_mode & 0o077
        if hasattr(os, "getuid") and (self._place.is_symlink() or not is_own):
            raise PermissionError("the store is not this user's alone")
        return self._place
