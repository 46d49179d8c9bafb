"""The store that servers share, a folder or a bucket: what one keeps another finds, whatever is wrong with it."""

from __future__ import annotations

import errno
import io
import logging
import os
import re
import stat
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from fsspec.implementations.memory import MemoryFileSystem  # type: ignore[import-untyped]

from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.training import saved
from pages.kit.draw.web import API
from pages.kit.frame import own_models
from pages.kit.jobs import kept, visitor
from pages.kit.jobs import visit as visits
from pages.kit.jobs.training import TrainingData
from pages.kit.picture import models
from pages.kit.server import store, store_bucket
from pages.kit.server.queue import Queue
from pages.kit.server.store_bucket import Away, Bucket
from pages.kit.server.store_folder import Folder
from pages.kit.wire.routes import Wire
from pages.train import page

from .test_visitor import Visitor, add
from .test_wire import served

NAME = "A" * 22
ANY = re.compile(r"\w+\.(?:model|visit)")
ADDRESS = "memory://class/headlight"
HOUR = 3600.0


@pytest.fixture(autouse=True)
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a store that is made when it is first used."""
    folder = tmp_path / "shared" / "store"
    monkeypatch.setenv(store.VARIABLE, str(folder))
    yield folder
    visits.end_all()


def comes_back(name: str) -> list[str]:
    """Opens Train in a browser that has kept this name; what is said then."""
    page.come_back(name)
    return list(st.session_state["said_by_callbacks"])


def offered(one: Visitor) -> list[str]:
    return list(one.asks(own_models.offered))


def test_a_file_is_kept_for_its_user_until_it_is_forgotten(shared: Path) -> None:
    name = store.keep("film", b"content")
    assert store.NAME.fullmatch(name)
    assert (store.has("film", name), store.read("film", name)) == (True, b"content")
    assert (store.has("model", name), store.read("model", name)) == (False, None)
    (file,) = shared.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for _ in range(2):
        store.forget("film", name)
    assert not list(shared.iterdir())
    for name in ("", "x", "../" * 7 + "x", "x" * 21 + "/", "x" * 21 + "\n", "é" * 22):
        assert (store.has("model", name), store.read("model", name)) == (False, None), name


def test_it_is_bounded_and_the_oldest_go_first(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [store.keep("film", b"x" * 40) for _ in range(4)]
    for age, name in enumerate(reversed(names)):
        os.utime(shared / f"{name}.film", (time.time() - 100 * age,) * 2)
    others = [shared / name for name in ("somebody-elses", "my.model", "my.data", "download.part", f"{NAME}.modell")]
    half_written = shared / f"{'0' * 16}.part"
    for file in (*others, half_written):
        file.touch()
        os.utime(file, (0, 0))
    for most, there in ((store.MOST_BYTES, [False, True, True, True]), (100, [False, False, True, True])):
        monkeypatch.setattr(store, "MOST_BYTES", most)
        store.sweep(250)
        assert [store.has("film", name) for name in names] == there
    assert all(file.exists() for file in others)
    assert not half_written.exists()


def test_a_visit_goes_on_at_another_server(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its models under their names, and its data; a link to one of them works before its visitor has come back."""
    here, there = Visitor(), Visitor()
    run = here.asks(lambda: add(shipped / "who-none-1"))
    data = TrainingData("csv", b"text,label\n")
    name = here.asks(visitor.name)
    begun = visits.find(name)
    assert begun
    with begun.bring(data):
        pass
    assert offered(here)[-1] == run.id
    visits.end_all()  # the server
    with served(Wire(queue=Queue())) as client:
        assert client.get(f"{API}/focus?model={run.id}").status_code == 200
    assert there.asks(lambda: comes_back(name)) == [visits.TAKEN_UP]
    assert there.asks(visitor.notices) == []
    again = there.asks(visitor.own_runs)
    assert {own.id: own.label for own in again.values()} == {run.id: run.label}
    assert again[run.id].folder != run.folder
    assert there.asks(visitor.brought) == {"csv": data.content}
    assert there.asks(visitor.name) == name
    assert visits.find(name) is visits.find(name)
    there.leaves()  # what was left there goes on where its visitor is
    monkeypatch.setattr(visits, "KEPT_SECONDS", -1.0)
    visits.sweep()
    assert not again[run.id].folder.exists()
    found = visits.find(name)
    assert found
    assert list(found.runs) == [run.id]


def test_two_servers_have_a_tab_of_one_visit_and_what_is_missing_is_kept_again(shipped: Path) -> None:
    one = Visitor()
    run = one.asks(lambda: add(shipped / "who-none-1"))
    name = one.asks(lambda: own_models.offered() and visitor.name())
    other = store.keep("model", saved.pack(shipped / "who-rotary-1"))
    kept.add(name, [other], {})
    second = one.asks(lambda: add(shipped / "food-learned-1"))
    offered(one)
    assert kept.read(name).runs == [run.id, other, second.id]
    store.forget("model", other)
    kept.add(name, [], {"text": NAME})
    assert kept.read(name) == kept.KeptNames([run.id, second.id], {"text": NAME})
    store.forget("model", run.id)
    visits.sweep()
    assert models.is_there(run.id)


