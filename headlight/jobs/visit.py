"""A visit: the present training, and the runs that it left.

It goes with its session, unless the visitor's browser was told its name. Then it stays for two hours after the last tab
has gone, so that a page that is loaded anew finds it. What visits leave behind is bounded, and the address that leaves
the most gives way first. The store has a copy of the runs and a list of them, so that another server takes a visit up.
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
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from headlight.registry import trained
from headlight.server import sockets, store
from mha_core.errors import HeadlightError
from mha_core.training import saved
from mha_core.training.events import History
from mha_core.training.tasks import TrainingData

from .job import under_way
from .training import TrainingJob, writing

KEPT_SECONDS = 2 * 3600.0
MAX_OWN = 120  # runs, and
MAX_MAPS = 64 * 2**20  # bytes of their snapshots; the oldest go first
MAX_LEFT = 100  # visits that nobody is connected to, and
MAX_LEFT_BYTES = 512 * 2**20  # of all their maps and files
SWEEP_SECONDS = 60.0
STRAY_SECONDS = 2 * KEPT_SECONDS  # then no other server of this machine can need a folder any more
PREFIX = "headlight-visit-"
NAME = store.NAME
FORMAT = "headlight visit 1"
MAX_NAMES = 200  # of runs in the store; the newest
TAKEN_UP = "The training that ran on another server is restored up to its last saved step."


@dataclass(frozen=True)
class OwnRun:
    """A trained model of this visitor.

    Attributes:
        id: its name in a link; nobody can guess it, and in any other visit it means nothing.
        folder: as `load_model` takes it.
        added_at: on the clock of `time.monotonic`.
        opened: it came out of a file, or from another server.
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
        name: of a visit that is taken up from another server.
    """

    def __init__(self, address: str = "", name: str = "") -> None:
        with writing():
            self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # for this user alone
        self.name = name or secrets.token_urlsafe(16)  # 128 random bits: who knows them is its visitor
        self.address = address
        self.notices: list[str] = []  # sentences on what was taken up
        self.tabs: weakref.WeakSet[Tab] = weakref.WeakSet()
        self.seen_at = time.monotonic()
        self.jobs: list[TrainingJob] = []  # the present one is the last
        self.runs: dict[str, OwnRun] = {}
        self.data: dict[str, str] = {}  # what was brought for the trainings: its kind -> its name in the store
        self.lock = threading.RLock()
        self.end = weakref.finalize(self, _delete, self.folder, self.jobs, self.name, self.runs, self.data)
        self._collected: set[Path] = set()
        self._shared: object = None  # what the store was last asked to hold
        with _listing:
            _visits.add(self)
        start_sweeping()

    def persist(self) -> str:
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
        return lambda: (visit := own()) is not None and visit.is_here()

    def register_finished(self, *, check: bool = False) -> None:
        """Adds the runs that the jobs have saved by now; `check`: asks the store for those that it held, too."""
        with self.lock:
            for training in self.jobs:
                for number, folder in enumerate(training.record.saved):
                    if folder is not None and folder not in self._collected:
                        self.add(folder, training.record.history(number))
            self.jobs[:-1] = [training for training in self.jobs[:-1] if not training.is_finished]
            wanted = list(self.runs), dict(self.data)
            if check or wanted != self._shared:
                self._shared = wanted
                with suppress(HeadlightError):  # the next sweep tries again
                    self.share()

    def add(self, folder: Path, history: History, *, opened: bool = False, name: str = "") -> OwnRun:
        """Makes a saved run one of the models; `name`: its id, where it has one."""
        run_id, label = name or secrets.token_urlsafe(16), trained.about(history).title
        run = OwnRun(run_id, label, folder, history, time.monotonic(), opened)
        with self.lock:
            self.runs[run.id] = run
            self._collected.add(folder)
        return run

    @contextmanager
    def replace_upload(self, data: TrainingData) -> Iterator[None]:
        """Keeps data from outside, for another server too; those before go when all went well inside.

        Raises:
            HeadlightError: they cannot be written.
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
            before, self.data[data.kind] = self.data.get(data.kind, name), name
        if before != name:
            store.delete("data", before)

    def share(self) -> None:
        """Has the store hold what another server would have to know. Raises a HeadlightError when it cannot."""
        with self.lock, writing():
            for run in self.runs.values():
                if run.folder.is_dir():
                    trained.keep(run.id, run.folder)
            keep_names(self.name, self.runs, self.data)

    def expire(self) -> None:
        """Deletes what is older than `KEPT_SECONDS`, and the oldest beyond `MAX_OWN` or `MAX_MAPS`."""
        latest, number, held = time.monotonic() - KEPT_SECONDS, 0, 0
        with self.lock:
            for run in reversed(list(self.runs.values())):
                number, held = number + 1, held + sum(len(shot.maps) for shot in run.history.snapshots)
                beyond = number > MAX_OWN or held > MAX_MAPS
                if beyond or run.added_at < latest:
                    del self.runs[run.id]
                    if beyond or not store.is_shared():  # it may be a new one of another server
                        store.delete("model", run.id)
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
_taking_up = threading.Lock()  # two tabs come back to one visit


