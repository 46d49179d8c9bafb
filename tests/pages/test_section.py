"""The Train page while it follows a training: what it draws anew, what it does not, and what its limits say."""

from __future__ import annotations

import errno
import os
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

from .test_train import ENDLESS
from .test_training_data import NEWS
from .train_app import TINY, Train, plan_of, upload
from .waiting import Clock, of_jobs, wait


def test_waiting_is_told_and_polled_slowly(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue, other = of_jobs(monkeypatch, Work.TRAINING), Turn(Visitor("", "other"), Work.TRAINING, 150)
    queue.ask(other)
    fragment, polls = st.fragment, []

    def noted(of: Any, **how: Any) -> Any:
        polls.append(how.get("run_every"))
        return fragment(of, **how)

    monkeypatch.setattr(st, "fragment", noted)
    page = Train(**ENDLESS)
    assert polls == [None, None]  # the bar, and the curves
    job = page.start()
    assert page.progress() == "Waiting: 1 training comes first, at most 3 min"
    assert polls[-2:] == [2, None]  # the axes stand there already
    queue.leave(other)
    wait(lambda: job.record.looked)
    page.app.run()
    assert page.progress().startswith("step ")
    assert polls[-2:] == [0.5, None]
    job.stop()
    page.over()
    assert polls[-2:] == [None, None]


def test_the_bar_alone_copies_no_history(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Train(**ENDLESS)
    job = page.start()
    wait(lambda: job.record.looked)

    def never(_record: Record, _number: int) -> None:
        raise AssertionError

    monkeypatch.setattr(Record, "history", never)
    page.app.selectbox(key="task").set_value("food review").run()
    assert page.progress().startswith("step ")
    assert page.table("accuracy")["rows"]


def test_the_page_asks_nothing_twice(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Train(tab="Ask")
    told = page.blocks()

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(inference, "logits", never)
    monkeypatch.setattr(Model, "run", never)
    page.app.run()
    assert page.blocks() == told
    page.app.toggle(key="apart").set_value(True).run()
    assert not page.app.exception


def test_a_training_that_had_its_share_is_told(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    queue = of_jobs(monkeypatch, Work.TRAINING, clock)
    page = Train(**{**ENDLESS, "budget": "600"})
    job = page.start()
    wait(lambda: job.record.step)
    queue.ask(Turn(Visitor("", "other"), Work.TRAINING, 150))
    clock.now += training.SHARED_SECONDS + 1
    page.over()
    (said,) = page.notices()
    assert said == "Ended after 181 s because others were waiting; what was learnt so far is kept."
    assert page.table("accuracy")["rows"]
    assert page.open("Report").table("precision")["rows"]  # its model was saved


def test_threads_beyond_those_of_a_training_are_told(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    page = Train(thr="2")
    assert page.notices()[0].startswith("The link says thr=2, which cannot be used here; ")
    assert not page.off("train_start")


@pytest.mark.parametrize("when", ["first", "later"])
def test_a_folder_that_cannot_be_written_is_told(shipped: Path, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    def read_only(*_: Any, **__: Any) -> str:
        raise OSError(errno.EROFS, "Read-only file system")

    page = Train(**TINY)
    if when == "first":
        monkeypatch.setattr(tempfile, "mkdtemp", read_only)
    else:  # the visit has its folder, and can put nothing into it
        upload(page, "run_file", saved.pack(shipped / "who-none-1"), "application/zip")
        monkeypatch.setattr(Path, "mkdir", read_only)
    why = "nothing can be kept on this server, because its temporary folder cannot be written (Read-only file system)."
    page.app.button(key="train_start").click().run()
    assert f"This cannot be trained now: {why}" in page.notices()
    upload(page, "run_file", saved.pack(shipped / "who-rotary-1"), "application/zip")
    assert f"This run cannot be opened: {why} What was trained before is still there." in page.notices()
    assert page.table("accuracy")["rows"]
    monkeypatch.undo()


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


def test_a_look_between_page_and_bar_draws_the_page_once_more(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first look at the test rows may come at any moment; the page never stays without its curves."""
    page = Train(**ENDLESS)
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


def test_an_own_run_is_not_in_the_link_which_share_says(shipped: Path) -> None:
    page = Train(**ENDLESS)
    assert OWN_RUNS not in page.texts()
    page.looked()
    assert OWN_RUNS in page.texts()


def test_the_earlier_curves_can_be_hidden_and_stay_so(shipped: Path) -> None:
    page = Train(**ENDLESS)
    assert not [toggle for toggle in page.app.toggle if toggle.key == "hides_ghosts"]
    job = page.looked()
    toggle = page.app.toggle(key="hides_ghosts")
    assert toggle.label == "Hide the grey curves from before: none, rotary (trained in advance)"
    assert '"before"' in page.app.get("plotly_chart")[0].proto.spec
    toggle.set_value(True).run()
    assert '"before"' not in page.app.get("plotly_chart")[0].proto.spec
    job.stop()
    page.over()
    assert page.progress().startswith("stopped after ")
    page.looked()
    assert page.app.toggle(key="hides_ghosts").value


def test_a_training_whose_time_is_up_says_so_at_its_bar(shipped: Path) -> None:
    page = Train(**{**ENDLESS, "seeds": "9", "budget": "5"}).trained()
    assert re.fullmatch(r"(\d+ runs )?stopped after \d+ s: its time was up; step [\d,]+ of [\d,]+", page.progress()), (
        page.progress()
    )


# ---- where the GPU is full, and the CPU takes over


SAID = "cuda:0 is out of memory; this was computed on the CPU."


@pytest.mark.parametrize(("present", "device"), [("cuda", "auto"), ("cpu", "cpu")])
def test_auto_stays_auto_where_it_can_fall_back(
    shipped: Path, planned: list[TrainingPlan], monkeypatch: pytest.MonkeyPatch, present: str, device: str
) -> None:
    monkeypatch.setattr(recipe_controls, "devices", SimpleNamespace(pick=lambda _: torch.device(present)))
    plan = plan_of(Train(**TINY, pe=["none"]), planned)
    assert {recipe.device for recipe in plan.recipes} == {device}


def test_what_a_training_tells_is_said(shipped: Path) -> None:
    page = Train(**ENDLESS)
    job = page.start()
    wait(lambda: job.record.step)
    job.record.take({"told": SAID})
    page.app.run()
    assert page.notices() == [SAID]
    job.stop()
    page.over()


def test_a_plan_that_is_measured_says_so_too(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def on_the_cpu(_recipe: Any, _task: Any, told: Callable[[str], object]) -> float:
        told(SAID)
        return 10.0

    def nowhere(*_: Any) -> float:
        raise DeviceError("cuda:0 is out of memory; choose smaller sizes or choose the cpu")

    monkeypatch.setattr(plan_time, "run_seconds", on_the_cpu)
    page = Train(**{**TINY, "seeds": "2"}, task="your own CSV", pe=["none"])
    upload(page, "csv_file", NEWS.encode())
    assert page.notices() == [SAID]
    assert "about 20 s here" in page.progress()
    monkeypatch.setattr(plan_time, "run_seconds", nowhere)
    page.app.run()
    (said,) = page.notices()
    assert said.startswith("The time cannot be told: cuda:0 is out of memory; ")
    assert not page.off("train_start")


@pytest.mark.parametrize("task", ["who did what", "repeated random words"])
def test_answers_say_so_once_and_again_when_they_are_kept(
    shipped: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    sharing.forget()
    monkeypatch.setattr(Model, "compute", lambda self, call: (call(self.encoder), (SAID,)))
    page = Train(task=task, tab="Ask")
    assert page.notices() == [SAID]
    page.app.run()
    assert page.notices() == [SAID]
    assert Train(task=task).notices() == []  # nothing is asked in the other tabs


def test_every_prediction_says_so(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sharing.forget()
    monkeypatch.setattr(Model, "compute", lambda self, call: (call(self.encoder), (SAID,)))
    page = Train(tab="Report", only="typed sentences")
    assert page.texts().count(SAID) == 1
