"""The store that servers share: what one of them keeps another finds, whatever is wrong with the disk or the clock."""

from __future__ import annotations

import errno
import io
import os
import stat
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st

from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.training import saved
from pages.kit.draw.web import API
from pages.kit.frame import own_models
from pages.kit.jobs import kept, visitor
from pages.kit.jobs import visit as visits
from pages.kit.jobs.training import TrainingData
from pages.kit.picture import models
from pages.kit.server import store
from pages.kit.server.queue import Queue
from pages.kit.wire.routes import Wire
from pages.train import page

from .test_visitor import Visitor, add
from .test_wire import served

NAME = "A" * 22


@pytest.fixture(autouse=True)
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a store that is made when it is first asked for."""
    folder = tmp_path / "shared" / "store"
    monkeypatch.setenv(store.VARIABLE, str(folder))
    yield folder
    visits.end_all()


def comes_back(name: str) -> list[str]:
    """Opens Train in a browser that has kept this name; what is said then."""
    page.come_back(name)
    return list(st.session_state["said_by_callbacks"])


def another_version(run: Path, number: int) -> bytes:
    """The zip of a run, as another version of Headlight would write it."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for file in run.iterdir():
            data = file.read_bytes().replace(b'"headlight run 1"', b'"headlight run %d"' % number)
            archive.writestr(file.name, data)
    return content.getvalue()


def test_a_file_is_kept_for_its_user_until_it_is_forgotten(shared: Path) -> None:
    name = store.keep("film", b"content")
    assert store.NAME.fullmatch(name)
    assert (store.has("film", name), store.read("film", name)) == (True, b"content")
    assert (store.has("model", name), store.read("model", name)) == (False, None)
    (file,) = shared.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    store.forget("film", name)
    store.forget("film", name)
    assert not list(shared.iterdir())
    for name in ("", "x", "../" * 7 + "x", "x" * 21 + "/", "x" * 21 + "\n", "é" * 22):
        assert not store.has("model", name), name
        assert store.read("model", name) is None


