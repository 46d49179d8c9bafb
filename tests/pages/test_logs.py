"""The log: one line for each thing that goes wrong, nothing that was typed, and an end to repetition."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import streamlit as st

from headlight.server.logs import MAX_LINE_LENGTH, MAX_LINES, PERIOD, RedactingRecordFactory

Write = Callable[..., str]


@pytest.fixture
def clock() -> list[float]:
    return [0.0]


@pytest.fixture
def write(clock: list[float]) -> Iterator[Write]:
    """Logs as the server does and returns what that adds to the log."""
    before, out = logging.getLogRecordFactory(), io.StringIO()
    handler = logging.StreamHandler(out)
    make = RedactingRecordFactory(clock=lambda: clock[0])  # not upon one that an earlier test left

    def record(name: str, level: int, path: str, line: int, message: str, *more: Any) -> logging.LogRecord:
        return make(name, level, f"{path} of {message[:9]}", line, message, *more)  # a place of its own

    logging.setLogRecordFactory(record)
    loggers = [logging.getLogger(name) for name in ("streamlit.test", "mha_core.test")]
    for logger in loggers:
        logger.addHandler(handler)
        logger.propagate = False

    def written(message: str, *args: object, own: bool = False, **more: object) -> str:
        start = out.tell()
        loggers[own].log(logging.WARNING, message, *args, **more)  # type: ignore[arg-type]
        return out.getvalue()[start:]

    yield written
    logging.setLogRecordFactory(before)
    for logger in loggers:
        logger.removeHandler(handler)
        logger.propagate = True


def test_exception_is_one_line_without_its_text(write: Write) -> None:
    with pytest.raises(ValueError, match="kestrel") as error:
        int("kestrel umbrella")
    line = write("Error processing back message", exc_info=error.value)
    assert line.count("\n") == 1
    assert "Error processing back message (ValueError in test_logs.py:" in line
    assert "kestrel" not in line


def test_line_holds_no_argument_quotation_or_session_and_has_a_length(write: Write) -> None:
    cases: list[tuple[tuple[Any, ...], str]] = [
        (("Ignoring %r of %s", "kestrel", "umbrella"), "Ignoring … of …"),
        (("%d of %d bytes", 3, 4), "3 of 4 bytes"),
        (("could not read 'kestrel' or \"umbrella\" at 3",), "could not read … or … at 3"),
        (("Task <Task exception=ValueError(\"no number: 'kestrel'\")>",), "Task <Task …"),
        (("Session 6f1c1a52-9f0c-4d26-8d4b-0c3f7d1e2a3b is gone",), "Session … is gone"),  # or it could be taken over
    ]
    for arguments, line in cases:
        assert write(*arguments) == f"{line}\n", arguments
    # an own message keeps its reason if its arguments fit
    assert write("Headlight starts without its model: %s", "no package", own=True).endswith("model: no package\n")
    assert write("%d things", "many", own=True) == "… things\n"
    long = write("one\ntwo " + "x" * 10_000)
    assert long.startswith("one two")
    assert len(long) == MAX_LINE_LENGTH + 1


def test_repeated_log_line_is_limited_and_counted(write: Write, clock: list[float]) -> None:
    found = []
    for number in range(1_200):
        clock[0] = 0.0 if number < 1_100 else PERIOD + 1
        found.append(write("flood"))
    assert found[:1_100] == ["flood\n"] * MAX_LINES + [""] * (1_100 - MAX_LINES)
    assert found[1_100] == f"flood (and {1_100 - MAX_LINES:,} more of these before)\n"
    assert sum(map(bool, found)) == 2 * MAX_LINES
    assert write("elsewhere") == "elsewhere\n"


def test_streamlit_writes_its_errors_as_records() -> None:
    assert not st.get_option("logger.enableRich"), "frames of the package rich pass no factory of records"
