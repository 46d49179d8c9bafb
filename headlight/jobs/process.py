"""The process that trains, seen from its parent.

On Linux it is forked from one that has read torch in (`mha_core.training.nursery`), elsewhere it is started anew, which
takes seconds.
"""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO

from headlight import ROOT
from mha_core.training.nursery import NUMBER

PATIENCE = 60.0  # seconds for the first one, while torch is read in on busy cores

_lock = threading.Lock()
_nursery: tuple[subprocess.Popen[bytes], socket.socket] | None = None


class Forked:
    """A process that the nursery has forked. Raises an OSError when the nursery is gone."""

    def __init__(self, nursery: socket.socket) -> None:
        (theirs_in, ours_in), (ours_out, theirs_out), (ours_told, theirs_told) = os.pipe(), os.pipe(), os.pipe()
        self.stdin: IO[bytes] | None = os.fdopen(ours_in, "wb")
        self.stdout: IO[bytes] | None = os.fdopen(ours_out, "rb")
        self._told = os.fdopen(ours_told, "rb", buffering=0)
        self._code: int | None = None
        theirs = [theirs_in, theirs_out, theirs_told]
        with suppress(OSError):  # then nothing comes back either
            socket.send_fds(nursery, [b"."], theirs)
        for file in theirs:
            os.close(file)
        pid = self._number(PATIENCE)
        if pid is None:
            for end in (self.stdin, self.stdout, self._told):
                end.close()
            raise OSError("the nursery forks nobody")
        self.pid = pid

    def wait(self, timeout: float | None = None) -> int:
        if self._code is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("training", timeout or 0.0)
            code = self._number(None)
            self._code = -signal.SIGKILL if code is None else code  # whoever watched it was killed with it
            self._told.close()
        return self._code

    def kill(self) -> None:
        if self._code is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def _number(self, timeout: float | None) -> int | None:
        """The next number that is told, None when none will come."""
        if not select.select([self._told], [], [], timeout)[0]:
            return None
        said = self._told.read(NUMBER.size) or b""
        return int(NUMBER.unpack(said)[0]) if len(said) == NUMBER.size else None


Process = Forked | subprocess.Popen[bytes]


def prepare() -> None:
    """Starts the nursery, if there can be one and it is not there; returns at once."""
    if sys.platform == "linux":
        with suppress(OSError):
            _ready()


def start() -> Process:
    """The process, which waits for its order. It finds the core where this one did, nothing else by chance."""
    if sys.platform == "linux":
        with suppress(OSError):
            return Forked(_ready())
    flags = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "mha_core.training.worker"],
        cwd=ROOT,
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        creationflags=flags,
    )


def _ready() -> socket.socket:
    """The socket of the nursery, which is started where it is not there, or not any more."""
    global _nursery
    with _lock:
        if _nursery is None or _nursery[0].poll() is not None:
            if _nursery is not None:
                _nursery[1].close()
            ours, theirs = socket.socketpair()
            with theirs:
                process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "mha_core.training.nursery"],
                    cwd=ROOT,
                    env=_environment(),
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            _nursery = process, ours
        return _nursery[1]


def _environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


def tell(stdin: IO[bytes], line: str) -> None:
    """Writes a line to a process that may be gone."""
    with suppress(OSError):  # whoever watches the process will find that it has ended
        stdin.write(line.encode() + b"\n")
        stdin.flush()


def ending(code: int) -> str:
    if code >= 0:
        return f"code {code}"
    return next((known.name for known in signal.Signals if known == -code), f"signal {-code}")
