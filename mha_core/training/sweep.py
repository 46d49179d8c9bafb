"""Many runs in parallel processes; a recipe gives bitwise equal results in each of them.

A worker saves its run into the run's folder, atomically. A run whose worker is killed is repeated.
"""

import argparse
import multiprocessing
import signal
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from ..errors import HeadlightError
from . import saved
from .events import History
from .limits import cores, lower_priority
from .loop import Training
from .recipe import Recipe
from .tasks import Task

MAX_WORKERS = 256
ATTEMPTS = 3  # without a finished run, before the rest is given up
KILLED = f"its worker was killed {ATTEMPTS} times; choose fewer workers or smaller sizes to need less memory"


class PlannedRun(NamedTuple):
    """Recipe and data of a run to train."""

    recipe: Recipe
    task: Task


Results = Generator[tuple[Path, str], None, None]  # the folder of each run, "" when it is saved or an error message


def train(job: PlannedRun, folder: Path) -> str:
    """Train one run and save it; return "" or an error message."""
    try:
        training = Training(*job)
        for _ in training.events():
            pass
        training.save(folder)
        return ""
    except HeadlightError as error:
        return str(error)


def run_in_processes(jobs: Mapping[Path, PlannedRun], workers: int) -> Results:
    """Train the runs in parallel processes; if one is killed, all unfinished runs start again."""
    left, killed = dict(jobs), 0
    while left:
        pool = ProcessPoolExecutor(min(workers, len(left)), multiprocessing.get_context("spawn"), init_worker)
        try:
            futures = {pool.submit(train, job, folder): folder for folder, job in left.items()}
            for future in as_completed(futures):
                error = future.result()
                del left[futures[future]]
                killed = 0
                yield futures[future], error
        except BrokenProcessPool:
            killed += 1
            if killed == ATTEMPTS:
                yield from ((folder, KILLED) for folder in left)
                return
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def init_worker() -> None:
    """Initialise a worker: low priority, and Ctrl+C ends it."""
    lower_priority()
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the option for the number of workers to a parser."""
    parser.add_argument("--workers", type=int, help="processes of this machine (default: one for each core)")


def worker_count(options: argparse.Namespace, threads: int = 1) -> int:
    """Return the requested number of processes, by default as many as there are cores for their threads.

    Raises:
        HeadlightError: it is less than 1 or too large.
    """
    workers: int = max(1, cores() // threads) if options.workers is None else options.workers
    if not 1 <= workers <= MAX_WORKERS:
        raise HeadlightError(f"--workers={workers}: choose 1 to {MAX_WORKERS}")
    return workers


def run(jobs: Mapping[Path, PlannedRun], workers: int) -> dict[Path, History | str]:
    """Train the runs that are not in their folders yet, save them there, and show a progress bar.

    Returns:
        The history of each, or an error message.

    Raises:
        HeadlightError: the folders cannot be written.
    """
    from tqdm import tqdm

    results: dict[Path, History | str] = {path: run for path, job in jobs.items() if (run := find_existing(path, job))}
    left = {folder: job for folder, job in jobs.items() if folder not in results}
    with (
        tqdm(total=len(jobs), initial=len(results), unit="run", disable=None) as bar,
        closing(run_in_processes(left, workers)) as finished,
    ):
        for place, error in finished:
            results[place] = error or (history := saved.read(place))
            if not error:
                aligned = history.evaluations[-1].aligned if history.evaluations else None
                alignment = "" if aligned is None else f", aligned {aligned:.4f}"
                error = f"accuracy {accuracy(history):.3f}{alignment} in {history.seconds:.1f} s"
            bar.write(f"{place.name}: {error}")
            bar.update()
    return {place: results[place] for place in jobs}


def find_existing(place: Path, job: PlannedRun) -> History | None:
    """Return the run in this folder if it has the recipe and the data of the job."""
    with suppress(HeadlightError):  # missing, or no run
        history = saved.read(place)
        if history.recipe == job.recipe and history.start and job.task.fingerprint in history.start.fingerprint:
            return history
    return None


def table(results: Mapping[str, Sequence[History]]) -> str:
    """Summarise runs in a table: the mean and the standard deviation over the seeds of each kind."""
    import pandas as pd

    rows = [(line, accuracy(history), history.seconds) for line, histories in results.items() for history in histories]
    runs = pd.DataFrame(rows, columns=["run", "accuracy", "seconds"]).groupby("run", sort=False)
    return runs.agg({"accuracy": ["mean", "std", "count"], "seconds": "mean"}).round(3).to_string()


def accuracy(history: History) -> float:
    """Return the last test accuracy of a run."""
    return history.evaluations[-1].test_accuracy
