"""A bucket of files, S3's or another one that fsspec reaches, with a folder of this server beside it.

What was written or read stays in the folder too, so that the bucket is asked once for what never changes. A bucket that
refuses, or lets one wait, is not asked again for a while: nobody waits for it twice. Until then what others have kept
is not there, and what is kept lies here alone and goes to the bucket with the next sweep.
"""

import functools
import logging
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar

from .store_folder import Folder, swept

WAIT_SECONDS = 3.0  # for an answer
REST_SECONDS = 20.0  # that a bucket is left alone which gave none
MOST_ASKED = 8  # at once
LOG = logging.getLogger(__name__)

T = TypeVar("T")


class Bucket:
    """The files below an address.

    Args:
        address: such as s3://bucket/folder, of any kind that fsspec knows.
        beside: the folder.
        changes: how the names end of files that are written anew, which the bucket is asked for every time.
    """

    def __init__(
        self, address: str, beside: Folder, *, changes: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._address, self._beside, self._changes, self._clock = address, beside, changes, clock
        self._late = set[str]()  # what the bucket has not got yet
        self._rests_until = 0.0
        self._asking = ThreadPoolExecutor(MOST_ASKED, thread_name_prefix="bucket")

    def write(self, file: str, content: bytes) -> None:
        """Writes a file here and there. Raises an OSError when it cannot even be written here."""
        self._beside.write(file, content)
        self._send(file, content)

    def has(self, file: str) -> bool:
        """Tells whether there is such a file."""
        return self._beside.has(file) or self._asked(lambda files, path: files.exists(path), file) is True

    def read(self, file: str) -> bytes | None:
        """The content of a file; None when there is none, or the bucket gives none."""
        here = self._beside.read(file)
        if here is not None and not file.endswith(self._changes):
            return here
        there = self._asked(_content, file)
        if there is None:
            return here
        if there != here:
            self._beside.write(file, there)
        return there

    def forget(self, file: str) -> None:
        """Deletes a file, if it is there."""
        self._beside.forget(file)
        self._asked(_deleted, file)

    def sweep(self, ours: re.Pattern[str], older: float, most: int) -> None:
        """Deletes what `swept` names of the files of such names, here and there, and sends what could not be sent."""
        self._beside.sweep(ours, older, most)
        for file in tuple(self._late):
            content = self._beside.read(file)
            self._late.discard(file)
            if content is not None:
                self._send(file, content)
        listed = self._asked(_listed, "") or []
        found = [(_age(one), int(one["size"] or 0), one["name"].rpartition("/")[2]) for one in listed]
        for file in swept([one for one in found if ours.fullmatch(one[2])], older, most):
            self.forget(file)

    def _send(self, file: str, content: bytes) -> None:
        if self._asked(lambda files, path: files.pipe_file(path, content) or True, file) is None:
            self._late.add(file)

    def _asked(self, ask: Callable[[Any, str], T], file: str) -> T | None:
        """What the bucket says; None where it says nothing in time, or nothing good."""
        if self._clock() < self._rests_until:
            return None
        try:
            return self._asking.submit(self._ask, ask, file).result(WAIT_SECONDS)
        except Exception as error:  # each kind of bucket has its own
            self._rests_until = self._clock() + REST_SECONDS
            told = "the store %s:// gives no answer (%s); it is asked again in a while"
            LOG.warning(told, self._address.partition("://")[0], type(error).__name__)
            return None

    def _ask(self, ask: Callable[[Any, str], T], file: str) -> T:
        files, root = self._files
        return ask(files, f"{root}/{file}".rstrip("/"))

    @functools.cached_property
    def _files(self) -> tuple[Any, str]:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]

        files, root = url_to_fs(self._address, use_listings_cache=False)
        return files, root.rstrip("/")


def _content(files: Any, path: str) -> bytes | None:
    with suppress(FileNotFoundError):
        content: bytes = files.cat_file(path)
        return content
    return None


def _deleted(files: Any, path: str) -> None:
    with suppress(FileNotFoundError):
        files.rm_file(path)


def _listed(files: Any, path: str) -> list[dict[str, Any]]:
    with suppress(FileNotFoundError):  # nothing was ever kept
        listed: list[dict[str, Any]] = files.ls(path, detail=True)
        return listed
    return []


def _age(said: dict[str, Any]) -> float:
    """Seconds since a file was written, by the words of each kind of bucket; 0 where it does not say."""
    for key in ("LastModified", "last_modified", "updated", "created", "mtime"):
        match said.get(key):
            case datetime() as at:
                return time.time() - at.timestamp()
            case int() | float() as at:
                return time.time() - at
    return 0.0
