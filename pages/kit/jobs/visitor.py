"""What belongs to one visitor alone: the present training, and the runs that it left. It goes when the visitor goes."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from mha_core.training import saved
from mha_core.training.events import History
from pages.kit.server.sockets import household

from .training import Job, Plan, Visitor, writing

__all__ = [
    "KEPT_SECONDS",
    "MOST_OWN",
    "OwnRun",
    "add_run",
    "end_all",
    "job",
    "job_on",
    "new_folder",
    "own_runs",
    "start",
]

KEPT_SECONDS = 2 * 3600.0
MOST_OWN = 120  # runs, and
MOST_MAPS = 64 * 2**20  # bytes of their snapshots; the oldest go first
SWEEP_SECONDS = 60.0
STRAY_SECONDS = 2 * KEPT_SECONDS  # then no other server of this machine can need a folder any more
PREFIX = "headlight-visit-"


@dataclass(frozen=True)
class OwnRun:
    """A trained model of this visitor.

    Attributes:
        id: what a link calls it; nobody can guess it, and in any other visit it means nothing.
        label: for a list of models.
        folder: as `load_model` takes it.
        history: how it was trained.
        made: when, on the clock of `time.monotonic`.
    """

    id: str
    label: str
    folder: Path
    history: History
    made: float


class _Things:
    """The visitor's folder and all that needs it. Nothing but the session holds it, so that it goes with that."""

    def __init__(self) -> None:
        with writing():
            self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # for this user alone
        self.jobs: list[Job] = []  # the present one is the last
        self.runs: dict[str, OwnRun] = {}
        self.collected: set[Path] = set()
        self.lock = threading.Lock()
        self.end = weakref.finalize(self, _leave, self.folder, self.jobs)
        with _sweeping:
            _everyone.add(self)
        _start_sweeping()

    def collect(self) -> None:
        """Takes in what the jobs have saved by now."""
        with self.lock:
            for training in self.jobs:
                for number, folder in enumerate(training.saved):
                    if folder is not None and folder not in self.collected:
                        self._add(folder, training.history(number))
            self.jobs[:-1] = [training for training in self.jobs[:-1] if not training.over]

    def add(self, folder: Path, history: History) -> OwnRun:
        with self.lock:
            return self._add(folder, history)

    def drop_old(self) -> None:
        """Deletes what is older than `KEPT_SECONDS`, and the oldest beyond `MOST_OWN` or `MOST_MAPS`."""
        latest, number, held = time.monotonic() - KEPT_SECONDS, 0, 0
        with self.lock:
            for run in reversed(list(self.runs.values())):
                number, held = number + 1, held + sum(len(shot.maps) for shot in run.history.snapshots)
                if run.made < latest or number > MOST_OWN or held > MOST_MAPS:
                    del self.runs[run.id]
                    shutil.rmtree(run.folder, ignore_errors=True)

    def _add(self, folder: Path, history: History) -> OwnRun:
        made = OwnRun(secrets.token_urlsafe(16), _label(history), folder, history, time.monotonic())
        self.runs[made.id] = made
        self.collected.add(folder)
        return made


_everyone: weakref.WeakSet[_Things] = weakref.WeakSet()
_sweeping = threading.Lock()


def own_runs() -> dict[str, OwnRun]:
    """This visitor's trained models by their ids, in the order in which they were made."""
    things = _things()
    if things is None:
        return {}
    things.collect()
    things.drop_old()
    with things.lock:
        return dict(things.runs)


def add_run(folder: Path) -> OwnRun:
    """Makes a saved run, in a folder of `new_folder`, one of this visitor's models.

    Raises:
        WeightsFileError: it is no saved run.
    """
    return _things_or_new().add(folder, saved.read(folder))


def new_folder() -> Path:
    """An empty folder of this visitor, which goes with the visit. Raises a HeadlightError when it cannot be made."""
    folder = _things_or_new().folder / secrets.token_hex(8)
    with writing():
        folder.mkdir()
    return folder


def job() -> Job | None:
    """The present training, or the last one that was; None before the first."""
    things = _things()
    return things.jobs[-1] if things is not None and things.jobs else None


def job_on(task: str) -> Job | None:
    """The present training if it is on this task."""
    present = job()
    return present if present is not None and present.plan.recipes[0].task == task else None


def start(plan: Plan) -> Job:
    """Begins to train, and stops what this visitor trained before.

    Raises:
        HeadlightError: as in `Job.start` and `new_folder`; then the earlier training goes on.
    """
    things = _things_or_new()
    things.collect()
    session = _session()
    made = Job(plan, new_folder(), partial(_is_here, session), Visitor(_address(), session)).start()
    if things.jobs:
        things.jobs[-1].stop()
    things.jobs.append(made)
    return made


def end_all() -> None:
    """Ends every visit, with all that it trains and has trained."""
    with _sweeping:
        present = list(_everyone)
    for things in present:
        things.end()


def _things() -> _Things | None:
    found: _Things | None = st.session_state.get("visit_things")
    return found


def _things_or_new() -> _Things:
    if "visit_things" not in st.session_state:
        st.session_state["visit_things"] = _Things()
    found: _Things = st.session_state["visit_things"]
    return found


def _label(history: History) -> str:
    """What tells a run from its neighbours."""
    recipe = history.recipe
    title = history.start.title if history.start else recipe.task
    return f"{title}: {recipe.position}, {recipe.implementation}, seed {recipe.seed}"


def _session() -> str:
    context = get_script_run_ctx()
    return context.session_id if context else ""


def _address() -> str:
    """Of the visitor's machine; empty when it is this one."""
    return household(st.context.ip_address or "") if runtime.exists() else ""


def _is_here(session: str) -> bool:
    """Whether the visitor's tab is connected. Without a server everybody is there."""
    return not runtime.exists() or runtime.get_instance().is_active_session(session)


def _leave(folder: Path, jobs: Iterable[Job]) -> None:
    """Deletes a visit: when its session is dropped, or when this process ends."""
    for training in jobs:
        training.kill()
    shutil.rmtree(folder, ignore_errors=True)


@cache
def _start_sweeping() -> None:
    """Sweeps from now on, in one thread."""
    threading.Thread(target=_sweep_again_and_again, name="sweeper", daemon=True).start()


def _sweep_again_and_again() -> None:
    while True:
        _sweep()
        time.sleep(SWEEP_SECONDS)


def _sweep() -> None:
    """Deletes old runs, and the folders of visits whose server was killed before it could."""
    with _sweeping:
        present = list(_everyone)
    for things in present:
        things.drop_old()
    known, latest = {things.folder for things in present}, time.time() - STRAY_SECONDS
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # it is gone already
            found = folder.lstat()
            mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
            if folder not in known and mine and found.st_mtime < latest:
                shutil.rmtree(folder, ignore_errors=True)  # never through a link
