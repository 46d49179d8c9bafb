"""A file that somebody brings, as bytes or as a path: its size is looked at before its content."""

from pathlib import Path

from ..errors import HeadlightError, SizeError


def content(given: bytes | Path, what: str, most: int, remedy: str) -> bytes:
    """The bytes of "the picture" or another thing.

    Raises:
        SizeError: it has more than `most`. HeadlightError: it cannot be read.
    """
    try:
        size = len(given) if isinstance(given, bytes) else given.stat().st_size
        if size > most:
            raise SizeError(f"{what} has {size:,} bytes, at most {most:,} are read; {remedy}")
        return given if isinstance(given, bytes) else given.read_bytes()
    except OSError as error:
        raise HeadlightError(f"cannot read {what}: {error.strerror}") from error