def find(name: object, address: str = "") -> Visit | None:
    """The visit of that name, whatever a browser says it is; None when there is none any more.

    Raises:
        HeadlightError: another version of Headlight keeps it, or it cannot be taken up now.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        return None
    known = _told.get(name)
    if known:
        return known
    with _taking_up:
        return _told.get(name) or _taken_up(name, address)  # another tab may have come back meanwhile


def _taken_up(name: str, address: str) -> Visit | None:
    """The visit of another server; None when the store has none of this name."""
    known = kept_names(name)
    there = [run for run in known.runs if store.has("model", run)]
    if not there:
        return None
    visit = Visit(address, name)
    try:
        visit.data.update(known.data)
        visit.notices = [TAKEN_UP]
        for number, run in enumerate(there):
            folder = visit.folder / f"taken-up-{number}"
            try:
                visit.add(folder, saved.unpack(trained.Trained(run).packed(), folder), opened=True, name=run)
            except HeadlightError as error:
                visit.notices.append(f"A model trained earlier cannot be opened: {error}.")
    except BaseException:
        _leave(visit)
        raise
    visit.persist()
    return visit


@dataclass(frozen=True)
class KeptNames:
    """Names of the store: of runs in the order in which they were made, and of data by their kinds."""

    runs: list[str] = field(default_factory=list)
    data: dict[str, str] = field(default_factory=dict)


def kept_names(visit: str) -> KeptNames:
    """What is known of a visit; nothing of one that is not there.

    Raises:
        HeadlightError: what is there cannot be read.
    """
    content = store.read("visit", visit)
    if content is None:
        return KeptNames()
    try:
        said = json.loads(content)
        kept = KeptNames([*said["runs"]][-MAX_NAMES:], {**said["data"]})
        if said["format"] != FORMAT or not all(map(store.NAME.fullmatch, [*kept.runs, *kept.data.values()])):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise HeadlightError("the stored models belong to another version of Headlight, or are damaged") from None
    return kept


def keep_names(visit: str, runs: Iterable[str], data: Mapping[str, str]) -> None:
    """Adds to what is known; runs that are gone go. Another server may have added some meanwhile, for another tab.

    Raises:
        HeadlightError: as of `kept_names`, or it cannot be written.
    """
    known = kept_names(visit)
    there = [run for run in dict.fromkeys([*known.runs, *runs]) if store.has("model", run)]
    wanted = KeptNames(there, {**known.data, **data})
    if wanted != known and there:
        said = {"format": FORMAT, "runs": wanted.runs, "data": wanted.data}
        store.put("visit", json.dumps(said).encode(), visit)


def wind_up(seconds: float) -> None:
    """Ends every job with what it has done, within so many seconds, and keeps what was trained for other servers."""
    end = time.monotonic() + seconds
    jobs = under_way()
    for job in jobs:
        job.wind_up()
    for job in jobs:
        job.join(max(0.0, end - time.monotonic()))
    with _listing:
        visits = list(_visits)
    for visit in visits:
        _collect(visit)


def end_all() -> None:
    """Ends every visit, with all that it trains and has trained; what other servers can take up stays in the store."""
    with _listing:
        visits, told = list(_visits), set(_told)
        _told.clear()
    for visit in visits:
        if store.is_shared() and visit.name in told:
            _leave(visit)
        visit.end()


def sweep() -> None:
    """Deletes old runs, visits that were left, and the folders of those whose server was killed before it could."""
    with _listing:
        visits = list(_visits)
    store.sweep(STRAY_SECONDS)  # first: what is too old for the store alone is kept anew
    for visit in visits:
        _collect(visit)
        visit.expire()
    _sweep_left()
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
    shares = {visit: max(1 / MAX_LEFT, visit.size / MAX_LEFT_BYTES) for visit in left}
    while sum(shares.values()) > 1 + 1e-9:
        of_address: defaultdict[str, float] = defaultdict(float)
        for visit, share in shares.items():
            of_address[visit.address] += share
        most = max(of_address, key=of_address.__getitem__)
        oldest = min((visit for visit in shares if visit.address == most), key=lambda visit: visit.seen_at)
        del shares[oldest]
        _forget(oldest)


def _forget(visit: Visit) -> None:
    """Ends a visit that nobody will come back to here; another server may have it still."""
    with _listing:
        _told.pop(visit.name, None)
    if store.is_shared():
        _leave(visit)
    visit.end()


def _collect(visit: Visit) -> None:
    """As `visit.collect`, for many: the others' turn comes, whatever happens."""
    try:
        visit.register_finished(check=True)
    except Exception as error:
        logging.getLogger(__name__).warning("A visit could not be kept: %r", error)


def _leave(visit: Visit) -> None:
    """Ends what a visit has in this process, and leaves to other servers what it has in the store."""
    if visit.end.detach():
        _clear(visit.folder, visit.jobs)


def _delete(folder: Path, jobs: Iterable[TrainingJob], name: str, runs: Iterable[str], data: Mapping[str, str]) -> None:
    """Deletes a visit: when its session is dropped, when it was left too long ago, or when this process ends."""
    _clear(folder, jobs)
    for kind, names in (("visit", [name]), ("model", runs), ("data", data.values())):
        for own in names:
            store.delete(kind, own)


def _clear(folder: Path, jobs: Iterable[TrainingJob]) -> None:
    """Ends what a visit has in this process."""
    for training in jobs:
        training.kill()
    shutil.rmtree(folder, ignore_errors=True)


@cache
def start_sweeping() -> None:
    """Sweeps from now on, in one thread."""

    def sweep_for_ever() -> None:
        while True:
            try:
                sweep()
            except Exception as error:
                logging.getLogger(__name__).warning("A sweep ended with an error: %r", error)
            time.sleep(SWEEP_SECONDS)

    threading.Thread(target=sweep_for_ever, name="sweeper", daemon=True).start()
