"""A process that trains: `python -m mha_core.training.worker`. An order comes in as JSON, events go out the same way.

The first line in says what to train, as `Order.to_line` writes it. "stop", or the end of the input because the parent
is gone, ends the runs where they are; "enough" ends them as their time budget would. The lines out are objects with one
of these keys:

    run, line     an event of that run, counted from 0, as `events.to_line` writes it
    told          what must be said of the runs, in a sentence
    saved         that run lies complete in the order's folder, under its number
    timing        how long a training step takes in each implementation, see `job.step_times`
    error         why the job ends early, in a sentence
    done          "steps", "time" or "stopped": the last line of every job that had no error
"""

import io
import json
import os
import signal
import threading
import time
from typing import Any, TextIO

from ..device import is_out_of_memory
from ..errors import HeadlightError
from .limits import Order
from .order_runs import OrderRuns
from .priority import step_back

MOST_ORDER = 1_000_000  # characters of the first line
FLUSH_SECONDS = 0.1


class Speaker:
    """Writes lines: at once, or together with those that soon follow."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._flushed = 0.0

    def say(self, *, at_once: bool = True, **line: Any) -> None:
        self._out.write(json.dumps(line) + "\n")
        now = time.monotonic()
        if at_once or now - self._flushed > FLUSH_SECONDS:
            self._out.flush()
            self._flushed = now


def _listen(heard: io.RawIOBase, stop: threading.Event, enough: threading.Event) -> None:
    """Waits for "stop" or for the end of the input, and for "enough" on the way."""
    while (line := heard.readline(MOST_ORDER)) and line.strip() != b"stop":
        if line.strip() == b"enough":
            enough.set()
    stop.set()


def main() -> None:
    """Does one order, and tells of it; an error is told too and ends the process with 0."""
    # What libraries print goes to stderr: every line out is one of ours.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    step_back()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a whole group may get it: the parent says when to end
    say = Speaker(out).say
    try:
        # unbuffered: a thread that waits in sys.stdin would hold its lock when the process ends, which is fatal
        heard = io.FileIO(0, closefd=False)
        order = Order.from_line(heard.readline(MOST_ORDER).decode())
        stop, enough = threading.Event(), threading.Event()
        threading.Thread(target=_listen, args=(heard, stop, enough), name="listener", daemon=True).start()
        OrderRuns(order, say, stop, enough).run()
    except HeadlightError as error:
        say(error=str(error))
    except BrokenPipeError:
        raise SystemExit(1) from None  # the parent has closed its end
    except ModuleNotFoundError as error:
        say(error=f"the package {error.name} is missing")
    except Exception as error:
        full = isinstance(error, MemoryError) or is_out_of_memory(error)
        say(error="the device is out of memory; choose smaller sizes" if full else type(error).__name__)
        raise


if __name__ == "__main__":
    main()
