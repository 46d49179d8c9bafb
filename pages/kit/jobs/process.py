"""The process that trains, seen from its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[3]


def start() -> subprocess.Popen[bytes]:
    """Starts the process, which waits for its order. It finds the core where this one did, nothing else by chance."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    flags = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "mha_core.training.worker"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        creationflags=flags,
    )


def tell(stdin: IO[bytes], line: str) -> None:
    """Writes a line to a process that may be gone."""
    with suppress(OSError):  # whoever watches the process will find that it has ended
        stdin.write(line.encode() + b"\n")
        stdin.flush()


def ending(code: int) -> str:
    """The end of a process, in words."""
    if code >= 0:
        return f"code {code}"
    return next((known.name for known in signal.Signals if known == -code), f"signal {-code}")
