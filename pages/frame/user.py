"""The current user's visit: trained models, uploads and the running job."""

import secrets
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

import streamlit as st
from streamlit import runtime

from headlight import registry
from headlight.jobs.training import TrainingJob, convert_write_errors
from headlight.jobs.workspace import Tab, UserRun, Workspace, find_workspace
from headlight.registry import recordings, trained
from headlight.registry.album import ALBUMS
from headlight.server import sockets, store
from mha_core.training import saved
from mha_core.training.limits import TrainingPlan
from mha_core.training.tasks import TrainingData

from .sessions import address, client


def own_runs() -> dict[str, UserRun]:
    """Return the user's trained models by their IDs, in the order of their training."""
    visit = _visit()
    if visit is None:
        return {}
    visit.register_finished()
    visit.expire()
    with visit.lock:
        return dict(visit.runs)


def available_models() -> dict[str, tuple[str, str, str]]:
    """Return the models to choose from by name: those of the server and the user's own."""
    models = [trained.Trained(name) for name in own_runs()]
    # with a full disk some are missing, which Train reports when it saves
    return registry.available([*models, registry.get_source(recording())])


def add_run(folder: Path) -> UserRun:
    """Add a saved run, in a folder of `new_folder`, to the user's models.

    Raises:
        WeightsFileError: the folder holds no valid run.
    """
    return _ensure_visit().add(folder, saved.read(folder), is_imported=True)


def open_recording(content: bytes) -> str:
    """Store a recording in place of the earlier one, and return its name.

    Raises:
        HeadlightError: it is not a valid recording.
    """
    recordings.parse_recording(content)
    _store_upload(recordings.KIND, content)
    return recording()


def recording() -> str:
    """Return the name of the user's recording, "" without one."""
    name = _data().get(recordings.KIND)
    return f"{recordings.PREFIX}{name}" if name else ""


def open_media(kind: str, content: bytes) -> None:
    """Store a "picture" or "sound" in place of the earlier one. Raises a HeadlightError for an invalid one."""
    ALBUMS[kind].read(content)
    _store_upload(kind, content)


def media() -> dict[str, str]:
    """Return the names of the user's picture and sound, "" without one."""
    return {kind: album.data_name(_data().get(kind)) for kind, album in ALBUMS.items()}


def _store_upload(kind: str, content: bytes) -> None:
    with _ensure_visit().replace_upload(TrainingData(kind, content)):
        pass


def new_folder() -> Path:
    """Create an empty folder that is deleted with the visit. Raises a HeadlightError."""
    folder = _ensure_visit().folder / secrets.token_hex(8)
    with convert_write_errors():
        folder.mkdir()
    return folder


def job() -> TrainingJob | None:
    """Return the current or last training job, None before the first."""
    visit = _visit()
    return visit.jobs[-1] if visit is not None and visit.jobs else None


def job_on(task: str) -> TrainingJob | None:
    """Return the current or last training job if it is of this task, None otherwise."""
    present = job()
    return present if present is not None and present.plan.recipes[0].task == task else None


def start(plan: TrainingPlan) -> TrainingJob:
    """Start a training job and stop the user's earlier one.

    Raises:
        HeadlightError: as in `TrainingJob.start` and `new_folder`; then the earlier job continues.
    """
    visit = _ensure_visit()
    visit.register_finished()
    with visit.replace_upload(plan.data) if plan.data is not None else nullcontext():
        training = TrainingJob(plan, new_folder(), client(), visit.connection_check).start()
    with visit.lock:
        if visit.jobs:
            visit.jobs[-1].stop()
        visit.jobs.append(training)
    return training


def visit_name() -> str:
    """Return the name by which the browser finds this visit again, "" before there is anything to find."""
    visit = _visit()
    return "" if visit is None else visit.persist()


def resume(name: object) -> bool:
    """Resume the visit with a name that the browser has stored, which is unchecked; return whether there is one.

    A session that already has a visit keeps it. Raises as `visit.find` does.
    """
    if _visit() is not None:
        return True
    visit = find_workspace(name, address())
    if visit is None:
        return False
    _join(visit)
    return True


def notices() -> list[str]:
    """Return notices about a visit that was resumed from another server, each once."""
    visit = _visit()
    if visit is None:
        return []
    messages, visit.notices = visit.notices, []
    return list(dict.fromkeys(messages))


def uploads() -> dict[str, bytes]:
    """Return the uploaded training data of this visit by their kinds."""
    excluded = (recordings.KIND, *ALBUMS)
    contents = {kind: store.read("data", name) for kind, name in _data().items() if kind not in excluded}
    return {kind: content for kind, content in contents.items() if content is not None}


def _data() -> Mapping[str, str]:
    """Return the uploads of this visit: kind -> name in the store."""
    visit = _visit()
    return {} if visit is None else visit.data


def _visit() -> Workspace | None:
    """Return the visit of this session, None if it has ended."""
    visit: Workspace | None = st.session_state.get("training_visit")
    if visit is None or not visit.end.alive:
        return None
    st.session_state["training_tab"].socket = _socket()  # it changes when the browser reconnects
    return visit


def _socket() -> str:
    """Return the key of this tab's connection, "" without a server."""
    return st.context.headers.get(sockets.KEY, "") if runtime.exists() else ""


def _ensure_visit() -> Workspace:
    return _visit() or _join(Workspace(address()))


def _join(visit: Workspace) -> Workspace:
    """Add this session to the tabs of a visit."""
    tab = st.session_state["training_tab"] = Tab(_socket())
    visit.tabs.add(tab)
    st.session_state["training_visit"] = visit
    return visit
