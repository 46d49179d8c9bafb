"""What the measurements share: a server of the app whose memory is watched, options, many at once, and quantiles."""

from __future__ import annotations

import argparse
import os
import platform
import statistics
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.browser.server import OwnServer

__all__ = ["Server", "at_once", "options", "quantiles", "serve"]


class Server(OwnServer):
    """A running server whose memory can be asked for, in MiB (Linux only)."""

    def memory(self, name: str = "VmRSS") -> float:
        """Resident memory."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))

    def peak(self) -> float:
        """Resident memory at its highest so far."""
        return self.memory("VmHWM")


@contextmanager
def serve(script: str = "app.py", **environment: str) -> Iterator[Server]:
    """Starts the app, or another script, on a free port and waits until it answers."""
    with TemporaryDirectory() as folder:
        server = Server(Path(folder, "log"), environment=environment, script=script)
        try:
            yield server
        finally:
            server.stop()


def options(description: str | None, **usual: Any) -> argparse.Namespace:
    """What the command line says: an option for each default, of its type, several where that is a list.

    Prints on which machine everything else is measured.
    """
    parser = argparse.ArgumentParser(description=description)
    for name, value in usual.items():
        if isinstance(value, bool):
            parser.add_argument(f"--{name}", action="store_true")
        elif isinstance(value, list):
            parser.add_argument(f"--{name}", type=type(value[0]), default=value, nargs="+")
        else:
            parser.add_argument(f"--{name}", type=type(value), default=value)
    given = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; ms: median, 95th percentile")
    return given


def at_once(count: int, run: Callable[[int], None]) -> None:
    """Runs it for each number, all at the same time."""
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(run, range(count)))


def quantiles(times: list[float]) -> str:
    """Median and 95th percentile."""
    if not times:
        return f"{'–':>15}"
    slow = sorted(times)[min(len(times) - 1, round(0.95 * (len(times) - 1)))]
    return f"{statistics.median(times):7.1f} {slow:7.1f}"
