"""The choice of a device and a number format, on machines that have cuda or mps and on those that do not."""

import pytest
import torch

from mha_core import device
from mha_core.errors import DeviceError, DtypeError


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with neither cuda nor mps, to which a test may add either."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    return monkeypatch


def test_the_cpu_is_always_there(machine: pytest.MonkeyPatch) -> None:
    assert device.available() == ["cpu"]
    assert device.pick("auto") == device.pick() == device.pick("cpu") == torch.device("cpu")


def test_auto_prefers_cuda_then_mps(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(torch.backends.mps, "is_available", lambda: True)
    assert device.available() == ["mps", "cpu"]
    assert device.pick("auto") == torch.device("mps")
    machine.setattr(torch.cuda, "is_available", lambda: True)
    assert device.available() == ["cuda", "mps", "cpu"]
    assert device.pick("auto") == torch.device("cuda")


def test_an_explicit_choice_wins(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(torch.cuda, "is_available", lambda: True)
    machine.setattr(torch.cuda, "device_count", lambda: 2)
    assert device.pick("cpu") == torch.device("cpu")
    assert device.pick(torch.device("cuda:1")) == torch.device("cuda:1")
    with pytest.raises(DeviceError, match=r"cuda:2.*has 2"):
        device.pick("cuda:2")


@pytest.mark.usefixtures("machine")
def test_a_device_that_is_not_there() -> None:
    for choice in ("cuda", "cuda:0", "mps", "meta", "toaster", "", "cpu:x"):
        with pytest.raises(DeviceError, match=r"choose one of auto, cpu"):
            device.pick(choice)


def test_dtypes_that_cannot_be_computed_in() -> None:
    device.require_dtype(torch.float64, torch.device("cpu"))
    device.require_dtype(torch.float32, torch.device("mps"))
    with pytest.raises(DtypeError, match=r"int64.*floating"):
        device.require_dtype(torch.int64, torch.device("cpu"))
    with pytest.raises(DtypeError, match=r"mps has no float64"):
        device.require_dtype(torch.float64, torch.device("mps"))


def test_out_of_memory_is_told_from_other_errors() -> None:
    assert device.is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"))
    assert device.is_out_of_memory(RuntimeError("MPS backend out of memory (MPS allocated: 18 GB)"))
    assert device.is_out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`"))
    assert not device.is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
