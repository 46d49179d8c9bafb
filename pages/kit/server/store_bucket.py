"""A bucket of files, S3's or another one that fsspec reaches, with a folder of this server beside it.

What was written or read stays in the folder too, so that the bucket is asked once for what never changes. A bucket that
refuses, or lets one wait, is not asked again for a while: nobody waits for it twice. Until then what others have kept
is not there, and what is kept lies here alone and goes to the bucket with the next sweep. What changes is neither read
nor written meanwhile: an older state would come in the place of another server's newer one.
"""

import functools
import logging
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime
from typing import Any

from .store_folder import Folder, swept

WAIT_SECONDS = 3.0  # for an answer
REST_SECONDS = 20.0  # that a bucket is left alone which gave none
LOG = logging.getLogger(__name__)


class Away(OSError):
    """The bucket gives no answer."""


class Bucket:
    """The files below an address.

    Args:
        address: such as s3://bucket/folder, of any kind that fsspec knows.
        beside: the folder.
        changes: how the names end of files that are written anew. They lie in the bucket alone.
    """

    def __init__(
        self, address: str, beside: Folder, *, changes: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._address, self._beside, self._changes, self._clock = address, beside, changes, clock
        self._late = set[str]()  # what the bucket has not got yet
        self._rests_until = 0.0

    def write(self, file: str, content: bytes) -> None:
        """Writes a file here and there. Raises an OSError where it cannot be written here, Away of one that changes."""
        if file.endswith(self._changes):
            self._asked("pipe_file", file, content)
            return
        self._beside.write(file, content)
        self._send(file, content)

    def has(self, file: str) -> bool:
        """Tells whether there is such a file."""
        if self._beside.has(file):
            return True
        with suppress(Away):
            return bool(self._asked("exists", file))
        return False

    def read(self, file: str) -> bytes | None:
        """The content of a file; None when there is none, or the bucket gives none. Raises Away of one that changes."""
        changes = file.endswith(self._changes)
        here = None if changes else self._beside.read(file)
        if here is not None:
            return here
        try:
            there: bytes | None = self._asked("cat_file", file)
        except Away:
            if changes:
                raise
            return None
        if there is not None and not changes:
            with suppress(OSError):  # the disk is full: it is asked for again
                self._beside.write(file, there)
        return there

    def forget(self, file: str) -> None:
        """Deletes a file, if it is there."""
        self._beside.forget(file)
        self._late.discard(file)
        with suppress(Away):
            self._asked("rm_file", file)

    def sweep(self, ours: re.Pattern[str], older: float, most: int) -> None:
        """Deletes what `swept` names of the files of such names, here and there, and sends what could not be sent."""
        self._beside.sweep(ours, older, most)
        for file in tuple(self._late):
            content = self._beside.read(file)
            self._late.discard(file)
            if content is not None:
                self._send(file, content)
        listed = list[dict[str, Any]]()
        with suppress(Away):
            listed = self._asked("ls", "", detail=True) or []  # none where nothing was ever kept
        found = [(_age(one), int(one["size"] or 0), one["name"].rpartition("/")[2]) for one in listed]
        for file in swept([one for one in found if ours.fullmatch(one[2])], older, most):
            self.forget(file)

    def _send(self, file: str, content: bytes) -> None:
        try:
            self._asked("pipe_file", file, content)
        except Away:
            self._late.add(file)

    def _asked(self, what: str, file: str, *content: bytes, **options: bool) -> Any:
        """What fsspec's function of this name gives of a file, None where there is none.

        Raises Away where the bucket says nothing in time, or nothing good.
        """
        if self._clock() < self._rests_until:
            raise Away
        said: Future[Any] = Future()

        def work() -> None:
            try:
                files, root = self._files
                said.set_result(getattr(files, what)(f"{root}/{file}".rstrip("/"), *content, **options))
            except Exception as error:  # each kind of bucket has its own
                if isinstance(error, FileNotFoundError) and not content:
                    said.set_result(None)
                else:
                    said.set_exception(error)

        threading.Thread(target=work, daemon=True).start()  # one that hangs does not hold the server's end
        try:
            return said.result(WAIT_SECONDS)
        except Exception as error:
            self._rests_until = self._clock() + REST_SECONDS
            told = "the store %s:// gives no answer (%s); it is asked again in a while"
            LOG.warning(told, self._address.partition("://")[0], type(error).__name__)
            raise Away from error

    @functools.cached_property
    def _files(self) -> tuple[Any, str]:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]

        files, root = url_to_fs(self._address, use_listings_cache=False)
        return files, root.rstrip("/")


def _age(said: dict[str, Any]) -> float:
    """Seconds since a file was written, by the words of each kind of bucket; 0 where it does not say."""
    for key in ("LastModified", "last_modified", "updated", "created", "mtime"):
        match said.get(key):
            case datetime() as at:
                return time.time() - at.timestamp()
            case int() | float() as at:
                return time.time() - at
    return 0.0
