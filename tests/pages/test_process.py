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

from .waiting import PATIENCE

NO_ORDER = b'{"error": "this is no order for a training (KeyError)"}\n'


def pipes(own: process.Process) -> tuple[IO[bytes], IO[bytes]]:
    assert own.stdin is not None
    assert own.stdout is not None
    return own.stdin, own.stdout


def answer(own: process.Process) -> bytes:
    """What it answers to an order that is none."""
    stdin, stdout = pipes(own)
    process.tell(stdin, "{}")
    with stdin, stdout:
        return stdout.read()


def facts(pid: int) -> list[str]:
    """What Linux says of a process behind its name: state, parent, …; the 20th is when it began."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def parent(pid: int) -> int:
    """The process that has started it."""
    return int(facts(pid)[1])


def test_processes_wait_for_their_orders_do_not_hear_each_other_and_say_how_they_ended() -> None:
    one, other, third, left = (process.start() for _ in range(4))
    assert len({one.pid, other.pid, third.pid, left.pid}) == 4
    with pytest.raises(subprocess.TimeoutExpired):
        one.wait(0)
    stdin, stdout = pipes(left)
    stdin.close()
    with stdout:
        assert stdout.read() == NO_ORDER.replace(b"KeyError", b"JSONDecodeError"), "whoever started it is gone"
    assert left.wait(PATIENCE) == 0
    os.kill(third.pid, signal.SIGTERM)  # which it leaves to its parent
    third.kill()
    assert process.ending(third.wait(PATIENCE)) == "SIGKILL"
    for pipe in pipes(third):
        pipe.close()
    for own in (other, one):  # the end of the input of the first is not open in the second
        assert answer(own) == NO_ORDER
        assert own.wait(PATIENCE) == own.wait() == 0
        own.kill()  # of one that has ended nothing


if sys.platform == "linux":  # elsewhere each process is started anew, and none is forked

    def test_the_nursery_and_those_that_train_let_visitors_come_first() -> None:
        """The one reads torch in while a browser draws the page; the others are not put back once more."""
        own = process.start()
        wanted, nursery = max(priority.NICENESS, os.getpriority(os.PRIO_PROCESS, 0)), parent(parent(own.pid))
        assert nursery != os.getpid()
        assert os.getpriority(os.PRIO_PROCESS, nursery) == wanted
        assert answer(own) == NO_ORDER
        assert own.wait(PATIENCE) == 0
        # the file alone, without torch
        step_back = f"step_back = runpy.run_path({priority.__file__!r})['step_back']"
        code = f"import os, runpy; {step_back}; step_back(); step_back(); print(os.nice(0))"
        printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert int(printed.stdout) == wanted

    @pytest.mark.thorough("A process that is started anew reads torch in, which takes seconds.")
    def test_without_a_nursery_each_is_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
        def gone(nursery: object) -> process.Process:
            raise OSError("the nursery forks nobody")

        monkeypatch.setattr(process, "Forked", gone)
        own = process.start()
        assert isinstance(own, subprocess.Popen)
        assert answer(own) == NO_ORDER
        assert own.wait(PATIENCE) == 0
