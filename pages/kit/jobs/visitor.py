"""The visit of one visitor: the present training, and the runs that it left. It goes when the visitor goes."""

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

from .queue import Visitor
from .training import Plan, TrainingJob, writing

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
        id: its name in a link; nobody can guess it, and in any other visit it means nothing.
        label: for a list of models.
        folder: as `load_model` takes it.
        history: how it was trained.
        added_at: on the clock of `time.monotonic`.
    """

    id: str
    label: str
    folder: Path
    history: History
    added_at: float


class _Visit:
    """A visitor's folder and all that needs it. Nothing but the session holds it, so that it goes with that."""

    def __init__(self) -> None:
        with writing():
            self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # for this user alone
        self.jobs: list[TrainingJob] = []  # the present one is the last
        self.runs: dict[str, OwnRun] = {}
        self.lock = threading.RLock()
        self.end = weakref.finalize(self, _delete, self.folder, self.jobs)
        self._collected: set[Path] = set()
        with _listing:
            _visits.add(self)
        _start_sweeping()

    def collect(self) -> None:
        """Adds the runs that the jobs have saved by now."""
        with self.lock:
            for training in self.jobs:
                for number, folder in enumerate(training.record.saved):
                    if folder is not None and folder not in self._collected:
                        self.add(folder, training.record.history(number))
            self.jobs[:-1] = [training for training in self.jobs[:-1] if not training.over]

    def add(self, folder: Path, history: History) -> OwnRun:
        """Makes a saved run one of the models."""
        run = OwnRun(secrets.token_urlsafe(16), _label(history), folder, history, time.monotonic())
        with self.lock:
            self.runs[run.id] = run
            self._collected.add(folder)
        return run

    def drop_old(self) -> None:
        """Deletes what is older than `KEPT_SECONDS`, and the oldest beyond `MOST_OWN` or `MOST_MAPS`."""
        latest, number, held = time.monotonic() - KEPT_SECONDS, 0, 0
        with self.lock:
            for run in reversed(list(self.runs.values())):
                number, held = number + 1, held + sum(len(shot.maps) for shot in run.history.snapshots)
                if run.added_at < latest or number > MOST_OWN or held > MOST_MAPS:
                    del self.runs[run.id]
                    shutil.rmtree(run.folder, ignore_errors=True)


_visits: weakref.WeakSet[_Visit] = weakref.WeakSet()
_listing = threading.Lock()  # of the visits


def own_runs() -> dict[str, OwnRun]:
    """This visitor's trained models by their ids, in the order in which they were made."""
    visit = _visit()
    if visit is None:
        return {}
    visit.collect()
    visit.drop_old()
    with visit.lock:
        return dict(visit.runs)


def add_run(folder: Path) -> OwnRun:
    """Makes a saved run, in a folder of `new_folder`, one of this visitor's models.

    Raises:
        WeightsFileError: it is no saved run.
    """
    return _begun_visit().add(folder, saved.read(folder))


def new_folder() -> Path:
    """An empty folder of this visitor, which goes with the visit. Raises a HeadlightError when it cannot be made."""
    folder = _begun_visit().folder / secrets.token_hex(8)
    with writing():
        folder.mkdir()
    return folder


def job() -> TrainingJob | None:
    """The present training, or the last one that was; None before the first."""
    visit = _visit()
    return visit.jobs[-1] if visit is not None and visit.jobs else None


def job_on(task: str) -> TrainingJob | None:
    """The present training if it is on this task."""
    present = job()
    return present if present is not None and present.plan.recipes[0].task == task else None


def start(plan: Plan) -> TrainingJob:
    """Begins to train, and stops what this visitor trained before.

    Raises:
        HeadlightError: as in `Job.start` and `new_folder`; then the earlier training goes on.
    """
    visit, visitor = _begun_visit(), this_visitor()
    visit.collect()
    training = TrainingJob(plan, new_folder(), visitor, partial(_is_connected, visitor.session)).start()
    if visit.jobs:
        visit.jobs[-1].stop()
    visit.jobs.append(training)
    return training


def this_visitor() -> Visitor:
    """The visitor whose page runs now: the session, and the address of the machine, empty when it is this one."""
    context = get_script_run_ctx()
    address = household(st.context.ip_address or "") if runtime.exists() else ""
    return Visitor(address, context.session_id if context else "")


def end_all() -> None:
    """Ends every visit, with all that it trains and has trained."""
    with _listing:
        visits = list(_visits)
    for visit in visits:
        visit.end()


def _visit() -> _Visit | None:
    visit: _Visit | None = st.session_state.get("training_visit")
    return visit


def _begun_visit() -> _Visit:
    if "training_visit" not in st.session_state:
        st.session_state["training_visit"] = _Visit()
    visit: _Visit = st.session_state["training_visit"]
    return visit


def _label(history: History) -> str:
    """The words that tell a run from its neighbours."""
    recipe = history.recipe
    title = history.start.title if history.start else recipe.task
    return f"{title}: {recipe.position}, {recipe.implementation}, seed {recipe.seed}"


def _is_connected(session: str) -> bool:
    """Tells whether a tab is connected. Without a server every one is."""
    return not runtime.exists() or runtime.get_instance().is_active_session(session)


def _delete(folder: Path, jobs: Iterable[TrainingJob]) -> None:
    """Deletes a visit: when its session is dropped, or when this process ends."""
    for training in jobs:
        training.kill()
    shutil.rmtree(folder, ignore_errors=True)


@cache
def _start_sweeping() -> None:
    """Sweeps from now on, in one thread."""

    def sweep_for_ever() -> None:
        while True:
            sweep()
            time.sleep(SWEEP_SECONDS)

    threading.Thread(target=sweep_for_ever, name="sweeper", daemon=True).start()


def sweep() -> None:
    """Deletes old runs, and the folders of visits whose server was killed before it could."""
    with _listing:
        visits = list(_visits)
    for visit in visits:
        visit.drop_old()
    known, latest = {visit.folder for visit in visits}, time.time() - STRAY_SECONDS
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # it is gone already
            status = folder.lstat()
            mine = not hasattr(os, "getuid") or status.st_uid == os.getuid()
            if folder not in known and mine and status.st_mtime < latest:
                shutil.rmtree(folder, ignore_errors=True)  # never through a link
