"""The store that servers share: what one keeps another finds, whatever is wrong with it."""

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

from headlight.api.routes import DataApi
from headlight.jobs import workspace as visits
from headlight.queue.executor import Queue
from headlight.registry import get_source
from headlight.registry.trained import Trained
from headlight.server import store
from headlight.ui.web import API
from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.training import saved
from mha_core.training.tasks import TrainingData
from pages.frame import user
from pages.handlers import HANDLERS
from pages.train import page

from .test_visitor import Visitor, add
from .test_wire import served

NAME = "A" * 22


@pytest.fixture(autouse=True)
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a store that is made when it is first used."""
    folder = tmp_path / "shared" / "store"
    monkeypatch.setenv(store.VARIABLE, str(folder))
    yield folder
    visits.end_all()


def comes_back(name: str) -> list[str]:
    """Opens Train in a browser that has kept this name; what is said then."""
    page.restore(name)
    return list(st.session_state["said_by_callbacks"])


def offered(one: Visitor) -> list[str]:
    return list(one.asks(user.available_models))


def test_file_is_kept_for_its_user_until_it_is_forgotten(shared: Path) -> None:
    name = store.put("film", b"content")
    assert store.NAME.fullmatch(name)
    assert (store.has("film", name), store.read("film", name)) == (True, b"content")
    assert (store.has("model", name), store.read("model", name)) == (False, None)
    (file,) = shared.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for _ in range(2):
        store.delete("film", name)
    assert not list(shared.iterdir())
    for name in ("", "x", "../" * 7 + "x", "x" * 21 + "/", "x" * 21 + "\n", "é" * 22):
        assert (store.has("model", name), store.read("model", name)) == (False, None), name


def test_store_is_bounded_and_evicts_the_oldest(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [store.put("film", b"x" * 40) for _ in range(4)]
    for age, name in enumerate(reversed(names)):
        os.utime(shared / f"{name}.film", (time.time() - 100 * age,) * 2)
    others = [shared / name for name in ("somebody-elses", "my.model", "my.data", "download.part", f"{NAME}.modell")]
    half_written = shared / f"{'0' * 16}.part"
    for file in (*others, half_written):
        file.touch()
        os.utime(file, (0, 0))
    for most, there in ((store.MAX_BYTES, [False, True, True, True]), (100, [False, False, True, True])):
        monkeypatch.setattr(store, "MAX_BYTES", most)
        store.sweep(250)
        assert [store.has("film", name) for name in names] == there
    assert all(file.exists() for file in others)
    assert not half_written.exists()


def test_session_continues_on_another_server(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its models under their names, and its data; a link to one of them works before its visitor has come back."""
    here, there = Visitor(), Visitor()
    run = here.asks(lambda: add(shipped / "who-none-1"))
    data = TrainingData("csv", b"text,label\n")
    name = here.asks(user.visit_name)
    begun = visits.find_workspace(name)
    assert begun
    with begun.replace_upload(data):
        pass
    assert offered(here)[-1] == run.id
    visits.end_all()  # the server
    with served(DataApi(lambda: HANDLERS, queue=Queue())) as client:
        assert client.get(f"{API}/focus?model={run.id}").status_code == 200
    assert there.asks(lambda: comes_back(name)) == [visits.RESUMED]
    assert there.asks(user.notices) == []
    again = there.asks(user.own_runs)
    assert {own.id: own.label for own in again.values()} == {run.id: run.label}
    assert again[run.id].folder != run.folder
    assert there.asks(user.uploads) == {"csv": data.content}
    assert there.asks(user.visit_name) == name
    assert visits.find_workspace(name) is visits.find_workspace(name)
    there.leaves()  # what was left there goes on where its visitor is
    monkeypatch.setattr(visits, "TTL_SECONDS", -1.0)
    visits.sweep()
    assert not again[run.id].folder.exists()
    found = visits.find_workspace(name)
    assert found
    assert list(found.runs) == [run.id]


def test_without_others_all_goes_with_the_server(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(store.VARIABLE)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    one = Visitor()
    run = one.asks(lambda: add(shipped / "who-none-1"))
    name = one.asks(lambda: user.available_models() and user.visit_name())
    assert get_source(run.id).exists
    visits.end_all()
    assert not get_source(run.id).exists
    assert visits.find_workspace(name) is None
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


@pytest.mark.faults
def test_disk_that_is_full_or_cannot_be_written(shared: Path, shipped: Path) -> None:
    """A model that could not be kept is offered as soon as it could; nothing half written is left."""
    one = Visitor()
    run = one.asks(lambda: add(shipped / "who-none-1"))

    def fails(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(Path, "write_bytes", fails)
        with pytest.raises(HeadlightError, match="disk is full or not writable; try again later"):
            store.put("film", b"content")
        assert run.id not in offered(one)
        assert list(one.asks(user.own_runs)) == [run.id]
    assert not list(shared.iterdir())
    visits.sweep()
    assert run.id in offered(one)
    for where, name, kind, why in (
        (Path, "write_bytes", WeightsFileError, "the folder cannot be written .No space left on device"),
        (tempfile, "mkdtemp", HeadlightError, "try again later"),
    ):
        with pytest.MonkeyPatch.context() as broken:
            broken.setattr(where, name, fails)
            with pytest.raises(kind, match=why), Trained(run.id).unpack():
                pass


@pytest.mark.faults
def test_model_that_cannot_be_read_is_refused_and_costs_a_visit_no_other(shipped: Path) -> None:
    newer = io.BytesIO()
    with zipfile.ZipFile(newer, "w") as archive:
        for file in (shipped / "who-none-1").iterdir():
            archive.writestr(file.name, file.read_bytes().replace(b'"headlight run 1"', b'"headlight run 2"'))
    whole = store.put("model", saved.pack(shipped / "who-rotary-1"))
    no_zip = "this is no zip file of a saved run"
    for number, (content, says) in enumerate(
        {
            saved.pack(shipped / "who-none-1")[:-200]: no_zip,
            newer.getvalue(): "a newer version of Headlight wrote it",
            b"": no_zip,
        }.items()
    ):
        name, visit = store.put("model", content), f"{number}{NAME[1:]}"
        with served(DataApi(lambda: HANDLERS, queue=Queue())) as client:
            answer = client.get(f"{API}/focus?model={name}")
        assert answer.status_code == 422
        assert says in answer.text
        visits.save_names(visit, [name, whole], {})
        found = visits.find_workspace(visit)
        assert found
        assert list(found.runs) == [whole]
        assert len(found.notices) == 2
        assert says in found.notices[1]


@pytest.mark.faults
def test_visit_that_cannot_be_read_is_reported_and_left_alone() -> None:
    """As when two versions of Headlight stand behind one address."""
    form = '{"format": "headlight visit %d", "runs": %s, "data": %s}'
    texts = ["", "[" * 100_000, "[]", "null", form % (1, '["../x"]', "{}"), form % (1, "[1]", "{}")]
    for content in (b"\xff", *map(str.encode, [*texts, form % (1, "[]", "[]"), form % (2, "[]", "{}")])):
        store.put("visit", content, NAME)
        assert Visitor().asks(lambda: comes_back(NAME)) == [
            "Your list of trainings is damaged, or of another version of Headlight."
        ], content
        with pytest.raises(HeadlightError, match="another version"):
            visits.save_names(NAME, [], {})
        assert store.read("visit", NAME) == content
