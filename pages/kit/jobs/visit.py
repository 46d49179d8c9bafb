"""A visit: the present training, and the runs that it left.

It goes with its session, unless the visitor's browser was told its name. Then it stays for two hours after the last tab
has gone, so that a page that is loaded anew finds it. What visits leave behind is bounded, and the address that leaves
the most gives way first.
"""

import os
import re
import secrets
import shutil
import tempfile
import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mha_core.training.events import History
from pages.kit.server import sockets, store

from .training import TrainingJob, writing

KEPT_SECONDS = 2 * 3600.0
MOST_OWN = 120  # runs, and
MOST_MAPS = 64 * 2**20  # bytes of their snapshots; the oldest go first
MOST_LEFT = 100  # visits that nobody is connected to, and
MOST_LEFT_BYTES = 512 * 2**20  # of all their maps and files
SWEEP_SECONDS = 60.0
STRAY_SECONDS = 2 * KEPT_SECONDS  # then no other server of this machine can need a folder any more
PREFIX = "headlight-visit-"
NAME = re.compile(r"[\w-]{22}", re.ASCII)


@dataclass(frozen=True)
class OwnRun:
    """A trained model of this visitor.

    Attributes:
        id: its name in a link; nobody can guess it, and in any other visit it means nothing.
        folder: as `load_model` takes it.
        added_at: on the clock of `time.monotonic`.
        opened: it came out of a file.
    """

    id: str
    label: str
    folder: Path
    history: History
    added_at: float
    opened: bool = False


@dataclass(eq=False)
class Tab:
    """One tab of a visitor; its session holds it, so that it goes with that. socket: the key of its connection."""

    socket: str = ""

    def is_open(self) -> bool:
        """Tells whether it is connected. Without a server every one is."""
        return not self.socket or self.socket in sockets.connected


class Visit:
    """A visitor's folder and all that needs it. Raises a HeadlightError when the folder cannot be made.

    Args:
        address: of the machine that leaves it behind.
    """

    def __init__(self, address: str = "") -> None:
        with writing():
            self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # for this user alone
        self.name = secrets.token_urlsafe(16)  # 128 random bits: who knows them is its visitor
        self.address = address
        self.tabs: weakref.WeakSet[Tab] = weakref.WeakSet()
        self.seen_at = time.monotonic()
        self.jobs: list[TrainingJob] = []  # the present one is the last
        self.runs: dict[str, OwnRun] = {}
        self.lock = threading.RLock()
        self.end = weakref.finalize(self, _delete, self.folder, self.jobs)
        self._collected: set[Path] = set()
        with _listing:
            _visits.add(self)
        _start_sweeping()

    def tell(self) -> str:
        """Its name, for the browser of its visitor alone: from now on it outlives the session."""
        self.seen_at = time.monotonic()
        with _listing:
            if self.end.alive:
                _told[self.name] = self
        return self.name

    def is_here(self) -> bool:
        """Tells whether one of the visitor's tabs is connected."""
        return any(tab.is_open() for tab in list(self.tabs))

    @property
    def heard(self) -> Callable[[], bool]:
        """The same question, asked by a job: it holds no visit, so that one can go."""
        own = weakref.ref(self)

        def is_here() -> bool:
            visit = own()
            return visit is not None and visit.is_here()

        return is_here

    def collect(self) -> None:
        """Adds the runs that the jobs have saved by now."""
        with self.lock:
            for training in self.jobs:
                for number, folder in enumerate(training.record.saved):
                    if folder is not None and folder not in self._collected:
                        self.add(folder, training.record.history(number))
            self.jobs[:-1] = [training for training in self.jobs[:-1] if not training.over]

    def add(self, folder: Path, history: History, *, opened: bool = False) -> OwnRun:
        run = OwnRun(secrets.token_urlsafe(16), _label(history), folder, history, time.monotonic(), opened)
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
                    store.forget("model", run.id)
                    shutil.rmtree(run.folder, ignore_errors=True)

    @property
    def size(self) -> int:
        """Bytes of its maps and files."""
        with self.lock:
            histories = [run.history for run in self.runs.values()]
            held = sum(training.record.held for training in self.jobs)
        held += sum(len(shot.maps) for history in histories for shot in history.snapshots)
        for path in self.folder.rglob("*"):
            with suppress(OSError):  # it is gone already
                held += path.lstat().st_size
        return held


_visits: weakref.WeakSet[Visit] = weakref.WeakSet()
_told: dict[str, Visit] = {}  # by the names that browsers know
_listing = threading.Lock()  # of the visits


def find(name: object) -> Visit | None:
    """The visit of that name, whatever a browser says it is; None when there is none any more."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        return None
    with _listing:
        return _told.get(name)


def end_all() -> None:
    """Ends every visit, with all that it trains and has trained."""
    with _listing:
        visits = list(_visits)
        _told.clear()
    for visit in visits:
        visit.end()


def sweep() -> None:
    """Deletes old runs, visits that were left, and the folders of those whose server was killed before it could."""
    with _listing:
        visits = list(_visits)
    for visit in visits:
        visit.drop_old()
    _sweep_left()
    store.sweep(STRAY_SECONDS)
    known, latest = {visit.folder for visit in visits}, time.time() - STRAY_SECONDS
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # it is gone already
            status = folder.lstat()
            mine = not hasattr(os, "getuid") or status.st_uid == os.getuid()
            if folder not in known and mine and status.st_mtime < latest:
                shutil.rmtree(folder, ignore_errors=True)  # never through a link


def _sweep_left() -> None:
    """Ends the visits that were left too long ago, and the oldest beyond what may be left in all."""
    with _listing:
        told = list(_told.values())
    now, left = time.monotonic(), list[Visit]()
    for visit in told:
        if visit.is_here():
            visit.seen_at = now
        elif visit.seen_at < now - KEPT_SECONDS:
            _forget(visit)
        else:
            left.append(visit)
    shares = {visit: max(1 / MOST_LEFT, visit.size / MOST_LEFT_BYTES) for visit in left}
    while sum(shares.values()) > 1 + 1e-9:
        of_address: defaultdict[str, float] = defaultdict(float)
        for visit, share in shares.items():
            of_address[visit.address] += share
        most = max(of_address, key=of_address.__getitem__)
        oldest = min((visit for visit in shares if visit.address == most), key=lambda visit: visit.seen_at)
        del shares[oldest]
        _forget(oldest)


def _forget(visit: Visit) -> None:
    """Ends a visit that nobody will come back to."""
    with _listing:
        _told.pop(visit.name, None)
    visit.end()


def _label(history: History) -> str:
    """The words that tell a run from its neighbours."""
    recipe = history.recipe
    title = history.start.title if history.start else recipe.task
    return f"{title}: {recipe.position}, {recipe.implementation}, seed {recipe.seed}"


def _delete(folder: Path, jobs: Iterable[TrainingJob]) -> None:
    """Deletes a visit: when its session is dropped, when it was left too long ago, or when this process ends."""
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
