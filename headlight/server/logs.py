"""Log records of one line without any user input, at a limited rate."""

import logging
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

MAX_LINES = 5  # per location in the code and period
PERIOD = 60.0  # seconds
MAX_LINE_LENGTH = 300  # characters
_ID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b")  # a session ID, which is a secret
_ARGUMENT = re.compile(r"%(\(\w+\))?[-#0 +]*\d*(\.\d+)?[a-z]", re.IGNORECASE)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|exception=.*", re.DOTALL)  # values that a library quotes
_SUPPRESSED = -1  # below the level of every handler
_OURS = ("app", "headlight", "mha_core", "pages")  # loggers whose messages contain no user input


class RedactingRecordFactory:
    """A factory of log records that redacts user input and limits repeated records.

    Of an exception it keeps the type and the location, since its text may quote the user; of a message's arguments it
    keeps only numbers. Each location in the code logs at most `MAX_LINES` records in `PERIOD` seconds; the first record
    after that counts the suppressed ones. app.py installs it for all loggers of the process.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, int], tuple[float, int]] = {}  # location -> start of its period, records since

    def __call__(self, *args: Any, **more: Any) -> logging.LogRecord:
        """Return the redacted record; a suppressed one has a level below that of every handler."""
        record = logging.LogRecord(*args, **more)
        if record.levelno < logging.WARNING:
            return record
        suppressed = self._count((record.pathname, record.lineno))
        if suppressed is None:
            record.levelno = _SUPPRESSED
            return record
        text = _ID.sub("…", _message(record)).replace("\n", " ")
        text = text if len(text) <= MAX_LINE_LENGTH else f"{text[: MAX_LINE_LENGTH - 1]}…"
        text += f" ({summarize_exception(record.exc_info)})" if record.exc_info and record.exc_info[0] else ""
        record.msg = text + (f" (and {suppressed:,} more of these before)" if suppressed else "")
        record.args = record.exc_info = record.exc_text = record.stack_info = None
        return record

    def _count(self, location: tuple[str, int]) -> int | None:
        """Return how many records of a location the last period suppressed; None if this record is to be suppressed."""
        now = self._clock()
        with self._lock:
            start, lines = self._counts.get(location, (now, 0))
            is_over = now - start > PERIOD
            self._counts[location] = (now, 1) if is_over else (start, lines + 1)
        if not is_over:
            return 0 if lines < MAX_LINES else None
        return max(0, lines - MAX_LINES)


def summarize_exception(error: tuple[type[BaseException], BaseException, TracebackType | None] | Any) -> str:
    """Return the type of an exception and where it was raised: "KeyError in session_state.py:512"."""
    kind, _, trace = error
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    suffix = "" if trace is None else f" in {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    return f"{kind.__name__}{suffix}"


def _message(record: logging.LogRecord) -> str:
    """Return the formatted message; in one of a library, quoted text and arguments that are not numbers become "…"."""
    args = record.args or ()
    try:
        if record.name.split(".")[0] in _OURS:
            return record.getMessage()
        if isinstance(args, tuple) and all(isinstance(arg, (int, float)) for arg in args):
            return _QUOTED.sub("…", record.getMessage())
    except (TypeError, ValueError):  # the arguments do not fit the message
        pass
    return _QUOTED.sub("…", _ARGUMENT.sub("…", str(record.msg)))
