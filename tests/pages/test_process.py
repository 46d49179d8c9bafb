"""The process that trains: it is there at once, says how it ended, and none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from mha_core.training import priority
from pages.kit.jobs import process

PATIENCE = 60.0
NO_ORDER = b'{"error": "this is no order for a training (KeyError)"}\n'


def pipes(own: process.Process) -> tuple[IO[bytes], IO[bytes]]:
    assert own.stdin is not None
    assert own.stdout is not None
    return own.stdin, own.stdout


def said(own: process.Process) -> bytes:
    """What it answers to an order that is none."""
    stdin, stdout = pipes(own)
    process.tell(stdin, "{}")
    with stdin, stdout:
        return stdout.read()


def close(own: process.Process) -> None:
    for pipe in pipes(own):
        pipe.close()


def facts(pid: int) -> list[str]:
    """What Linux says of a process behind its name: state, parent, …; the 20th is when it began."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def parent(pid: int) -> int:
    """The process that has started it."""
    return int(facts(pid)[1])


def test_it_waits_for_its_order_and_says_how_it_ended() -> None:
    own = process.start()
    with pytest.raises(subprocess.TimeoutExpired):
        own.wait(0.05)
    assert said(own) == NO_ORDER
    assert own.wait(PATIENCE) == 0
    assert own.wait() == 0
    own.kill()  # of one that has ended nothing


def test_several_do_not_hear_each_other() -> None:
    one, other, third, left = (process.start() for _ in range(4))
    assert len({one.pid, other.pid, third.pid, left.pid}) == 4
    stdin, stdout = pipes(left)
    stdin.close()
    with stdout:
        assert stdout.read() == NO_ORDER.replace(b"KeyError", b"JSONDecodeError"), "whoever started it is gone"
    assert left.wait(PATIENCE) == 0
    third.kill()
    assert process.ending(third.wait(PATIENCE)) == "SIGKILL"
    assert said(other) == NO_ORDER, "the end of the input of the first is not open in the second"
    assert other.wait(PATIENCE) == 0
    assert said(one) == NO_ORDER
    assert one.wait(PATIENCE) == 0
    close(third)


if sys.platform == "linux":  # elsewhere each process is started anew, and none is forked

    def test_the_nursery_and_those_that_train_let_visitors_come_first() -> None:
        """The one reads torch in while a browser draws the page; the others are not put back once more."""
        own = process.start()
        wanted, nursery = max(priority.NICENESS, os.getpriority(os.PRIO_PROCESS, 0)), parent(parent(own.pid))
        assert nursery != os.getpid()
        assert os.getpriority(os.PRIO_PROCESS, nursery) == wanted
        assert said(own) == NO_ORDER
        assert own.wait(PATIENCE) == 0
        # the file alone, without torch
        code = f"""
import os, runpy
step_back = runpy.run_path({priority.__file__!r})["step_back"]
step_back()
step_back()
print(os.nice(0))
"""
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert int(told.stdout) == wanted

    def test_one_that_is_killed_from_outside_is_told() -> None:
        own = process.start()
        for number in (signal.SIGTERM, signal.SIGKILL):  # the first it leaves to its parent
            os.kill(own.pid, number)
        assert process.ending(own.wait(PATIENCE)) == "SIGKILL"
        close(own)

    def test_without_a_nursery_each_is_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
        def gone(nursery: object) -> process.Process:
            raise OSError("the nursery forks nobody")

        monkeypatch.setattr(process, "Forked", gone)
        own = process.start()
        assert isinstance(own, subprocess.Popen)
        assert said(own) == NO_ORDER
        assert own.wait(PATIENCE) == 0
