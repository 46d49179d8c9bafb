"""Workspaces: the trainings of a user, the runs that they saved, and uploaded data.

A workspace ends with its session, unless the browser has got its name (`persist`): then it stays for two hours after
the last tab has disconnected, so that a reloaded page finds it. Detached workspaces are bounded in all, and the client
address with the most of them loses its oldest first. The store has a copy of the runs and a list of them, so that
another server can resume a workspace.
"""

import hashlib
import json
import logging
import os
import secrets
import shutil
import tempfile
import threading
import time
import weakref
from base64 import urlsafe_b64encode
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headlight.registry import trained
from headlight.server import sockets, store
from mha_core.errors import HeadlightError
from mha_core.training import saved
from mha_core.training.events import History
from mha_core.training.tasks import TrainingData

from .training import TrainingJob, active_jobs, convert_write_errors

TTL_SECONDS = 2 * 3600.0
MAX_RUNS = 120  # of a workspace; beyond, the oldest are deleted
MAX_MAPS = 64 * 2**20  # bytes of their snapshots; likewise
MAX_DETACHED = 100  # workspaces without a connected tab
MAX_DETACHED_BYTES = 512 * 2**20  # of all their maps and files
SWEEP_SECONDS = 60.0
SHUTDOWN_SECONDS = 9.0  # until the processes are killed when the server stops, as no user waits for a response
STRAY_SECONDS = 2 * TTL_SECONDS  # age at which no other server of this machine can still need a folder
PREFIX = "headlight-visit-"
NAME = store.NAME
FORMAT = "headlight visit 1"
MAX_STORED_RUNS = 200  # the newest, listed in the store
RESUMED = "Your trainings continued from another server, with all that was saved there."


@dataclass(frozen=True)
class UserRun:
    """A trained model of the user.

    Attributes:
        id: its unguessable name in a link.
        label: its title.
        folder: its folder, for `load_model`.
        history: the history of its training.
        added_at: time by `time.monotonic`.
        is_imported: True if it came from a file or from another server.
    """

    id: str
    label: str
    folder: Path
    history: History
    added_at: float
    is_imported: bool = False


@dataclass(eq=False)
class Tab:
    """A browser tab, held only by its session. socket: key of its connection, "" without a server."""

    socket: str = ""

    def is_open(self) -> bool:
        """Return whether the tab is connected; True without a server."""
        return not self.socket or self.socket in sockets.open_connections


