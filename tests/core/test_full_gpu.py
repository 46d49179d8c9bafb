"""A GPU that runs out of memory, played on the CPU: `device` says cuda, and what is computed on it raises."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mha_core import Model
from mha_core.errors import DeviceError
from mha_core.models.stack import Stack
from mha_core.positions import Learned, Nothing, Position, Sinusoidal
from mha_core.training import inference, loop, order_runs
from mha_core.training.loop import Training
from mha_core.training.objectives import objective
from mha_core.training.order_runs import step_times
from mha_core.training.recipe import Recipe
from tests.closeness import identical

from .runs import TINY, TINY_WORDS, task, trained
from .test_worker import here, order

CUDA = torch.device("cuda", 0)
FULL = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")
SAID = "cuda:0 is out of memory; this was computed on the CPU."


class OnFullGpu(Model):
    @property
    def device(self) -> torch.device:
        return CUDA


def full(model: Model, *, fall_back: bool, error: RuntimeError = FULL, kind: type[Model] = OnFullGpu) -> Model:
    """The same model on a GPU that has no room for a pass; the copy of its stack that is made for the CPU has."""

    def refused(way: str) -> Callable[..., Any]:
        def compute(self: Stack, *args: Any, **how: Any) -> Any:
            if getattr(self, "is_full", False):
                raise error
            return getattr(super(full_kind, self), way)(*args, **how)

        return compute

    ways = {way: refused(way) for way in ("forward", "without_maps")}
    full_kind: type[Stack] = type("Full", (type(model.encoder),), ways)
    stack = full_kind(model.encoder.sizes)
    stack.load_state_dict(model.encoder.state_dict())
    stack.is_full = True  # type: ignore[assignment]
    about: dict[str, Any] = {"origin": model.origin, "fall_back": fall_back, "history": model.history}
    return kind("full", model.tokenizer, stack.eval(), **about)


@pytest.mark.parametrize(
    "error", [FULL, RuntimeError("MPS backend out of memory (MPS allocated: 18.13 GB)")], ids=["cuda", "mps"]
)
def test_a_full_gpu_that_auto_chose(tiny: Model, error: RuntimeError) -> None:
    model = full(tiny, fall_back=True, error=error)
    for _ in range(2):
        run = model.run("a b c", heads_off=[(0, 1)], mask="causal", trace_layer=1)
        expected = tiny.run("a b c", heads_off=[(0, 1)], mask="causal", trace_layer=1)
        assert run.notices == (SAID,)
        assert run.device == torch.device("cpu")
        assert torch.equal(run.weights, expected.weights)
        assert torch.equal(run.hidden, expected.hidden)
        assert [step.name for step in run.steps] == [step.name for step in expected.steps]
    assert len(model.run_batch(["a", "b c"])[1].notices) == 1


def test_a_full_gpu_with_another_position(tiny: Model) -> None:
    ways: list[str | Position] = ["sinusoidal", Nothing(), Sinusoidal(24)]
    for position in ways:
        run = full(tiny, fall_back=True).run("a b c", position=position)
        identical(run.weights, tiny.run("a b c", position=position).weights)


def test_a_full_gpu_need_not_hold_a_second_table(tiny: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise FULL

    model, learned = full(tiny, fall_back=True), Learned(24, 12)
    monkeypatch.setattr(nn.Parameter, "__deepcopy__", refuse)
    run = model.run("a b c", position=learned)
    assert run.notices == (SAID,)
    assert torch.equal(run.weights, tiny.run("a b c", position=learned).weights)


@pytest.mark.faults
def test_a_full_gpu_chosen_by_name_a_full_cpu_and_other_errors_raise(tiny: Model) -> None:
    with pytest.raises(DeviceError, match="out of memory; shorten the text or choose the cpu"):
        full(tiny, fall_back=False).run("a b c")
    with pytest.raises(torch.OutOfMemoryError):
        full(tiny, fall_back=True, kind=Model).run("a b c")
    with pytest.raises(RuntimeError, match="illegal memory access"):
        full(tiny, fall_back=True, error=RuntimeError("CUDA error: an illegal memory access")).run("a b c")


# ---- trainings, and answers of what was trained


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


WORDS = replace(TINY_WORDS, device="auto", steps=6)
other_part = pytest.mark.thorough("Each other part of the objective runs out of memory in a training of its own.")


@pytest.mark.parametrize(
    ("recipe", "name"),
    [
        (AUTO, "next_loss"),
        pytest.param(WORDS, "evaluate_train", marks=other_part),
        pytest.param(AUTO, "evaluate", marks=other_part),
        pytest.param(WORDS, "maps", marks=other_part),
    ],
)
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


def test_a_training_on_a_device_chosen_by_name_and_other_errors_raise() -> None:
    training = OnGpu(replace(AUTO, device="cpu"), task("who"))
    full_after(training, 2, "next_loss")
    with pytest.raises(DeviceError, match="cuda:0 is out of memory; choose smaller sizes or choose the cpu"):
        list(training.events())
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


@pytest.mark.thorough("A job of two runs trains and measures them on the CPU.")
@pytest.mark.usefixtures("no_room")
def test_a_job_tells_it_once_for_all_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_runs, "TIMING_SECONDS", 0.0)
    lines = here(order(tmp_path, AUTO, replace(AUTO, seed=2), timing=True))
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


@pytest.mark.parametrize(
    ("question", "position"), list(zip(QUESTIONS, ["none", "sinusoidal", "learned", "alibi"], strict=True))
)
def test_questions_are_answered_on_the_cpu(question: str, position: str) -> None:
    recipe, ask = QUESTIONS[question]
    model = trained(replace(recipe, position=position, steps=1, evaluations=1)).model()
    notices: list[str] = []
    found, wanted = ask(full(model, fall_back=True), notices.append), ask(model, notices.append)
    assert notices == [SAID]
    if isinstance(found, Tensor):
        identical(found, wanted)
    else:
        assert [token for token, _ in found] == [token for token, _ in wanted]
    with pytest.raises(DeviceError, match="out of memory"):
        ask(full(model, fall_back=False), notices.append)
