"""What stands in for a worker of `sweep`. It imports no torch, so that a process has it at once."""

import os
import signal
from multiprocessing.connection import Connection


def dies(pipe: Connection) -> None:
    """Is killed by what it is given."""
    pipe.recv_bytes()
    os._exit(1)


def interrupts(pipe: Connection) -> None:
    """Does what Ctrl+C does, and never ends by itself."""
    pipe.recv_bytes()
    os.kill(os.getppid(), signal.SIGINT)
    while True:
        signal.pause()
