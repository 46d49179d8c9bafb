"""The Train page while it follows a training: what it draws anew, what it does not, and what its limits say."""

from __future__ import annotations

import errno
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
import torch

from mha_core import Model
from mha_core.errors import DeviceError
from mha_core.training import inference, plan_time, saved, tasks
from mha_core.training.tasks import Labelled
from pages.kit.jobs import training
from pages.kit.jobs.record import Record
from pages.kit.jobs.training import TrainingPlan
from pages.kit.picture import sharing
from pages.kit.server.queue import Turn, Work
from pages.kit.server.visits import Visitor
from pages.train import recipe_controls
from pages.train.page import OWN_RUNS

from .train_app import NEWS, TINY, Train, plan_of, upload
from .waiting import Clock, of_jobs, wait
from .workers import learns, stand_in

ONE = {**TINY, "pe": ["none"]}
WARNING = "cuda:0 is out of memory; this was computed on the CPU."


@pytest.fixture
def learning(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A training has looked at its test rows at once, and ends when it is stopped or its time is up."""
    stand_in(monkeypatch, learns())


@pytest.mark.usefixtures("learning")
def test_the_page_follows_a_training_from_the_queue_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    queue, other = of_jobs(monkeypatch, Work.TRAINING), Turn(Visitor("", "other"), Work.TRAINING, 150)
    queue.ask(other)
    fragment, polls = st.fragment, []

    def noted(of: Any, **how: Any) -> Any:
        polls.append(how.get("run_every"))
        return fragment(of, **how)

    monkeypatch.setattr(st, "fragment", noted)
    page = Train(**ONE)
    assert polls == [None, None]  # the bar, and the curves
    assert not [toggle for toggle in page.app.toggle if toggle.key == "hides_ghosts"]
    assert OWN_RUNS not in page.texts()
    # it waits, and is polled slowly
    job = page.start()
    assert page.progress() == "Waiting: 1 training comes first, at most 3 min"
    assert polls[-2:] == [2, None]  # the axes stand there already
    # it has looked at the test rows, and has a warning
    queue.leave(other)
    wait(lambda: job.record.looked)
    job.record.take({"told": WARNING})
    page.app.run()
    assert page.progress().startswith("step ")
    assert polls[-2:] == [0.5, None]
    assert page.notices() == [WARNING]
    assert OWN_RUNS in page.texts()
    # the earlier curves are hidden
    toggle = page.app.toggle(key="hides_ghosts")
    assert toggle.label == "Hide the grey curves from before: none, rotary (trained in advance)"
    assert '"before"' in page.app.get("plotly_chart")[0].proto.spec
    toggle.set_value(True).run()
    assert '"before"' not in page.app.get("plotly_chart")[0].proto.spec
    # beside another task its bar alone copies no history
    with monkeypatch.context() as patched:
        patched.setattr(Record, "history", never)
        page.app.selectbox(key="task").set_value("food review").run()
        assert page.progress().startswith("step ")
        assert page.table("accuracy")["rows"]
    page.app.selectbox(key="task").set_value("who did what").run()
    # it is stopped; of the next one the earlier curves are hidden too
    job.stop()
    page.over()
    assert polls[-2:] == [None, None]
    assert page.progress().startswith("stopped after ")
    page.looked()
    assert page.app.toggle(key="hides_ghosts").value


def never(*_: Any, **__: Any) -> None:
    raise AssertionError


def test_the_page_asks_nothing_twice(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Train(tab="Ask")
    told = page.blocks()
    monkeypatch.setattr(inference, "logits", never)
    monkeypatch.setattr(Model, "run", never)
    page.app.run()
    assert page.blocks() == told
    page.app.toggle(key="apart").set_value(True).run()
    assert not page.app.exception


@pytest.mark.usefixtures("learning")
def test_a_training_that_had_its_share_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    queue = of_jobs(monkeypatch, Work.TRAINING, clock)
    page = Train(**{**ONE, "budget": "600"})
    job = page.start()
    wait(lambda: job.record.step)
    queue.ask(Turn(Visitor("", "other"), Work.TRAINING, 150))
    clock.now += training.SHARED_SECONDS + 1
    page.over()
    (said,) = page.notices()
    assert said == "Ended after 181 s because others were waiting; what was learnt so far is kept."
    assert page.table("accuracy")["rows"]


def test_a_folder_that_cannot_be_written_is_reported(shipped: Path) -> None:
    def read_only(*_: Any, **__: Any) -> str:
        raise OSError(errno.EROFS, "Read-only file system")

    why = "nothing can be kept on this server, because its temporary folder cannot be written (Read-only file system)."
    for has_a_folder in (False, True):
        page = Train(**TINY)
        with pytest.MonkeyPatch.context() as patched:
            if has_a_folder:
                upload(page, "run_file", saved.pack(shipped / "who-none-1"), "application/zip")
                patched.setattr(Path, "mkdir", read_only)
            else:
                patched.setattr(tempfile, "mkdtemp", read_only)
            page.app.button(key="train_start").click().run()
            assert f"This cannot be trained now: {why}" in page.notices()
            upload(page, "run_file", saved.pack(shipped / "who-rotary-1"), "application/zip")
            assert f"This run cannot be opened: {why} What was trained before is still there." in page.notices()
            assert page.table("accuracy")["rows"]


def test_data_that_stayed_are_read_once(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Train(task="your own CSV", pe=["none"])
    upload(page, "csv_file", NEWS.encode())
    told = page.texts()
    assert "Your own table." in told
    from_csv, read = tasks.from_csv, []

    def noted(*args: Any, **kwargs: Any) -> Labelled:
        read.append(True)
        return from_csv(*args, **kwargs)

    monkeypatch.setattr(tasks, "from_csv", noted)
    page.app.run()
    assert page.texts() == told
    assert not read
    page.app.toggle(key="dups").set_value(True).run()
    assert read == [True]


@pytest.mark.usefixtures("learning")
def test_a_look_between_page_and_bar_draws_the_page_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first look at the test rows may come at any moment; the page never stays without its curves."""
    page = Train(**ONE)
    calls: list[bool] = []
    histories = Record.histories.fget  # type: ignore[attr-defined]

    def late(record: Record) -> Any:
        before = histories(record)
        if not calls:
            calls.append(True)
            wait(lambda: record.looked)
        return before

    monkeypatch.setattr(Record, "histories", property(late))
    page.start()
    assert calls
    assert page.table("accuracy")["rows"]


def test_a_training_whose_time_is_up_says_so_at_its_bar(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, learns(time_is_up=True))
    page = Train(**ONE).trained()
    assert re.fullmatch(r"stopped after \d+ s: its time was up; step 1 of 8", page.progress()), page.progress()


# ---- where the GPU is full, and the CPU takes over


def test_auto_stays_auto_where_it_can_fall_back(
    shipped: Path, planned: list[TrainingPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    for present, device in (("cuda", "auto"), ("cpu", "cpu")):
        monkeypatch.setattr(recipe_controls, "devices", SimpleNamespace(pick=lambda _, at=present: torch.device(at)))
        plan = plan_of(Train(**ONE), planned)
        assert {recipe.device for recipe in plan.recipes} == {device}


def test_a_plan_that_is_measured_says_so_too(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def on_the_cpu(_recipe: Any, _task: Any, told: Callable[[str], object]) -> float:
        told(WARNING)
        return 10.0

    def nowhere(*_: Any) -> float:
        raise DeviceError("cuda:0 is out of memory; choose smaller sizes or choose the cpu")

    monkeypatch.setattr(plan_time, "run_seconds", on_the_cpu)
    page = Train(**{**TINY, "seeds": "2"}, task="your own CSV", pe=["none"])
    upload(page, "csv_file", NEWS.encode())
    assert page.notices() == [WARNING]
    assert "about 20 s here" in page.progress()
    monkeypatch.setattr(plan_time, "run_seconds", nowhere)
    page.app.run()
    (said,) = page.notices()
    assert said.startswith("The time cannot be told: cuda:0 is out of memory; ")
    assert not page.off("train_start")


def test_answers_and_predictions_say_so_once_and_again_when_they_are_kept(
    shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Model, "compute", lambda self, call: (call(self.encoder), (WARNING,)))
    for task in ("who did what", "repeated random words"):
        sharing.forget()
        page = Train(task=task, tab="Ask")
        for _ in range(2):
            assert page.notices() == [WARNING], task
            page.app.run()
        assert Train(task=task).notices() == []  # nothing is asked in the other tabs
    sharing.forget()
    assert Train(tab="Report", only="typed sentences").texts().count(WARNING) == 1
