"""A GPU that runs out of memory, played on the CPU: `device` says cuda, and what is computed on it raises."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import Model
from mha_core.errors import DeviceError
from mha_core.models.own_model import OwnModel
from mha_core.models.stack import Stack
from mha_core.training import inference
from mha_core.training.loop import Training
from mha_core.training.recipe import Recipe
from tests.closeness import identical

from .runs import TINY, TINY_WORDS, task, trained

CUDA = torch.device("cuda", 0)
FULL = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")
SAID = "cuda:0 is out of memory; this was computed on the CPU."


class OnFullGpu(OwnModel):
    @property
    def device(self) -> torch.device:
        return CUDA


def full(model: Model, *, fall_back: bool, error: RuntimeError = FULL, kind: type[OwnModel] = OnFullGpu) -> Model:
    """The same model on a GPU that has no room for a pass; the copy of its stack that is made for the CPU has."""

    def refused(way: str) -> Callable[..., Any]:
        def compute(self: Stack, *args: Any, **how: Any) -> Any:
            if getattr(self, "is_full", False):
                raise error
            return getattr(super(full_kind, self), way)(*args, **how)

        return compute

    ways = {way: refused(way) for way in ("forward", "without_maps")}
    full_kind: type[Stack] = type("Full", (type(model.encoder),), ways)
    stack = full_kind(model.stack.sizes)
    stack.load_state_dict(model.stack.state_dict())
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


@pytest.mark.faults
def test_a_full_gpu_chosen_by_name_a_full_cpu_and_other_errors_raise(tiny: Model) -> None:
    with pytest.raises(DeviceError, match="out of memory; shorten the text or choose the cpu"):
        full(tiny, fall_back=False).run("a b c")
    with pytest.raises(torch.OutOfMemoryError):
        full(tiny, fall_back=True, kind=OwnModel).run("a b c")
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


def test_training_on_auto_falls_back_to_the_cpu() -> None:
    training = OnGpu(AUTO, task(AUTO.task))
    full_after(training, 2, "next_loss")
    told = list(training.events())
    assert training.notices == (SAID,)
    assert training.device.type == "cpu"
    assert training.history.end is not None
    assert (training.history.end.reason, len(training.history.steps)) == ("steps", AUTO.steps)
    assert len(training.history.evaluations) == AUTO.evaluations + 1
    assert told[-1] == training.history.end


def test_a_training_on_a_device_chosen_by_name_and_other_errors_raise() -> None:
    training = OnGpu(replace(AUTO, device="cpu"), task("who"))
    full_after(training, 2, "next_loss")
    with pytest.raises(DeviceError, match="cuda:0 is out of memory; choose smaller sizes or choose the cpu"):
        list(training.events())
    training = OnGpu(AUTO, task("who"))
    full_after(training, 2, "next_loss", RuntimeError("CUDA error: an illegal memory access"))
    with pytest.raises(RuntimeError, match="illegal memory access"):
        list(training.events())


Ask = Callable[[Model, Callable[[str], object]], Any]
QUESTIONS: dict[str, tuple[Recipe, Ask]] = {
    "logits": (TINY, lambda model, told: inference.logits(model, ["the dog", "a cat chased the dog"], on_warning=told)),
    "continuation": (
        TINY_WORDS,
        lambda model, told: inference.continuation(
            model, model.tokenizer.id_to_token(3) or "", 5, temperature=1.0, seed=3, on_warning=told
        ),
    ),
}


@pytest.mark.parametrize(("question", "position"), list(zip(QUESTIONS, ["none", "alibi"], strict=True)))
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
