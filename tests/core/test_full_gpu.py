"""A GPU that runs out of memory, played on the CPU: `device` says cuda, and the encoder on it raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from mha_core import Model
from mha_core.errors import DeviceError
from mha_core.measure.measures import largest_difference
from mha_core.models.encoder import Encoder, EncoderSizes
from mha_core.positions import Learned, Nothing, Position, Sinusoidal

FULL = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")


class FullEncoder(Encoder):
    """Raises what a full GPU raises, if it is told to; the copy that is made for the CPU is not."""

    error: RuntimeError | None = None

    def forward(self, *args: Any, **options: Any) -> Any:
        if self.error is not None:
            raise self.error
        return super().forward(*args, **options)


class OnFullGpu(Model):
    @property
    def device(self) -> torch.device:
        return torch.device("cuda", 0)


@pytest.fixture
def full_gpu(tiny: Model) -> Callable[..., Model]:
    def make(*, fall_back: bool, error: RuntimeError = FULL, kind: type[Model] = OnFullGpu) -> Model:
        assert isinstance(tiny.encoder.sizes, EncoderSizes)
        encoder = FullEncoder(tiny.encoder.sizes)
        encoder.error = error
        encoder.load_state_dict(tiny.encoder.state_dict())
        return kind("full", tiny.tokenizer, encoder.eval(), origin="random", fall_back=fall_back)

    return make


@pytest.mark.parametrize(
    "error", [FULL, RuntimeError("MPS backend out of memory (MPS allocated: 18.13 GB)")], ids=["cuda", "mps"]
)
def test_a_full_gpu_that_auto_chose(full_gpu: Callable[..., Model], tiny: Model, error: RuntimeError) -> None:
    model = full_gpu(fall_back=True, error=error)
    for _ in range(2):
        run = model.run("a b c", heads_off=[(0, 1)], mask="causal", trace_layer=1)
        expected = tiny.run("a b c", heads_off=[(0, 1)], mask="causal", trace_layer=1)
        assert run.notices == ("cuda:0 is out of memory; this was computed on the CPU.",)
        assert run.device == torch.device("cpu")
        assert torch.equal(run.weights, expected.weights)
        assert torch.equal(run.hidden, expected.hidden)
        assert [step.name for step in run.steps] == [step.name for step in expected.steps]
    assert len(model.run_batch(["a", "b c"])[1].notices) == 1


@pytest.mark.parametrize("position", ["sinusoidal", Nothing(), Sinusoidal(24)], ids=str)
def test_a_full_gpu_with_another_position(
    full_gpu: Callable[..., Model], tiny: Model, position: str | Position
) -> None:
    run = full_gpu(fall_back=True).run("a b c", position=position)
    assert largest_difference(run.weights, tiny.run("a b c", position=position).weights) <= 1e-6


def test_a_full_gpu_need_not_hold_a_second_table(
    full_gpu: Callable[..., Model], tiny: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise FULL

    model, learned = full_gpu(fall_back=True), Learned(24, 12)
    monkeypatch.setattr(nn.Parameter, "__deepcopy__", full)
    run = model.run("a b c", position=learned)
    assert run.notices == ("cuda:0 is out of memory; this was computed on the CPU.",)
    assert torch.equal(run.weights, tiny.run("a b c", position=learned).weights)


@pytest.mark.faults
def test_a_full_gpu_that_was_chosen_by_name_raises(full_gpu: Callable[..., Model]) -> None:
    with pytest.raises(DeviceError, match="out of memory; shorten the text or choose the cpu"):
        full_gpu(fall_back=False).run("a b c")


@pytest.mark.faults
def test_a_full_cpu_has_nowhere_to_go(full_gpu: Callable[..., Model]) -> None:
    with pytest.raises(torch.OutOfMemoryError):
        full_gpu(fall_back=True, kind=Model).run("a b c")


def test_other_errors_on_a_gpu_are_not_hidden(full_gpu: Callable[..., Model]) -> None:
    with pytest.raises(RuntimeError, match="illegal memory access"):
        full_gpu(fall_back=True, error=RuntimeError("CUDA error: an illegal memory access")).run("a b c")
