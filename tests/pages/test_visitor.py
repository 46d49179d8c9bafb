"""What belongs to one visitor: nobody else can name it, and it goes when the visitor goes."""

from __future__ import annotations

import gc
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from headlight.jobs import training as trainings
from headlight.jobs import workspace as visits
from mha_core.errors import HeadlightError
from mha_core.training import saved
from mha_core.training.limits import TrainingPlan
from pages.frame import user as visit

from .waiting import PATIENCE, wait
from .workers import OBEYS, TINY, stand_in

ROOT = Path(__file__).parents[2]


class Visitor:
    """A page that does what it is told, with a session of its own."""

    def __init__(self) -> None:
        self.app: AppTest | None = AppTest.from_string(
            "import streamlit as st\nst.session_state['answer'] = st.session_state['ask']()", default_timeout=PATIENCE
        )

    def asks(self, question: Callable[[], Any]) -> Any:
        assert self.app is not None
        self.app.session_state["ask"] = question
        self.app.run()
        assert not self.app.exception
        answer = self.app.session_state["answer"]
        del self.app.session_state["answer"]
        return answer

    def leaves(self) -> None:
        self.app = None
        gc.collect()


@pytest.fixture
def trained(trained_folder: Path) -> Path:
    """A run that was trained elsewhere."""
    return trained_folder / "who-none-1"


def test_everything_comes_with_a_training_and_goes_with_the_visit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, OBEYS)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where no other test makes anything
    visitor = Visitor()
    assert visitor.asks(visit.own_runs) == {}
    assert visitor.asks(visit.job) is None
    assert not list(tmp_path.iterdir()), "nothing is made for a visitor who does not train"
    training = visitor.asks(lambda: visit.start(TrainingPlan((TINY,))))
    wait(lambda: training.record.step)
    (folder,) = tmp_path.glob(f"{visits.PREFIX}*")
    assert folder == training.folder.parent
    visitor.leaves()
    assert not folder.exists()
    training.join(PATIENCE)
    assert training.is_finished
    assert not folder.exists()


def test_visit_whose_browser_knows_its_name_is_found_again(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its training goes on meanwhile, for a while."""
    workers = stand_in(monkeypatch, OBEYS)
    visitor, later, other = Visitor(), Visitor(), Visitor()
    assert visitor.asks(visit.visit_name) == ""  # there is nothing to come back to
    training = visitor.asks(lambda: visit.start(TrainingPlan((TINY,))))
    name = visitor.asks(visit.visit_name)
    assert len(name) == 22  # 128 bits
    assert visitor.asks(visit.visit_name) == name
    run = visitor.asks(lambda: add(trained)).id
    wait(lambda: training.record.step)
    visitor.leaves()
    workers[0].check_goes_on()
    assert later.asks(lambda: visit.resume(name))
    assert later.asks(visit.job) is training
    assert list(later.asks(visit.own_runs)) == [run]
    assert other.asks(visit.job) is None
    folder = training.folder.parent
    monkeypatch.setattr(visits, "TTL_SECONDS", -1.0)
    visits.sweep()  # a tab is still there: its runs are old, the visit is not left
    assert folder.is_dir()
    later.leaves()
    monkeypatch.setattr(trainings, "HEARTBEAT_TIMEOUT", -1.0)  # nobody came back
    training.join(PATIENCE)
    assert training.should_stop
    visits.sweep()
    assert not folder.exists()
    assert not other.asks(lambda: visit.resume(name))


def test_invalid_name_finds_no_workspace() -> None:
    visitor, other = Visitor(), Visitor()
    for one in (visitor, other):
        one.asks(visit.new_folder)
    names = [one.asks(visit.visit_name) for one in (visitor, other)]
    assert visitor.asks(lambda: visit.resume(names[1]))
    assert visitor.asks(visit.visit_name) == names[0]
    stranger = Visitor()
    none: tuple[Any, ...] = ("", None, 3, [], "x" * 22, "x" * 10_000, "../../../etc/passwd", "\ud800" * 22, "-" * 22)
    for name in none:
        assert not stranger.asks(lambda name=name: visit.resume(name)), name  # type: ignore[misc]
        assert stranger.asks(visit.own_runs) == {}


def test_detached_workspaces_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The address that leaves the most gives way first, and of its visits the oldest."""
    visits.end_all()  # those of other tests
    monkeypatch.setattr(visits, "MAX_DETACHED", 4)
    clock = iter(range(1000, 2000))
    monkeypatch.setattr(visits, "time", SimpleNamespace(monotonic=lambda: float(next(clock)), time=time.time))
    left = [visits.Workspace(address) for address in ("a", "b", "b", "b", "b", "a")]
    for one in left:
        one.persist()
    visits.sweep()
    assert [one.folder.is_dir() for one in left] == [True, False, False, True, True, True]
    monkeypatch.setattr(visits, "MAX_DETACHED_BYTES", 1000)
    (left[0].folder / "file").write_bytes(b"x" * 900)
    visits.sweep()
    assert [one.folder.is_dir() for one in left] == [False, False, False, True, True, True]


def test_new_training_stops_the_one_before_unless_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, OBEYS)
    visitor = Visitor()
    first = visitor.asks(lambda: visit.start(TrainingPlan((TINY,))))
    second = visitor.asks(lambda: visit.start(TrainingPlan((TINY,))))
    first.join(PATIENCE)
    assert first.should_stop
    assert not second.is_finished
    assert visitor.asks(visit.job) is second
    assert visitor.asks(lambda: refused(lambda: visit.start(TrainingPlan(())))).startswith("0 runs")
    assert visitor.asks(visit.job) is second
    assert not second.is_finished


