"""The visitor whose page runs now: what was trained in the visit, and how to come back to it."""

import secrets
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

import streamlit as st
from streamlit import runtime

from headlight import registry
from headlight.jobs.training import TrainingJob, writing
from headlight.jobs.visit import OwnRun, Tab, Visit, find
from headlight.registry import recordings, trained
from headlight.registry.album import ALBUMS
from headlight.server import sockets, store
from mha_core.training import saved
from mha_core.training.limits import TrainingPlan
from mha_core.training.tasks import TrainingData

from .visits import address, visitor


def own_runs() -> dict[str, OwnRun]:
    """This visitor's trained models by their ids, in the order in which they were made."""
    visit = _visit()
    if visit is None:
        return {}
    visit.register_finished()
    visit.expire()
    with visit.lock:
        return dict(visit.runs)


def offered() -> dict[str, tuple[str, str, str]]:
    """The models of the list by their names, and what was trained here, which can be asked from now on."""
    own = [trained.Trained(name) for name in own_runs()]
    # where the disk is full some are not there: Train says so when it saves something
    return registry.available([*own, registry.source_of(recording())])


def add_run(folder: Path) -> OwnRun:
    """Makes a saved run, in a folder of `new_folder`, one of this visitor's models.

    Raises:
        WeightsFileError: it is no saved run.
    """
    return _begun_visit().add(folder, saved.read(folder), opened=True)


def open_recording(content: bytes) -> str:
    """The name of a recording, the visitor's only one from now on. Raises a HeadlightError where it cannot be drawn."""
    recordings.drawable(content)
    _bring(recordings.KIND, content)
    return recording()


def recording() -> str:
    """The name of this visitor's recording, "" without one."""
    name = _data().get(recordings.KIND)
    return f"{recordings.PREFIX}{name}" if name else ""


def open_given(kind: str, content: bytes) -> None:
    """Takes a "picture" or "sound", the visitor's only one from now on. Raises a HeadlightError for what is none."""
    ALBUMS[kind].read(content)
    _bring(kind, content)


def given() -> dict[str, str]:
    """The names of this visitor's picture and sound, "" without one."""
    return {kind: album.name_of(_data().get(kind)) for kind, album in ALBUMS.items()}


def _bring(kind: str, content: bytes) -> None:
    with _begun_visit().replace_upload(TrainingData(kind, content)):
        pass


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
    present = job()
    return present if present is not None and present.plan.recipes[0].task == task else None


def start(plan: TrainingPlan) -> TrainingJob:
    """Begins to train, and stops what this visitor trained before.

    Raises:
        HeadlightError: as in `Job.start` and `new_folder`; then the earlier training goes on.
    """
    visit = _begun_visit()
    visit.register_finished()
    with visit.replace_upload(plan.data) if plan.data is not None else nullcontext():
        training = TrainingJob(plan, new_folder(), visitor(), visit.heard).start()
    with visit.lock:
        if visit.jobs:
            visit.jobs[-1].stop()
        visit.jobs.append(training)
    return training


def name() -> str:
    """The name by which the visitor's browser finds this visit again; "" before there is anything to find."""
    visit = _visit()
    return "" if visit is None else visit.persist()


def come_back(told: object) -> bool:
    """Takes up the visit of a name that a browser has kept, whatever that says; False when there is none any more.

    A session that has begun a visit of its own keeps that. Raises as `visit.find` does.
    """
    if _visit() is not None:
        return True
    visit = find(told, address())
    if visit is None:
        return False
    _enter(visit)
    return True


def notices() -> list[str]:
    """Sentences on a visit that was taken up from another server, each said once."""
    visit = _visit()
    if visit is None:
        return []
    said, visit.notices = visit.notices, []
    return list(dict.fromkeys(said))


def brought() -> dict[str, bytes]:
    """The data that were brought for the trainings of this visit, by their kinds."""
    shown = (recordings.KIND, *ALBUMS)
    kept = {kind: store.read("data", name) for kind, name in _data().items() if kind not in shown}
    return {kind: content for kind, content in kept.items() if content is not None}


def _data() -> Mapping[str, str]:
    """What was brought in this visit: kind -> its name in the store."""
    visit = _visit()
    return {} if visit is None else visit.data


def _visit() -> Visit | None:
    """The visit of this session; one that was ended meanwhile is none."""
    visit: Visit | None = st.session_state.get("training_visit")
    if visit is None or not visit.end.alive:
        return None
    st.session_state["training_tab"].socket = _socket()  # another one, once the connection was lost for a while
    return visit


def _socket() -> str:
    """The connection of this tab; "" without a server."""
    return st.context.headers.get(sockets.KEY, "") if runtime.exists() else ""


def _begun_visit() -> Visit:
    return _visit() or _enter(Visit(address()))


def _enter(visit: Visit) -> Visit:
    """Makes this session one of the visit's tabs."""
    tab = st.session_state["training_tab"] = Tab(_socket())
    visit.tabs.add(tab)
    st.session_state["training_visit"] = visit
    return visit
