"""A process that has read torch in, and forks from itself those that train: they begin at once. Linux alone.

`python -m mha_core.training.nursery`, with a Unix socket as its input. Each message brings three file descriptors: the
input and the output of a `worker`, and a pipe on which two numbers come back, the worker's process id and, when it has
ended, its exit code, negative for a signal. It ends with the other end of its socket, or when nobody asks for long.
"""

import os
import signal
import socket
import struct
import traceback
from collections.abc import Callable
from typing import NoReturn

from .priority import step_back

NUMBER = struct.Struct("<q")  # as the pipe says a number
IDLE_SECONDS = 600.0


def main() -> None:
    """Forks until nobody is there any more."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as of a worker
    step_back()  # before torch: seconds of a core, while a browser draws the first charts of the page that started it
    import torch

    from . import worker  # with torch and all else that takes the time, before anybody asks

    torch.optim.AdamW([torch.zeros(1)])  # torch reads in most of itself, for a second or more, with its first optimizer
    asked = socket.socket(fileno=0)
    asked.settimeout(IDLE_SECONDS)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # whoever has ended is forgotten
    while True:
        try:
            message, files, _, _ = socket.recv_fds(asked, 1, 3)
        except TimeoutError:
            return
        if not message:
            return
        if os.fork() == 0:
            asked.close()
            _watch(worker.main, *files)
        for file in files:
            os.close(file)


def _watch(work: Callable[[], None], stdin: int, stdout: int, told: int) -> NoReturn:
    """Forks the worker, and stays to say how it ends: only a parent hears that."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.close(told)
        os.dup2(stdin, 0)
        os.dup2(stdout, 1)
        os.close(stdin)
        os.close(stdout)
        os._exit(_code(work))
    os.close(stdin)
    os.close(stdout)
    os.write(told, NUMBER.pack(pid))
    _, status = os.waitpid(pid, 0)
    os.write(told, NUMBER.pack(os.waitstatus_to_exitcode(status)))
    os._exit(0)


def _code(work: Callable[[], None]) -> int:
    """Does the work; what the interpreter would end with."""
    try:
        work()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main()
