"""A process that trains a plan and reports over a pipe.

The command "stop", or the end of the pipe because the parent is gone, cancels the runs; "enough" ends them as their
time budget would. Each message to the parent is a JSON object with one of these keys:

    run, event    an event of that run, counted from 0, see `events.to_values`
    told          a warning about the runs, in a sentence
    saved         that run is completely saved in the plan's folder, under its number
    error         why the job ends early, in a sentence
    done          "steps", "time" or "stopped": the last message of every job that had no error
"""

import json
import signal
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ..device import is_oom_error
from ..errors import HeadlightError
from .limits import TrainingPlan, lower_priority
from .plan_runs import PlanRuns


def main(plan: TrainingPlan, folder: Path, pipe: Connection) -> None:
    """Train a plan and report its events and any error."""
    lower_priority()
    for number in (signal.SIGINT, signal.SIGTERM):  # the whole process group may receive it; the parent decides
        signal.signal(number, signal.SIG_IGN)
    stop, enough = threading.Event(), threading.Event()

    def send(**line: Any) -> None:
        pipe.send_bytes(json.dumps(line).encode())

    threading.Thread(target=_listen, args=(pipe, stop, enough), name="listener", daemon=True).start()
    try:
        PlanRuns(plan, folder, send, stop, enough).run()
    except HeadlightError as error:
        send(error=str(error))
    except BrokenPipeError:
        raise SystemExit(1) from None  # the parent has closed its end
    except ModuleNotFoundError as error:
        send(error=f"the package {error.name} is missing")
    except Exception as error:
        full = isinstance(error, MemoryError) or is_oom_error(error)
        send(error="the device is out of memory; choose smaller sizes" if full else type(error).__name__)


def _listen(pipe: Connection, stop: threading.Event, enough: threading.Event) -> None:
    """Wait for "stop" or the end of the pipe, and for "enough" on the way."""
    try:
        while pipe.recv_bytes() != b"stop":
            enough.set()
    except (OSError, EOFError):
        pass
    stop.set()
