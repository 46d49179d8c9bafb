"""Headlight on a free port: one started for a test, and the one that the processes of a test run share."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from filelock import FileLock

__all__ = ["HEALTH", "ROOT", "OwnServer", "Server", "SharedServer"]

ROOT = Path(__file__).parents[2]
START_SECONDS = 90
HEALTH = "/_stcore/health"


@dataclass
class Server:
    """A server that runs, whoever started it: its process, its port, the file of its output, the path of its pages."""

    pid: int
    port: int
    log: Path
    base: str = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.base}"

    def check(self) -> None:
        """Raise an error when the server is no longer there, before a browser says only that nobody answers."""
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=START_SECONDS).close()
        except OSError as error:
            raise RuntimeError(f"the server has ended; the end of its log:\n{self.tail()}") from error

    def tail(self) -> str:
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-30:])


class OwnServer(Server):
    """One that this process starts, as `streamlit run app.py` does.

    Args:
        log: the file of its output.
        base: the path below which it serves its pages, as "/app".
        command: what starts it, in place of `streamlit run app.py`; the port follows.
        folder: where it is started.
    """

    def __init__(
        self,
        log: Path,
        base: str = "",
        command: Sequence[str] = (),
        folder: Path = ROOT,
        environment: Mapping[str, str] = MappingProxyType({}),
        script: str = "app.py",
    ) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            super().__init__(0, free.getsockname()[1], log, base)
        self.folder = folder
        options = {"headless": "true", "port": str(self.port), "address": "127.0.0.1"}
        options |= {"baseUrlPath": base} if base else {}
        self.command = [sys.executable, "-m", "streamlit", "run", script]
        self.command += [part for name, value in options.items() for part in (f"--server.{name}", value)]
        if command:
            self.command = [*command, "--port", str(self.port)]
        self.environment = {**os.environ, **environment}
        self.start()

    def start(self) -> None:
        """Start it, also once more after it was stopped: under the same address."""
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self.command, cwd=self.folder, env=self.environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL
            )
        self.pid = self.process.pid
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
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(0.02)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(25)  # it winds up what trains
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class SharedServer:
    """The server of all processes of a test run: the first that asks starts it, and stops it when the others are done.

    Args:
        folder: where they find each other: who uses the server holds a lock of its own there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = folder / "server.json"
        self.door = FileLock(folder / "server.lock")
        self.use = FileLock(folder / f"{os.getpid()}.uses-server")
        with self.door:
            self.use.acquire()
            if not self.address.exists():
                own = {"HF_HOME": str(folder / "hf")}  # whatever this machine has of its own
                self.server: Server = OwnServer(folder / "server.log", environment=own)
                self.address.write_text(json.dumps([self.server.pid, self.server.port]), "utf-8")
            else:
                pid, port = json.loads(self.address.read_text("utf-8"))
                self.server = Server(pid, port, folder / "server.log")

    def leave(self) -> None:
        self.use.release()
        if not isinstance(self.server, OwnServer):
            return
        with self.door:
            self.address.unlink()  # who comes now starts one
        for other in self.folder.glob("*.uses-server"):
            with FileLock(other):
                pass
        self.server.stop()
