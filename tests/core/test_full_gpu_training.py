"""Trainings, and answers of what was trained, on a GPU that runs out of memory, played on the CPU."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import Model
from mha_core.errors import DeviceError
from mha_core.models.stack import Stack
from mha_core.training import inference, loop, order_runs, plan_time
from mha_core.training.limits import Order
from mha_core.training.loop import Training
from mha_core.training.objectives import objective
from mha_core.training.order_runs import OrderRuns, step_times
from mha_core.training.recipe import Recipe

from .runs import TINY, TINY_WORDS, task, trained
from .test_full_gpu import FULL

CUDA = torch.device("cuda", 0)
SAID = "cuda:0 is out of memory; this was computed on the CPU."
AUTO = replace(TINY, device="auto", steps=6, evaluations=2)


class OnGpu(Training):
    """Its device says cuda until its weights are moved."""

    moved = False

    @property
    def device(self) -> torch.device:
        return super().device if self.moved else CUDA

    def move(self, device: torch.device) -> None:
        super().move(device)
        self.moved = True


def full_after(training: OnGpu, calls: int, name: str, error: Exception = FULL) -> None:
    """Has a part of the objective run out of memory after so many calls, for as long as it is on the GPU."""
    really, count = getattr(training.objective, name), [0]

    def compute(*args: Any) -> Any:
        count[0] += 1
        if count[0] > calls and not training.moved:
            raise error
        return really(*args)

    setattr(training.objective, name, compute)


@pytest.mark.parametrize("name", ["next_loss", "evaluate", "evaluate_train", "maps"])
@pytest.mark.parametrize("recipe", [AUTO, replace(AUTO, **{**TINY_WORDS.to_json(), "device": "auto", "steps": 6})])
def test_a_training_on_auto_goes_on_on_the_cpu(recipe: Recipe, name: str) -> None:
    training = OnGpu(recipe, task(recipe.task))
    full_after(training, 0 if name == "evaluate_train" else 2, name)
    told = list(training.events())
    assert training.notices == (SAID,)
    assert training.device.type == "cpu"
    assert training.history.end is not None
    assert (training.history.end.reason, len(training.history.steps)) == ("steps", recipe.steps)
    assert len(training.history.evaluations) == recipe.evaluations + 1
    assert told[-1] == training.history.end


def test_weights_and_what_the_optimiser_knows_move_together() -> None:
    training = Training(AUTO, task("who"))
    training.step()
    training.move(torch.device("meta"))
    state = [value for known in training.optimizer.state.values() for value in known.values()]
    assert len(state) == 3 * len(list(training.stack.parameters()))
    assert {one.device.type for one in (*state, *training.stack.parameters())} == {"meta"}
    assert training.device.type == "meta"


def test_a_device_that_was_chosen_by_name_raises() -> None:
    training = OnGpu(replace(AUTO, device="cpu"), task("who"))
    full_after(training, 2, "next_loss")
    with pytest.raises(DeviceError, match="cuda:0 is out of memory; choose smaller sizes or choose the cpu"):
        list(training.events())


def test_other_errors_are_not_hidden() -> None:
    training = OnGpu(AUTO, task("who"))
    full_after(training, 2, "next_loss", RuntimeError("CUDA error: an illegal memory access"))
    with pytest.raises(RuntimeError, match="illegal memory access"):
        list(training.events())


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU on which not even the weights have room."""

    def build(recipe: Recipe, data: Any, tokenizer: Any, device: torch.device) -> Any:
        if device.type == "cuda":
            raise FULL
        return objective(recipe, data, tokenizer, device)

    monkeypatch.setattr(loop, "pick", lambda _: CUDA)
    monkeypatch.setattr(loop, "objective", build)


