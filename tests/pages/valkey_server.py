"""A Valkey of its own for a test: on a free port, in a folder of its own, and nothing of it on a disk."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

VALKEY = shutil.which("valkey-server")
START_SECONDS = 60


class Valkey:
    """One that runs until `stop`; `start` again gives an empty one at the same address."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"valkey://127.0.0.1:{self.port}/0"
        self._folder = folder
        self.start()

    def start(self) -> None:
        assert VALKEY
        told = ["--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen([VALKEY, *told, "--dir", self._folder], stdout=subprocess.DEVNULL)
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                assert self.process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.02)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(START_SECONDS)