class Workspace:
    """A user's temporary folder with all trainings and runs.

    Args:
        address: address of the client.
        name: name of a workspace of another server that is resumed here.

    Raises:
        HeadlightError: the folder cannot be created.
    """

    def __init__(self, address: str = "", name: str = "") -> None:
        with convert_write_errors():
            self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # readable only by the server's user
        self.name = name or secrets.token_urlsafe(16)  # 128 random bits, a secret
        self.address = address
        self.notices: list[str] = []  # sentences on what was resumed
        self.tabs: weakref.WeakSet[Tab] = weakref.WeakSet()
        self.seen_at = time.monotonic()
        self.jobs: list[TrainingJob] = []  # the latest is the last
        self.runs: dict[str, UserRun] = {}
        self.data: dict[str, str] = {}  # uploads: kind -> name in the store
        self.lock = threading.RLock()
        self.end = weakref.finalize(self, _delete, self.folder, self.jobs, self.name, self.runs, self.data)
        self._registered: set[Path] = set()
        self._stored_names: object = None  # the names that were last saved to the store
        with _lock:
            _workspaces.add(self)
        start_sweeping()

    def persist(self) -> str:
        """Make the workspace outlive its session; return its name, a secret of the user's browser."""
        self.seen_at = time.monotonic()
        with _lock:
            if self.end.alive:
                _by_name[self.name] = self
        return self.name

    def is_connected(self) -> bool:
        """Return whether one of the user's tabs is connected."""
        return any(tab.is_open() for tab in list(self.tabs))

    @property
    def connection_check(self) -> Callable[[], bool]:
        """`is_connected` for a job; it holds only a weak reference to the workspace."""
        reference = weakref.ref(self)
        return lambda: (workspace := reference()) is not None and workspace.is_connected()

    def register_finished(self, *, check: bool = False) -> None:
        """Register the runs that the jobs have saved so far; `check`: restore what the store has lost."""
        with self.lock:
            for training in self.jobs:
                for number, folder in enumerate(training.record.saved):
                    if folder is not None and folder not in self._registered:
                        self.add(folder, training.record.history(number))
            self.jobs[:-1] = [training for training in self.jobs[:-1] if not training.is_finished]
            names = list(self.runs), dict(self.data)
            if check or names != self._stored_names:
                self._stored_names = names
                with suppress(HeadlightError):  # the next sweep retries
                    self.save_to_store()

    def add(self, folder: Path, history: History, *, is_imported: bool = False, name: str = "") -> UserRun:
        """Add a saved run to the models, with a new id unless `name` is one."""
        run_id, label = name or secrets.token_urlsafe(16), trained.about(history).title
        run = UserRun(run_id, label, folder, history, time.monotonic(), is_imported)
        with self.lock:
            self.runs[run.id] = run
            self._registered.add(folder)
        return run

    @contextmanager
    def replace_upload(self, data: TrainingData) -> Iterator[None]:
        """Store uploaded data during the with block; then delete the previous upload, or after an error the new one.

        Raises:
            HeadlightError: the data cannot be written.
        """
        digest = hashlib.blake2b(data.content, key=self.name.encode(), digest_size=16).digest()
        name = urlsafe_b64encode(digest).decode()[:22]
        if not store.has("data", name):
            store.put("data", data.content, name)
        try:
            yield
        except BaseException:
            if name not in self.data.values():
                store.delete("data", name)
            raise
        with self.lock:
            previous, self.data[data.kind] = self.data.get(data.kind, name), name
        if previous != name:
            store.delete("data", previous)

    def save_to_store(self) -> None:
        """Save to the store what another server needs to resume the workspace.

        Raises:
            HeadlightError: it cannot be written.
        """
        with self.lock, convert_write_errors():
            for run in self.runs.values():
                if run.folder.is_dir():
                    trained.save_to_store(run.id, run.folder)
            save_names(self.name, self.runs, self.data)

    def expire(self) -> None:
        """Delete runs older than `TTL_SECONDS`, and the oldest beyond `MAX_RUNS` or `MAX_MAPS`."""
        latest, number, size = time.monotonic() - TTL_SECONDS, 0, 0
        with self.lock:
            for run in reversed(list(self.runs.values())):
                number, size = number + 1, size + run.history.snapshot_bytes
                beyond = number > MAX_RUNS or size > MAX_MAPS
                if beyond or run.added_at < latest:
                    del self.runs[run.id]
                    if beyond or not store.is_shared():  # otherwise another server may use it
                        store.delete("model", run.id)
                    shutil.rmtree(run.folder, ignore_errors=True)

    @property
    def size(self) -> int:
        """Bytes of its snapshots and files."""
        with self.lock:
            size = sum(training.record.snapshot_bytes for training in self.jobs)
            size += sum(run.history.snapshot_bytes for run in self.runs.values())
        for path in self.folder.rglob("*"):
            with suppress(OSError):  # it was deleted meanwhile
                size += path.lstat().st_size
        return size


_workspaces: weakref.WeakSet[Workspace] = weakref.WeakSet()
_by_name: dict[str, Workspace] = {}  # persistent workspaces by name
_lock = threading.Lock()  # of the two above
_resume_lock = threading.Lock()  # two tabs may resume one workspace at the same time


