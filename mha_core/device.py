"""The device of a computation: an explicit choice, otherwise the first of cuda, mps and cpu that is present."""

import copy
import os
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

from .errors import DeviceError, DtypeError

T = TypeVar("T")
M = TypeVar("M", bound=nn.Module)
VARIABLE = "HEADLIGHT_DEVICE"  # in the environment: the one kind that is used, where it is present


def available() -> list[str]:
    """Names of the kinds of device present on this machine, best first; "cpu" is always the last."""
    present = []
    if torch.cuda.is_available():
        present.append("cuda")
    if torch.backends.mps.is_available():
        present.append("mps")
    present.append("cpu")
    only = os.environ.get(VARIABLE)
    return [only] if only in present else present


def pick(choice: str | torch.device = "auto") -> torch.device:
    """The device for a choice such as "auto", "cpu", "cuda", "cuda:1" or "mps".

    Raises:
        DeviceError: the name is no device, or that device is not on this machine.
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
    """Refuses a number format that the device cannot compute in.

    Raises:
        DtypeError: not a floating type, or float64 on mps.
    """
    if not dtype.is_floating_point:
        raise DtypeError(f"dtype={dtype} is not a floating type; choose torch.float32 or torch.float64")
    if device.type == "mps" and dtype == torch.float64:
        raise DtypeError("mps has no float64; choose torch.float32 or device='cpu'")


def seed_draws(device: torch.device, seed: int) -> None:
    """Seeds the one generator that dropout on a device draws from.

    On a CPU not by `torch.manual_seed`, which also writes down the stack for each of three kinds of device that are not
    there: up to half a millisecond.
    """
    (torch.default_generator if device.type == "cpu" else torch).manual_seed(seed)


def copied(module: M, device: torch.device) -> M:
    """A copy on a device, for which the module's own needs no room."""
    there: dict[int, torch.Tensor] = {id(one): one.to(device, copy=True) for one in module.buffers()}
    for one in module.parameters():
        there[id(one)] = nn.Parameter(one.detach().to(device, copy=True), one.requires_grad)
    return copy.deepcopy(module, there)


def is_out_of_memory(error: BaseException) -> bool:
    """True when a GPU ran out of memory; mps and cuBLAS report it as a plain RuntimeError."""
    text = str(error).lower()
    return isinstance(error, torch.OutOfMemoryError) or "out of memory" in text or "alloc_failed" in text


def or_on_the_cpu(
    call: Callable[[torch.device], T], device: torch.device, *, allowed: bool, smaller: str = "shorten the text"
) -> tuple[T, tuple[str, ...]]:
    """The result of `call` on the device, or on the CPU when the device is full; and what must be said of it.

    Args:
        allowed: False raises when the device is full, because the caller chose it by name.
        smaller: what would need less memory, as advice.

    Raises:
        DeviceError: the device is out of memory, and the CPU may not take over.
    """
    full = f"cuda:{device.index or 0}" if device.type == "cuda" else str(device)
    try:
        return call(device), ()
    except RuntimeError as error:
        if device.type == "cpu" or not is_out_of_memory(error):
            raise
        if not allowed:
            raise DeviceError(f"{full} is out of memory; {smaller} or choose the cpu") from error
    # out of the except: the error holds on to what the device computed so far
    return call(torch.device("cpu")), (f"{full} is out of memory; this was computed on the CPU.",)
