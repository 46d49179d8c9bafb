"""Scripts in the place of the process that trains, which say at once what it would say after seconds."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from headlight.jobs import process
from mha_core.training import tasks
from mha_core.training.events import End, Evaluation, Event, Start, Step, to_values
from mha_core.training.recipe import Recipe

from .waiting import wait

TINY = Recipe(task="who", d_model=16, n_heads=2, vocabulary=60, steps=6, evaluations=2, batch=8)
ENDLESS = replace(TINY, steps=100_000, evaluations=1000, seconds=1e6)
LISTENS = "import sys; "


def prints(*events: Event) -> str:
    """Code that prints these events of the first run."""
    lines = [json.dumps({"run": 0, "event": to_values(event)}) for event in events]
    return "".join(f"print({line!r}, flush=True); " for line in lines)


STEP = Step(1, 2.5, 0.1)
# It does a step, and what it is told next: "stop", or "enough", after which its time is over.
ENDS = """print('{"done": "%s"}' % {"enough": "time", "stop": "stopped"}[sys.stdin.readline().strip()])"""
OBEYS = LISTENS + prints(STEP) + ENDS


def learns(recipe: Recipe = TINY, *, time_is_up: bool = False) -> str:
    """A worker that has looked at the test rows and done a step, and waits to be told to end unless its time is up."""
    task = tasks.build(recipe.task)
    classes = list(getattr(task, "classes", ()))
    begun = Start(recipe, task.title, classes, 8, 400, task.fingerprint, [], 30, 100, 5, [], {}, "cpu")
    looked = Evaluation(0, 0.0, 2.5, 0.1, 2.5, 0.25)
    end = prints(End("time", 1, 5.0)) + """print('{"done": "time"}')""" if time_is_up else ENDS
    return LISTENS + prints(begun, looked, STEP) + end


class Watched(subprocess.Popen[bytes]):
    """A script as a process of `multiprocessing` with its pipe, where a line is a message."""

    looks = 0

    def join(self, timeout: float | None = None) -> None:
        self.looks += 1
        with suppress(subprocess.TimeoutExpired):
            self.wait(timeout)

    @property
    def exitcode(self) -> int | None:
        return self.poll()

    def recv_bytes(self) -> bytes:
        assert self.stdout
        if line := self.stdout.readline():
            return line
        raise EOFError

    def send_bytes(self, word: bytes) -> None:
        assert self.stdin
        self.stdin.write(word + b"\n")
        self.stdin.flush()

    def close(self) -> None:
        for end in (self.stdin, self.stdout):
            assert end
            with suppress(BrokenPipeError):
                end.close()

    def check_goes_on(self) -> None:
        """Wait until the job has looked at it, and did not end it."""
        before = self.looks
        wait(lambda: self.looks >= before + 2)
        assert self.poll() is None


def stand_in(monkeypatch: pytest.MonkeyPatch, script: str) -> list[Watched]:
    """Puts a script in the worker's place; its processes."""
    started = list[Watched]()

    def start(*_: object) -> tuple[Watched, Watched]:
        pipe, command = subprocess.PIPE, [sys.executable, "-S", "-c", script]
        started.append(Watched(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL))
        return started[-1], started[-1]

    monkeypatch.setattr(process, "start", start)
    return started


def parent(pid: int) -> int:
    """The process that has started it, as Linux says behind its name: state, parent, …"""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
