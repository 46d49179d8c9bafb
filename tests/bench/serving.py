"""A server of the app for measurements: started, awaited, watched and stopped."""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["APP", "BARE", "ROOT", "Server", "quantiles", "serve", "slow"]

ROOT = Path(__file__).parents[2]
APP = "app.py"
BARE = "tests/bench/bare.py"


@dataclass(frozen=True)
class Server:
    """A running server: its address, process id and the time (time.time) at which its process was started."""

    url: str
    pid: int
    started: float

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def memory(self) -> float:
        """Resident memory in MiB; Linux only."""
        return self._status("VmRSS")

    def peak(self) -> float:
        """Resident memory at its highest so far, in MiB; Linux only."""
        return self._status("VmHWM")

    def _status(self, name: str) -> float:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) / 1024
        raise RuntimeError("the server has ended")


# the same server without the start-up freeze: what `app.py` asks of the collector is not done
_WITHOUT_FREEZE = "import gc, sys; gc.freeze = lambda: None; from streamlit.web.cli import main; sys.exit(main())"


@contextmanager
def serve(script: str = APP, *, freeze: bool = True, **environment: str) -> Iterator[Server]:
    """Starts the app, or another script, on a free port and waits until it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    start = ["-m", "streamlit"] if freeze else ["-c", _WITHOUT_FREEZE]
    command = [sys.executable, *start, "run", script, "--server.headless=true", f"--server.port={port}"]
    started = time.time()
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        url = f"http://127.0.0.1:{port}"
        while True:
            try:
                urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).read()
                break
            except OSError:
                if process.poll() is not None or time.time() - started > 60:
                    raise RuntimeError("the server did not start; try “make run”") from None
                time.sleep(0.02)
        yield Server(url, process.pid, started)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:  # it is busy with something else
            process.kill()
            process.wait()


def quantiles(times: list[float]) -> str:
    """Median and 95th percentile."""
    if not times:
        return f"{'–':>15}"
    return f"{statistics.median(times):7.1f} {slow(times):7.1f}"


def slow(times: list[float]) -> float:
    """The 95th percentile."""
    return sorted(times)[min(len(times) - 1, round(0.95 * (len(times) - 1)))]
