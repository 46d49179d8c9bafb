"""A server of the app for measurements: started, awaited, watched and stopped."""

from __future__ import annotations

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

__all__ = ["ROOT", "Server", "quantiles", "serve", "slow"]

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Server:
    """A running server: its address, process id and the time (time.perf_counter) at which its process was started."""

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
def serve(*, freeze: bool = True) -> Iterator[Server]:
    """Starts the app on a free port and waits until it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    start = ["-m", "streamlit"] if freeze else ["-c", _WITHOUT_FREEZE]
    command = [sys.executable, *start, "run", "app.py", "--server.headless=true", f"--server.port={port}"]
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        while True:
            try:
                urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).read()
                break
            except OSError:
                if process.poll() is not None or time.perf_counter() - started > 60:
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
    return f"{statistics.median(times):7.1f} {slow(times):7.1f}"


def slow(times: list[float]) -> float:
    """The 95th percentile."""
    return sorted(times)[min(len(times) - 1, round(0.95 * (len(times) - 1)))]
