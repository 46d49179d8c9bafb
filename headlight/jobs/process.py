"""The training process: on Linux forked from a fork server that has imported torch, elsewhere spawned."""

import multiprocessing
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any

from mha_core.training.limits import TrainingPlan

_context: Any = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
_lock = threading.Lock()


def prepare() -> None:
    """Start the fork server on Linux, without waiting until it has imported torch."""
    if sys.platform == "linux":
        with _lock, _no_main():
            _context.set_forkserver_preload(["mha_core.training.preload"])
            forkserver.ensure_running()


def start(plan: TrainingPlan, folder: Path) -> tuple[BaseProcess, Connection]:
    """Start a process that trains a plan into a folder; return it and this end of its pipe."""
    from mha_core.training import worker

    prepare()
    ours, theirs = _context.Pipe()
    process = _context.Process(target=worker.main, args=(plan, folder, theirs), name="training")
    with _lock, _no_main(), theirs:
        process.start()
    return process, ours


@contextmanager
def _no_main() -> Iterator[None]:
    """Hide the main module, which a new process would run again: under Streamlit it is the page."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