@pytest.mark.usefixtures("no_room")
def test_a_job_tells_it_once_for_all_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_runs, "TIMING_SECONDS", 0.0)
    lines: list[dict[str, Any]] = []
    order = Order(str(tmp_path), (AUTO, replace(AUTO, seed=2)), None, 60, timing=True)
    OrderRuns(order, lambda at_once=True, **line: lines.append(line), threading.Event(), threading.Event()).run()
    assert [line for line in lines if "told" in line] == [{"told": SAID}]
    assert lines[-1] == {"done": "steps"}
    assert any("timing" in line for line in lines), "all of them were measured on the CPU"


def test_steps_on_two_devices_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_runs, "TIMING_SECONDS", 0.0)
    steady = replace(AUTO, schedule="constant")
    torchs, own = Training(replace(steady, implementation="torch"), task("who")), OnGpu(steady, task("who"))
    own.moved = True
    full_after(own, 0, "next_loss")
    assert step_times({"torch": torchs, "fused": own}, threading.Event()) is not None
    assert step_times({"torch": torchs, "fused": OnGpu(steady, task("who"))}, threading.Event()) is None


def test_a_step_is_measured_where_it_will_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    really, devices, told = plan_time.timed, list[str](), list[str]()

    def timed(recipe: Recipe, *sizes: int) -> float:
        devices.append(recipe.device)
        if recipe.device != "cpu":
            raise FULL
        return really(recipe, *sizes)

    monkeypatch.setattr(plan_time, "timed", timed)
    monkeypatch.setattr(plan_time, "pick", lambda choice: torch.device("cpu") if choice == "cpu" else CUDA)
    plan_time.measured.cache_clear()
    assert plan_time.step_seconds(AUTO, 8, 2, told.append) > 0
    assert devices[:2] == ["cuda:0", "cpu"]
    assert told == [SAID]
    with pytest.raises(DeviceError, match="choose smaller sizes or choose the cpu"):
        plan_time.step_seconds(replace(AUTO, device="cuda"), 8, 2)
    plan_time.measured.cache_clear()


class OnFullGpu(Model):
    @property
    def device(self) -> torch.device:
        return CUDA


def full(model: Model, *, fall_back: bool) -> OnFullGpu:
    """The same model on a GPU that has no room for a pass; its copy on the CPU has."""

    def refuse(self: Stack, *args: Any, **how: Any) -> Any:
        if getattr(self, "is_full", False):
            raise FULL
        return super(kind, self).without_maps(*args, **how)  # type: ignore[misc]

    kind: type[Stack] = type("Full", (type(model.encoder),), {"without_maps": refuse})
    stack = kind(model.encoder.sizes)
    stack.load_state_dict(model.encoder.state_dict())
    stack.is_full = True  # type: ignore[assignment]
    return OnFullGpu(
        "full", model.tokenizer, stack.eval(), origin="trained here", fall_back=fall_back, history=model.history
    )


Ask = Callable[[Model, Callable[[str], object]], Any]
QUESTIONS: dict[str, tuple[Recipe, Ask]] = {
    "logits": (TINY, lambda model, told: inference.logits(model, ["the dog", "a cat chased the dog"], told=told)),
    "probabilities": (TINY, lambda model, told: inference.probabilities(model, ["the dog"], told=told)),
    "each": (TINY, lambda model, told: inference.probabilities_of_each(model, ["the dog", "a"], told=told)),
    "continuation": (
        TINY_WORDS,
        lambda model, told: inference.continuation(
            model, model.tokenizer.id_to_token(3) or "", 5, temperature=1.0, seed=3, told=told
        ),
    ),
}


@pytest.mark.parametrize("position", ["none", "sinusoidal", "learned", "alibi"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_are_answered_on_the_cpu(question: str, position: str) -> None:
    recipe, ask = QUESTIONS[question]
    model = trained(replace(recipe, position=position, steps=1, evaluations=1)).model()
    said: list[str] = []
    found, wanted = ask(full(model, fall_back=True), said.append), ask(model, said.append)
    assert said == [SAID]
    if isinstance(found, Tensor):
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-6)
    else:
        assert [token for token, _ in found] == [token for token, _ in wanted]
    with pytest.raises(DeviceError, match="out of memory"):
        ask(full(model, fall_back=False), said.append)