def find_workspace(name: object, address: str = "") -> Workspace | None:
    """Return the workspace of a name that a browser has sent; None if it does not exist.

    Raises:
        HeadlightError: another version of Headlight has stored it, or it cannot be resumed now.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        return None
    workspace = _by_name.get(name)
    if workspace:
        return workspace
    with _resume_lock:
        return _by_name.get(name) or _resume(name, address)  # another tab may have resumed it meanwhile


def _resume(name: str, address: str) -> Workspace | None:
    """Return the workspace of another server; None if the store has none of this name."""
    stored, data = load_names(name)
    runs = [run for run in stored if store.has("model", run)]
    if not runs:
        return None
    workspace = Workspace(address, name)
    try:
        workspace.data.update(data)
        workspace.notices = [RESUMED]
        for number, run in enumerate(runs):
            folder = workspace.folder / f"resumed-{number}"
            try:
                workspace.add(folder, saved.unpack(trained.Trained(run).to_zip(), folder), is_imported=True, name=run)
            except HeadlightError as error:
                workspace.notices.append(f"One of your trained models cannot be opened: {error}.")
    except BaseException:
        _detach(workspace)
        raise
    workspace.persist()
    return workspace


Names = tuple[list[str], dict[str, str]]  # in the store, of a workspace: its runs, oldest first, and its data by kind


def load_names(workspace: str) -> Names:
    """Return the stored names of a workspace; none if it is not in the store.

    Raises:
        HeadlightError: the list cannot be read.
    """
    content = store.read("visit", workspace)
    if content is None:
        return [], {}
    try:
        document = json.loads(content)
        runs, data = [*document["runs"]][-MAX_STORED_RUNS:], {**document["data"]}
        if document["format"] != FORMAT or not all(map(store.NAME.fullmatch, [*runs, *data.values()])):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise HeadlightError("your list of trainings is damaged, or of another version of Headlight") from None
    return runs, data


def save_names(workspace: str, runs: Iterable[str], data: Mapping[str, str]) -> None:
    """Merge names into those of the store, which another server may have changed, and drop deleted runs.

    Raises:
        HeadlightError: the list cannot be read or written.
    """
    stored_runs, stored_data = load_names(workspace)
    available = [run for run in dict.fromkeys([*stored_runs, *runs]) if store.has("model", run)]
    document = {"format": FORMAT, "runs": available, "data": {**stored_data, **data}}
    if available and document != {"format": FORMAT, "runs": stored_runs, "data": stored_data}:
        store.put("visit", json.dumps(document).encode(), workspace)


def shut_down(seconds: float) -> None:
    """Shut down all jobs within so many seconds, and save their runs to the store for other servers."""
    end = time.monotonic() + seconds
    jobs = active_jobs()
    for job in jobs:
        job.stop(SHUTDOWN_SECONDS)
    for job in jobs:
        job.join(max(0.0, end - time.monotonic()))
    with _lock:
        workspaces = list(_workspaces)
    for workspace in workspaces:
        _register_finished(workspace)


def end_all() -> None:
    """End all workspaces with their jobs and runs, except for what other servers can resume from the store."""
    with _lock:
        workspaces, persistent = list(_workspaces), list(_by_name.values())
    for workspace in persistent:
        _discard(workspace)
    for workspace in workspaces:
        workspace.end()


def sweep() -> None:
    """Delete old runs, old detached workspaces, and the folders that killed servers left behind."""
    with _lock:
        workspaces = list(_workspaces)
    store.sweep(STRAY_SECONDS)  # first: the live workspaces then save again what the store found too old
    for workspace in workspaces:
        _register_finished(workspace)
        workspace.expire()
    _sweep_detached()
    folders, latest = {workspace.folder for workspace in workspaces}, time.time() - STRAY_SECONDS
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # it was deleted meanwhile
            status = folder.lstat()
            is_own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
            if folder not in folders and is_own and status.st_mtime < latest:
                shutil.rmtree(folder, ignore_errors=True)  # never through a link


def _sweep_detached() -> None:
    """End the workspaces that were detached too long ago, and the oldest beyond the bounds."""
    with _lock:
        workspaces = list(_by_name.values())
    now, left = time.monotonic(), list[Workspace]()
    for workspace in workspaces:
        if workspace.is_connected():
            workspace.seen_at = now
        elif workspace.seen_at < now - TTL_SECONDS:
            _discard(workspace)
        else:
            left.append(workspace)
    shares = {workspace: max(1 / MAX_DETACHED, workspace.size / MAX_DETACHED_BYTES) for workspace in left}
    while sum(shares.values()) > 1 + 1e-9:
        address_shares: defaultdict[str, float] = defaultdict(float)
        for workspace, share in shares.items():
            address_shares[workspace.address] += share
        busiest = max(address_shares, key=address_shares.__getitem__)
        oldest = min((left for left in shares if left.address == busiest), key=lambda left: left.seen_at)
        del shares[oldest]
        _discard(oldest)


def _discard(workspace: Workspace) -> None:
    """End a detached workspace; other servers can still resume it from a shared store."""
    with _lock:
        _by_name.pop(workspace.name, None)
    if store.is_shared():
        _detach(workspace)
    workspace.end()


def _register_finished(workspace: Workspace) -> None:
    """Register the finished runs of one of many workspaces: an error must not affect the others."""
    try:
        workspace.register_finished(check=True)
    except Exception as error:
        logging.getLogger(__name__).warning("A workspace could not be saved: %r", error)


def _detach(workspace: Workspace) -> None:
    """End a workspace in this process, but leave its part of the store to other servers."""
    if workspace.end.detach():
        _clear(workspace.folder, workspace.jobs)


def _delete(folder: Path, jobs: Iterable[TrainingJob], name: str, runs: Iterable[str], data: Mapping[str, str]) -> None:
    """Delete a workspace: finalizer of its session's reference, also called at the end of the process."""
    _clear(folder, jobs)
    for kind, names in (("visit", [name]), ("model", runs), ("data", data.values())):
        for key in names:
            store.delete(kind, key)


def _clear(folder: Path, jobs: Iterable[TrainingJob]) -> None:
    """End the jobs of a workspace and delete its folder."""
    for training in jobs:
        training.kill()
    shutil.rmtree(folder, ignore_errors=True)


@cache
def start_sweeping() -> None:
    """Start the thread that sweeps from now on."""

    def sweep_forever() -> None:
        while True:
            try:
                sweep()
            except Exception as error:
                logging.getLogger(__name__).warning("A sweep ended with an error: %r", error)
            time.sleep(SWEEP_SECONDS)

    threading.Thread(target=sweep_forever, name="sweeper", daemon=True).start()
