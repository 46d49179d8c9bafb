"""The Train page where the GPU is full: what is trained, measured or asked then says that the CPU took over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from mha_core import Model
from mha_core.errors import DeviceError
from mha_core.training import plan_time
from pages.kit.jobs.training import TrainingPlan
from pages.kit.picture import sharing
from pages.train import recipe_controls

from .test_train import ENDLESS
from .test_training_data import NEWS
from .train_app import TINY, Train, no_job_stays, plan_of, planned, upload
from .waiting import PATIENCE, wait

__all__ = ["no_job_stays", "planned"]

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
    job.join(PATIENCE)


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
    assert "about 20 s here" in page.app.get("progress")[0].proto.text
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
