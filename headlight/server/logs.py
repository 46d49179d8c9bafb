"""One line in the log for what goes wrong, without a word that a visitor typed, and no more lines than can be read."""

import logging
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

MAX_LINES = 5  # from one place in the code, in
PERIOD = 60.0  # seconds
MAX_LINE_LENGTH = 300  # characters
_ID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b")  # who knows a session's id can take it over
_ARGUMENT = re.compile(r"%(\(\w+\))?[-#0 +]*\d*(\.\d+)?[a-z]", re.IGNORECASE)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|exception=.*", re.DOTALL)  # a library's word for what it was given
_UNHEARD = -1  # a level below that of every handler
_OURS = ("app", "headlight", "mha_core", "pages")  # loggers whose messages hold nothing that was typed


class OneLine:
    """A factory of log records. Install it with `keep_short`.

    Of an exception it keeps the kind and the place, not the text, which may be a visitor's; of a message's arguments
    the numbers. The same place in the code is heard `MAX_LINES` times in `PERIOD` seconds; then the next line says how
    many there were.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._heard: dict[tuple[str, int], tuple[float, int]] = {}  # place -> when its period began, lines since

    def __call__(self, *args: Any, **more: Any) -> logging.LogRecord:
        """The record that logging asks for."""
        record = logging.LogRecord(*args, **more)
        if record.levelno < logging.WARNING:
            return record
        unheard = self._count((record.pathname, record.lineno))
        if unheard is None:
            record.levelno = _UNHEARD
            return record
        text = _ID.sub("…", _written(record)).replace("\n", " ")
        text = text if len(text) <= MAX_LINE_LENGTH else f"{text[: MAX_LINE_LENGTH - 1]}…"
        text += f" ({place(record.exc_info)})" if record.exc_info and record.exc_info[0] else ""
        record.msg = text + (f" (and {unheard:,} more of these before)" if unheard else "")
        record.args = record.exc_info = record.exc_text = record.stack_info = None
        return record

    def _count(self, at: tuple[str, int]) -> int | None:
        """How many lines from there were not heard in the last period; None when this one is not to be heard."""
        now = self._clock()
        with self._lock:
            began, lines = self._heard.get(at, (now, 0))
            over = now - began > PERIOD
            self._heard[at] = (now, 1) if over else (began, lines + 1)
        if not over:
            return 0 if lines < MAX_LINES else None
        return max(0, lines - MAX_LINES)


def place(error: tuple[type[BaseException], BaseException, TracebackType | None] | Any) -> str:
    """The kind of an exception and where it was raised: "KeyError in session_state.py:512"."""
    kind, _, trace = error
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" in {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    return f"{kind.__name__}{where}"


def install_redacting_records() -> None:
    """From now on every logger of this process writes as `OneLine` says."""
    logging.setLogRecordFactory(OneLine())


def _written(record: logging.LogRecord) -> str:
    """The message; of a library's, what is quoted and what is no number stands as "…"."""
    args = record.args or ()
    try:
        if record.name.split(".")[0] in _OURS:
            return record.getMessage()
        if isinstance(args, tuple) and all(isinstance(arg, (int, float)) for arg in args):
            return _QUOTED.sub("…", record.getMessage())
    except (TypeError, ValueError):  # the arguments do not fit the message
        pass
    return _QUOTED.sub("…", _ARGUMENT.sub("…", str(record.msg)))