def test_it_is_bounded_and_the_oldest_go_first(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [store.keep("film", b"x" * 40) for _ in range(4)]
    for age, name in enumerate(reversed(names)):
        os.utime(shared / f"{name}.film", (time.time() - 100 * age,) * 2)
    others = [shared / name for name in ("somebody-elses", "my.model", "my.data", "download.part", f"{NAME}.modell")]
    for file in others:
        file.touch()
        os.utime(file, (0, 0))
    half_written = shared / f"{'0' * 16}.part"
    half_written.touch()
    os.utime(half_written, (0, 0))
    store.sweep(250)
    assert [store.has("film", name) for name in names] == [False, True, True, True]
    monkeypatch.setattr(store, "MOST_BYTES", 100)
    store.sweep(250)
    assert [store.has("film", name) for name in names] == [False, False, True, True]
    assert all(file.exists() for file in others)
    assert not half_written.exists()


def test_a_visit_goes_on_at_another_server(shipped: Path) -> None:
    """With its models under their names, and its data; a link to one of them works before its visitor has come back."""
    here, there = Visitor(), Visitor()
    run = here.asks(lambda: add(shipped / "who-none-1"))
    data = TrainingData("csv", b"text,label\n")
    name = here.asks(visitor.name)
    begun = visits.find(name)
    assert begun
    with begun.bring(data):
        pass
    assert list(here.asks(own_models.offered))[-1] == run.id
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


def test_two_servers_have_a_tab_of_one_visit(shipped: Path) -> None:
    one = Visitor()
    run = one.asks(lambda: add(shipped / "who-none-1"))
    name = one.asks(lambda: own_models.offered() and visitor.name())
    other = store.keep("model", saved.pack(shipped / "who-rotary-1"))
    kept.add(name, [other], {})
    second = one.asks(lambda: add(shipped / "food-learned-1"))
    one.asks(own_models.offered)
    assert kept.read(name).runs == [run.id, other, second.id]
    store.forget("model", other)
    kept.add(name, [], {"text": NAME})
    assert kept.read(name) == kept.KeptNames([run.id, second.id], {"text": NAME})


def test_a_visit_that_was_left_here_goes_on_where_its_visitor_is(
    shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Visitor()
    run = one.asks(lambda: add(shipped / "who-none-1"))
    name = one.asks(lambda: own_models.offered() and visitor.name())
    one.leaves()
    monkeypatch.setattr(visits, "KEPT_SECONDS", -1.0)
    visits.sweep()
    assert not run.folder.exists()
    found = visits.find(name)
    assert found
    assert list(found.runs) == [run.id]


def test_the_store_is_asked_again_when_something_is_new_and_in_every_sweep(
    shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, asked = Visitor(), list[str]()
    keep = models.keep

    def asks(name: str, folder: Path) -> None:
        asked.append(name)
        keep(name, folder)

    monkeypatch.setattr(models, "keep", asks)
    first = one.asks(lambda: add(shipped / "who-none-1"))
    one.asks(own_models.offered)
    one.asks(own_models.offered)
    assert asked == [first.id]
    second = one.asks(lambda: add(shipped / "who-rotary-1"))
    one.asks(own_models.offered)
    assert asked == [first.id, first.id, second.id]
    store.forget("model", first.id)
    visits.sweep()
    assert models.is_there(first.id)


@pytest.mark.faults
def test_what_nobody_foresaw_takes_nothing_from_a_visit(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where it is taken up, nor from those that are swept or kept after it."""

    def fails(*_: object) -> None:
        raise KeyError

    visits.end_all()
    name = store.keep("model", saved.pack(shipped / "who-none-1"))
    kept.add(NAME, [name], {})
    with monkeypatch.context() as broken:
        broken.setattr(saved, "unpack", fails)
        with pytest.raises(KeyError):
            visits.find(NAME)
    found = visits.find(NAME)
    assert found
    assert list(found.runs) == [name]
    others = [Visitor(), Visitor()]
    runs = [other.asks(lambda: add(shipped / "who-none-1")) for other in others]
    with monkeypatch.context() as broken:
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
def test_a_disk_that_is_full_or_cannot_be_written(shared: Path, shipped: Path) -> None:
    """A model that could not be kept is offered as soon as it could; nothing half written is left."""
    for number, text in ((errno.ENOSPC, "No space left on device"), (errno.EROFS, "Read-only file system")):

        def fails(*_: object, error: OSError = OSError(number, text)) -> int:  # noqa: B008
            raise error

        one = Visitor()
        run = one.asks(lambda: add(shipped / "who-none-1"))
        with pytest.MonkeyPatch.context() as broken:
            broken.setattr(Path, "write_bytes", fails)
            with pytest.raises(HeadlightError, match="disk is full or cannot be written; try again later"):
                store.keep("film", b"content")
            assert run.id not in one.asks(own_models.offered)
            assert list(one.asks(visitor.own_runs)) == [run.id]
        assert not list(shared.iterdir())
        visits.sweep()
        assert run.id in one.asks(own_models.offered)
        why = f"nothing can be written here .{text}"
        with pytest.MonkeyPatch.context() as broken:
            broken.setattr(Path, "write_bytes", fails)
            with pytest.raises(WeightsFileError, match=why), models.opened(run.id):
                pass
        with pytest.MonkeyPatch.context() as broken:
            broken.setattr(tempfile, "mkdtemp", fails)
            with pytest.raises(HeadlightError, match="try again later"), models.opened(run.id):
                pass
        visits.end_all()
        store.forget("model", run.id)
        for file in shared.iterdir():
            file.unlink()


@pytest.mark.faults
def test_a_clock_that_is_set_back_or_ahead(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of a visit is lost: its own times are those of a clock that nobody sets."""
    one = Visitor()
    run = one.asks(lambda: add(shipped / "who-none-1"))
    assert run.id in one.asks(own_models.offered)
    now, year = time.time(), 366 * 24 * 3600.0
    for clock in (now - year, now + year):
        monkeypatch.setattr(time, "time", lambda clock=clock: clock)
        visits.sweep()
        assert run.folder.is_dir()
        assert run.id in one.asks(own_models.offered)
    monkeypatch.undo()


@pytest.mark.faults
def test_a_model_that_cannot_be_read_is_refused_and_costs_a_visit_no_other(shipped: Path) -> None:
    whole = store.keep("model", saved.pack(shipped / "who-rotary-1"))
    for number, (content, says) in enumerate(
        (
            (saved.pack(shipped / "who-none-1")[:-200], "this is no zip file of a saved run"),
            (another_version(shipped / "who-none-1", 2), "a newer version of Headlight wrote it"),
            (b"", "this is no zip file of a saved run"),
        )
    ):
        visit = f"{number}{NAME[1:]}"
        name = store.keep("model", content)
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
    for content in (
        b"",
        b"[" * 100_000,
        b"\xff",
        b"[]",
        b"null",
        b'{"format": "headlight visit 1", "runs": ["../x"], "data": {}}',
        b'{"format": "headlight visit 1", "runs": [1], "data": {}}',
        b'{"format": "headlight visit 1", "runs": [], "data": []}',
        b'{"format": "headlight visit 2", "runs": [], "data": {}}',
    ):
        store.keep("visit", content, NAME)
        assert Visitor().asks(lambda: comes_back(NAME)) == [
            "Another version of Headlight keeps what was trained here, or it is damaged."
        ], content
        with pytest.raises(HeadlightError, match="another version"):
            kept.add(NAME, [], {})
        assert store.read("visit", NAME) == content