def refused(question: Callable[[], object]) -> str:
    with pytest.raises(HeadlightError) as error:
        question()
    return str(error.value)


def add(run: Path) -> visits.UserRun:
    """Does what opening a file does."""
    folder = visit.new_folder()
    shutil.copytree(run, folder, dirs_exist_ok=True)
    return visit.add_run(folder)


def test_saved_run_becomes_a_model(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = Visitor()
    run = visitor.asks(lambda: add(trained))
    assert visitor.asks(visit.own_runs) == {run.id: run}
    assert Visitor().asks(visit.own_runs) == {}
    assert run.history.recipe == saved.read(trained).recipe
    assert (run.label, len(run.id)) == ("Who did what: none, fused, seed 1", 22)
    assert stat.S_IMODE(run.folder.parent.stat().st_mode) == 0o700
    assert "run.json" in visitor.asks(lambda: refused(lambda: visit.add_run(visit.new_folder())))
    assert visitor.asks(visit.own_runs) == {run.id: run}  # what was there is still there
    # old runs go, and so do the oldest of many
    first, second, third = (run, *(visitor.asks(lambda: add(trained)) for _ in range(2)))
    monkeypatch.setattr(visits, "MAX_RUNS", 2)
    assert list(visitor.asks(visit.own_runs)) == [second.id, third.id]
    assert not first.folder.exists()
    monkeypatch.setattr(visits, "MAX_MAPS", sum(len(shot.maps) for shot in third.history.snapshots))
    assert list(visitor.asks(visit.own_runs)) == [third.id]
    monkeypatch.setattr(visits, "TTL_SECONDS", -1.0)
    visits.sweep()  # without the visitor
    assert not third.folder.exists()
    assert visitor.asks(visit.own_runs) == {}


@pytest.mark.faults
def test_files_of_a_killed_server_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    old, new, link = (tmp_path / f"{visits.PREFIX}{name}" for name in ("old", "new", "link"))
    elsewhere = tmp_path / "elsewhere"
    for folder in (old, new, elsewhere):
        folder.mkdir()
        (folder / "file").touch()
    link.symlink_to(elsewhere)
    long_ago = time.time() - visits.STRAY_SECONDS - 1
    for path in (old, link):
        os.utime(path, (long_ago, long_ago), follow_symlinks=False)
    visits.sweep()
    assert not old.exists()
    assert (new / "file").exists()
    assert (elsewhere / "file").exists()