@pytest.mark.faults
def test_an_unforeseen_error_takes_nothing_from_a_visit(shipped: Path) -> None:
    """Neither where it is taken up, nor from those that are swept or kept after it."""

    def fails(*_: object) -> None:
        raise KeyError

    name = store.keep("model", saved.pack(shipped / "who-none-1"))
    kept.add(NAME, [name], {})
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(saved, "unpack", fails)
        with pytest.raises(KeyError):
            visits.find(NAME)
    found = visits.find(NAME)
    assert found
    assert list(found.runs) == [name]
    runs = [Visitor().asks(lambda: add(shipped / "who-none-1")) for _ in range(2)]
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(kept, "add", fails)
        visits.sweep()
        visits.wind_up(0)
    assert all(models.is_there(run.id) for run in runs)


def test_without_others_all_goes_with_the_server(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(store.VARIABLE)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    one = Visitor()
    run = one.asks(lambda: add(shipped / "who-none-1"))
    name = one.asks(lambda: own_models.offered() and visitor.name())
    assert models.is_there(run.id)
    visits.end_all()
    assert not models.is_there(run.id)
    assert visits.find(name) is None
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


@pytest.mark.faults
def test_a_disk_that_is_full_or_cannot_be_written_or_a_clock_that_is_set(
    shared: Path, shipped: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that could not be kept is offered as soon as it could; nothing half written is left."""
    # a sweep a year from now deletes what all other servers, and tests, have in the temporary folder
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("visits")))
    one = Visitor()
    run = one.asks(lambda: add(shipped / "who-none-1"))

    def fails(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(Path, "write_bytes", fails)
        with pytest.raises(HeadlightError, match="disk is full or cannot be written; try again later"):
            store.keep("film", b"content")
        assert run.id not in offered(one)
        assert list(one.asks(visitor.own_runs)) == [run.id]
    assert not list(shared.iterdir())
    visits.sweep()
    assert run.id in offered(one)
    for where, name, kind, why in (
        (Path, "write_bytes", WeightsFileError, "nothing can be written here .No space left on device"),
        (tempfile, "mkdtemp", HeadlightError, "try again later"),
    ):
        with pytest.MonkeyPatch.context() as broken:
            broken.setattr(where, name, fails)
            with pytest.raises(kind, match=why), models.opened(run.id):
                pass
    now, year = time.time(), 366 * 24 * 3600.0
    for clock in (now - year, now + year):  # the times of a visit are those of a clock that nobody sets
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(time, "time", lambda clock=clock: clock)
            visits.sweep()
            assert run.folder.is_dir()
            assert run.id in offered(one)


@pytest.mark.faults
def test_a_model_that_cannot_be_read_is_refused_and_costs_a_visit_no_other(shipped: Path) -> None:
    newer = io.BytesIO()
    with zipfile.ZipFile(newer, "w") as archive:
        for file in (shipped / "who-none-1").iterdir():
            archive.writestr(file.name, file.read_bytes().replace(b'"headlight run 1"', b'"headlight run 2"'))
    whole = store.keep("model", saved.pack(shipped / "who-rotary-1"))
    no_zip = "this is no zip file of a saved run"
    for number, (content, says) in enumerate(
        {
            saved.pack(shipped / "who-none-1")[:-200]: no_zip,
            newer.getvalue(): "a newer version of Headlight wrote it",
            b"": no_zip,
        }.items()
    ):
        name, visit = store.keep("model", content), f"{number}{NAME[1:]}"
        with served(Wire(queue=Queue())) as client:
            answer = client.get(f"{API}/focus?model={name}")
        assert answer.status_code == 422
        assert says in answer.text
        kept.add(visit, [name, whole], {})
        found = visits.find(visit)
        assert found
        assert list(found.runs) == [whole]
        assert len(found.notices) == 2
        assert says in found.notices[1]


@pytest.mark.faults
def test_a_visit_that_cannot_be_read_is_reported_and_left_alone() -> None:
    """As when two versions of Headlight stand behind one address."""
    form = '{"format": "headlight visit %d", "runs": %s, "data": %s}'
    texts = ["", "[" * 100_000, "[]", "null", form % (1, '["../x"]', "{}"), form % (1, "[1]", "{}")]
    for content in (b"\xff", *map(str.encode, [*texts, form % (1, "[]", "[]"), form % (2, "[]", "{}")])):
        store.keep("visit", content, NAME)
        assert Visitor().asks(lambda: comes_back(NAME)) == [
            "Another version of Headlight keeps what was trained here, or it is damaged."
        ], content
        with pytest.raises(HeadlightError, match="another version"):
            kept.add(NAME, [], {})
        assert store.read("visit", NAME) == content


# ---- a store in a bucket: one that is away or slow costs one wait


@pytest.fixture
def files() -> Iterator[MemoryFileSystem]:
    files = MemoryFileSystem()
    files.store.clear()
    yield files
    files.store.clear()


def server(place: Path, clock: Callable[[], float] = lambda: 0.0) -> Bucket:
    return Bucket(ADDRESS, Folder(place), changes=".visit", clock=clock)


def test_what_one_server_keeps_another_finds(tmp_path: Path, files: MemoryFileSystem) -> None:
    one, other = server(tmp_path / "one"), server(tmp_path / "other")
    one.write("a.model", b"weights")
    one.write("v.visit", b"first")
    assert (other.has("a.model"), other.has("b.model")) == (True, False)
    assert (other.read("a.model"), other.read("v.visit"), other.read("b.model")) == (b"weights", b"first", None)
    one.write("v.visit", b"second")
    assert other.read("v.visit") == b"second"
    (tmp_path / "file").touch()
    full = server(tmp_path / "file")  # which is no folder: a full disk beside it takes nothing away
    assert full.has("a.model")
    assert full.read("a.model") == b"weights"
    with pytest.raises(FileExistsError):
        full.write("b.model", b"more")
    files.rm_file("/class/headlight/a.model")  # what never changes is read once
    assert other.read("a.model") == one.read("a.model") == b"weights"
    for _ in range(2):
        other.forget("a.model")
    assert not server(tmp_path / "third").has("a.model")


@pytest.mark.parametrize("how", ["refuses", "slow"])
def test_a_bucket_that_gives_no_answer(
    files: MemoryFileSystem,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    how: str,
) -> None:
    """Nobody waits for it twice; what is kept meanwhile is there, and goes to it once it answers."""
    asked, goes_on = list[str](), threading.Event()

    def away(self: Any, path: str, *more: Any, **options: Any) -> None:
        asked.append(path)
        if how == "refuses":
            raise PermissionError(path)
        goes_on.wait()

    now = [1000.0]
    one = server(tmp_path / "one", lambda: now[0])
    with monkeypatch.context() as broken, caplog.at_level(logging.WARNING):
        broken.setattr(store_bucket, "WAIT_SECONDS", 0.05)
        for name in ("exists", "cat_file", "pipe_file", "ls", "rm_file"):
            broken.setattr(MemoryFileSystem, name, away)
        assert not one.has("a.model")
        for _ in range(3):
            assert one.read("a.model") is None
        one.write("b.model", b"mine")
        assert one.read("b.model") == b"mine"
        with pytest.raises(Away):  # an older list of a visit in place of its newer one
            one.read("v.visit")
        with pytest.raises(Away):
            one.write("v.visit", b"older")
        assert len(asked) == 1
        assert [record.getMessage() for record in caplog.records] == [
            f"the store memory:// gives no answer ({'PermissionError' if how == 'refuses' else 'TimeoutError'}); "
            "it is asked again in a while"
        ]
        now[0] += store_bucket.REST_SECONDS
        assert not one.has("a.model")
        assert len(asked) == 2
        goes_on.set()
    other = server(tmp_path / "other")
    assert not other.has("b.model")
    other.write("v.visit", b"newer")
    now[0] += store_bucket.REST_SECONDS
    one.sweep(ANY, HOUR, 1000)
    assert other.read("b.model") == b"mine"
    assert one.read("v.visit") == b"newer"


def test_the_old_and_the_oldest_go_and_what_is_no_file_of_ours_stays(tmp_path: Path, files: MemoryFileSystem) -> None:
    one, other, notes = server(tmp_path / "one"), server(tmp_path / "other"), "/class/headlight/notes.txt"
    for name in ("a.model", "b.model"):
        one.write(name, b"1234")
    files.pipe_file(notes, b"1234")
    other.sweep(ANY, HOUR, 1000)
    assert one.has("a.model")
    other.sweep(ANY, HOUR, 5)  # bytes, of which the two have 8
    assert len(files.ls("/class/headlight", detail=False)) == 2
    other.sweep(ANY, -1.0, 1000)
    assert files.ls("/class/headlight", detail=False) == [notes]


def test_the_store_is_a_bucket_where_its_address_says_so(
    files: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(store.VARIABLE, f"{ADDRESS}/{tmp_path.name}")
    name = store.keep("film", b"maps")
    assert store.is_shared()
    assert (store.has("film", name), store.read("film", name)) == (True, b"maps")
    assert files.cat_file(f"/class/headlight/{tmp_path.name}/{name}.film") == b"maps"
    store.forget("film", name)
    assert not store.has("film", name)

    def away(*_: object) -> None:
        raise Away

    monkeypatch.setattr(Bucket, "read", away)
    with pytest.raises(HeadlightError, match="cannot be reached for a moment"):
        store.read("visit", name)
