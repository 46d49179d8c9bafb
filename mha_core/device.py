"""Choice of the device: an explicit one, otherwise the first of cuda, mps and cpu that is present."""

import copy
import os
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

from .errors import DeviceError, DtypeError

T = TypeVar("T")
M = TypeVar("M", bound=nn.Module)
VARIABLE = "HEADLIGHT_DEVICE"  # environment variable: restricts the choice to one kind of device, if present


def available() -> list[str]:
    """Return the kinds of device present on this machine, best first; "cpu" is always the last."""
    present = []
    if torch.cuda.is_available():
        present.append("cuda")
    if torch.backends.mps.is_available():
        present.append("mps")
    present.append("cpu")
    only = os.environ.get(VARIABLE)
    return [only] if only in present else present


def pick(choice: str | torch.device = "auto") -> torch.device:
    """Return the device for a choice such as "auto", "cpu", "cuda", "cuda:1" or "mps".

    Raises:
        DeviceError: the name is not a device, or that device is not on this machine.
    """
    if choice == "auto":
        return torch.device(available()[0])
    try:
        device = torch.device(choice)
    except (RuntimeError, TypeError) as error:
        raise DeviceError(f"device={choice!r} is not a device; choose one of auto, {', '.join(available())}") from error
    if device.type not in available():
        raise DeviceError(f"device={choice!s} is not on this machine; choose one of auto, {', '.join(available())}")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise DeviceError(f"device={choice!s} is not on this machine; it has {torch.cuda.device_count()} of them")
    return device


def require_dtype(dtype: torch.dtype, device: torch.device) -> None:
    """Raise unless the device can compute in this dtype.

    Raises:
        DtypeError: not a floating type, or float64 on mps.
    """
    if not dtype.is_floating_point:
        raise DtypeError(f"dtype={dtype} is not a floating type; choose torch.float32 or torch.float64")
    if device.type == "mps" and dtype == torch.float64:
        raise DtypeError("mps has no float64; choose torch.float32 or device='cpu'")


def seed_dropout(device: torch.device, seed: int) -> None:
    """Seed the generator that dropout on a device draws from.

    On a CPU `torch.manual_seed` would take up to half a millisecond more, because it also seeds, lazily and with a
    stack trace each, three kinds of device that are absent.
    """
    (torch.default_generator if device.type == "cpu" else torch).manual_seed(seed)


def copy_to(module: M, device: torch.device) -> M:
    """Return a copy of a module on a device, without a second copy on the module's own device."""
    copies: dict[int, torch.Tensor] = {id(buffer): buffer.to(device, copy=True) for buffer in module.buffers()}
    for weight in module.parameters():
        copies[id(weight)] = nn.Parameter(weight.detach().to(device, copy=True), weight.requires_grad)
    return copy.deepcopy(module, copies)


def is_oom_error(error: BaseException) -> bool:
    """Return whether a GPU ran out of memory; mps and cuBLAS report it as a plain RuntimeError."""
    text = str(error).lower()
    return isinstance(error, torch.OutOfMemoryError) or "out of memory" in text or "alloc_failed" in text


def run_with_cpu_fallback(
    call: Callable[[torch.device], T], device: torch.device, *, allowed: bool, smaller: str = "shorten the text"
) -> tuple[T, tuple[str, ...]]:
    """Run `call` on the device, or on the CPU when the device is out of memory.

    Args:
        call: the computation, given the device.
        device: the preferred device.
        allowed: False raises instead of falling back, because the user chose the device by name.
        smaller: advice on how to need less memory.

    Returns:
        the result, and the notices to show with it.

    Raises:
        DeviceError: the device is out of memory, and the fallback is not allowed.
    """
    full = f"cuda:{device.index or 0}" if device.type == "cuda" else str(device)
    try:
        return call(device), ()
    except RuntimeError as error:
        if device.type == "cpu" or not is_oom_error(error):
            raise
        if not allowed:
            raise DeviceError(f"{full} is out of memory; {smaller} or choose the cpu") from error
    # outside the except block, where the error still holds the device's intermediate tensors
    return call(torch.device("cpu")), (f"{full} is out of memory; this was computed on the CPU.",)
