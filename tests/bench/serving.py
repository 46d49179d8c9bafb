"""A server of the app for measurements: started, awaited, watched and stopped."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Server", "serve"]

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Server:
    """A running server: its address, process id and the time (time.perf_counter) at which its process was started."""

    url: str
    pid: int
    started: float

    def memory(self) -> float:
        """Resident memory in MiB; Linux only."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
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
        process.wait(10)
