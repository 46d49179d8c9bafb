"""A server of our own: Headlight on a free port, its output in a file."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

__all__ = ["HEALTH", "ROOT", "Server"]

ROOT = Path(__file__).parents[2]
START_SECONDS = 90
HEALTH = "/_stcore/health"


class Server:
    """Headlight on a free port, as `streamlit run app.py` starts it; its output goes to a file.

    Args:
        base: the path below which it serves its pages, as "/app".
    """

    def __init__(self, log: Path, base: str = "", **environment: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}{base}"
        self.log = log
        options = {"headless": "true", "port": str(self.port), "address": "127.0.0.1"}
        options |= {"baseUrlPath": base} if base else {}
        self.command = [sys.executable, "-m", "streamlit", "run", "app.py"]
        self.command += [part for name, value in options.items() for part in (f"--server.{name}", value)]
        self.environment = {**os.environ, **environment}
        self.start()

    def start(self) -> None:
        """Starts it, also once more after it was stopped: under the same address."""
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self.command, cwd=ROOT, env=self.environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL
            )
        try:
            self.wait_until_healthy()
        except BaseException:
            self.stop()
            raise

    def wait_until_healthy(self) -> None:
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                with urllib.request.urlopen(self.url + HEALTH, timeout=5) as answer:
                    if answer.read() == b"ok":
                        return
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the server did not start; the end of its log:\n{self.tail()}")
            time.sleep(0.05)

    def check(self) -> None:
        """Says so when the server is no longer there, before a browser says only that nobody answers."""
        if (code := self.process.poll()) is not None:
            raise RuntimeError(f"the server has ended with {code}; the end of its log:\n{self.tail()}")

    def tail(self) -> str:
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-30:])

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
