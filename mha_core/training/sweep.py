"""Many runs at once, in processes of this machine; the same recipe gives the same bits in any of them.

A worker gets a recipe with its data and gives the saved run back as one zip file, so that the two share nothing but the
program. A run whose worker is killed is done again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import signal
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from ..errors import HeadlightError
from . import saved
from .events import History
from .limits import cores, step_back
from .loop import Training
from .recipe import Recipe
from .tasks import Task

MAX_WORKERS = 256
ATTEMPTS = 3  # without a run that ends, before those that are left are given up
KILLED = f"its worker was killed {ATTEMPTS} times; less memory is needed with fewer workers or smaller sizes"


class PlannedRun(NamedTuple):
    """A run to train."""

    recipe: Recipe
    task: Task


# The number of each job that has ended, with its saved run, packed, or why there is none, in a sentence.
Ended = Generator[tuple[int, bytes | str], None, None]


def train(job: PlannedRun) -> bytes | str:
    """One run: packed, or why there is none."""
    try:
        training = Training(*job)
        for _ in training.events():
            pass
        with TemporaryDirectory(prefix="headlight-sweep-") as place:
            training.save(Path(place, "run"))
            return saved.pack(Path(place, "run"))
    except HeadlightError as error:
        return str(error)


def in_processes(jobs: Sequence[PlannedRun], workers: int) -> Ended:
    """The runs in so many processes; where one is killed, all that have not ended begin again."""
    left, killed = dict(enumerate(jobs)), 0
    while left:
        pool = ProcessPoolExecutor(min(workers, len(left)), multiprocessing.get_context("spawn"), begin)
        try:
            futures = {pool.submit(train, job): number for number, job in left.items()}
            for future in as_completed(futures):
                result = future.result()
                del left[futures[future]]
                killed = 0
                yield futures[future], result
        except BrokenProcessPool:
            killed += 1
            if killed == ATTEMPTS:
                yield from ((number, KILLED) for number in left)
                return
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def begin() -> None:
    """Prepares a worker: it comes after all others, and Ctrl+C ends it."""
    step_back()
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Lets a command choose its workers."""
    parser.add_argument("--workers", type=int, help="processes of this machine (default: one for each core)")


def workers_of(chosen: argparse.Namespace, threads: int = 1) -> int:
    """The number of processes that the argument asks for; without it as many as there are cores for their threads.

    Raises:
        HeadlightError: it asks for none, or for too many.
    """
    workers: int = max(1, cores() // threads) if chosen.workers is None else chosen.workers
    if not 1 <= workers <= MAX_WORKERS:
        raise HeadlightError(f"--workers={workers}: choose 1 to {MAX_WORKERS}")
    return workers


def run(jobs: Mapping[Path, PlannedRun], workers: int) -> dict[Path, History | str]:
    """The runs, each in its folder: those that lie there, and the others, trained and written; a bar shows how far.

    Returns: the history of each, or why there is none, in a sentence.

    Raises:
        HeadlightError: nothing can be written there.
    """
    from tqdm import tqdm

    results: dict[Path, History | str] = {place: found for place, job in jobs.items() if (found := known(place, job))}
    left = [place for place in jobs if place not in results]
    with (
        tqdm(total=len(jobs), initial=len(results), unit="run", disable=None) as bar,
        closing(in_processes([jobs[place] for place in left], workers)) as ended,
    ):
        for number, result in ended:
            place = left[number]
            if isinstance(result, bytes):
                shutil.rmtree(place, ignore_errors=True)
                history = saved.unpack(result, place)
                results[place] = history
                aligned = history.evaluations[-1].aligned if history.evaluations else None
                looks = "" if aligned is None else f", aligned {aligned:.4f}"
                said = f"accuracy {accuracy(history):.3f}{looks} in {history.seconds:.1f} s"
            else:
                results[place] = said = result
            bar.write(f"{place.name}: {said}")
            bar.update()
    return {place: results[place] for place in jobs}


def known(place: Path, job: PlannedRun) -> History | None:
    """The run that lies there, if it is this one."""
    with suppress(HeadlightError):  # nothing is there, or something else
        history = saved.read(place)
        if history.recipe == job.recipe and history.start and job.task.fingerprint in history.start.fingerprint:
            return history
    return None


def table(results: Mapping[str, Sequence[History]]) -> str:
    """A row for each kind of run: the mean and the standard deviation over its seeds."""
    import pandas as pd

    rows = [(line, accuracy(one), one.seconds) for line, histories in results.items() for one in histories]
    runs = pd.DataFrame(rows, columns=["run", "accuracy", "seconds"]).groupby("run", sort=False)
    return runs.agg({"accuracy": ["mean", "std", "count"], "seconds": "mean"}).round(3).to_string()


def accuracy(history: History) -> float:
    """What the run came to on its test rows."""
    return history.evaluations[-1].test_accuracy
