"""A GPU that is played on the CPU: its tensors say cuda:0, and what a GPU refuses is refused.

An operation over tensors of both devices, `.numpy()` and a generator of the CPU raise, and a full one has no memory for
anything new. The numbers are those of the CPU, so that a page on it must say what it says without it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

CUDA = torch.device("cuda", 0)
FULL = "CUDA out of memory. Tried to allocate 20.00 MiB."
MIXED = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
# that may take tensors of both devices: copies, and indices of the CPU into a tensor of the GPU
MAY_MIX = {
    "_has_compatible_shallow_copy_type",
    "copy_",
    "to",
    "__getitem__",
    "__setitem__",
    "set_",
    "__set__",
    "__deepcopy__",
    "cpu",
    "data",
}


class OnGpu(Tensor):
    """A tensor that says cuda:0."""

    device = CUDA
    is_cuda = True
    is_cpu = False

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _called(func, args, kwargs or {})


class Gpu(TorchFunctionMode):
    """Tensors are made on it by `device="cuda"` and brought to it by `.to("cuda")`, in this thread.

    Attributes:
        full: it has no memory for anything new.
        passes: how many computations of models it takes before it is full; None = all.
    """

    now: Gpu | None = None

    def __init__(self, passes: int | None = None) -> None:
        super().__init__()
        self.passes, self.full = passes, passes == 0

    def takes_a_pass(self) -> None:
        """Counts a computation of a model that begins."""
        if self.passes is not None:
            self.full = self.passes <= 0
            self.passes -= 1

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _called(func, args, kwargs or {})


@contextmanager
def played(passes: int | None = None) -> Iterator[Gpu]:
    """The device, there for everything in this block."""
    before = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)  # parameters too say where they are
    try:
        with Gpu(passes) as gpu:
            Gpu.now = gpu
            yield gpu
    finally:
        Gpu.now = None
        torch.__future__.set_overwrite_module_params_on_conversion(before)


def _called(func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    with torch._C.DisableTorchFunction():
        names_a_device = func in (torch.device, torch._C._nn._parse_to)
        return func(*args, **kwargs) if names_a_device else _played(func, args, kwargs)


def _played(func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """What torch does, on the device that the arguments say."""
    name = getattr(func, "__name__", "")
    given = [leaf for one in (*args, *kwargs.values()) for leaf in _leaves(one) if isinstance(leaf, Tensor)]
    here = [tensor for tensor in given if isinstance(tensor, OnGpu)]
    if here and name in ("numpy", "__array__", "__dlpack__"):
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first")
    asked = _device_asked(name, args, kwargs)
    if here and name not in MAY_MIX:
        _one_device([tensor for tensor in given if not isinstance(tensor, OnGpu)])
    if name == "__getitem__" and given and not isinstance(given[0], OnGpu) and here:
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
    goes = bool(here) if asked is None else asked.type == "cuda"
    generator = kwargs.get("generator")
    if goes and generator is not None:
        raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
    if name == "__deepcopy__":
        return _copied(*args)
    plain_kwargs = {key: _changed(_as_plain, one) for key, one in kwargs.items()}
    result = func(*(_changed(_as_plain, one) for one in args), **plain_kwargs)
    if not goes:
        return _changed(lambda one: one.as_subclass(Tensor) if isinstance(one, OnGpu) else one, result)
    known = {tensor.untyped_storage().data_ptr() for tensor in here}
    return _changed(functools.partial(_marked, known=known), result)


def _leaves(value: Any) -> list[Any]:
    """All that is in it. What has no branches costs nothing: every call of torch comes here."""
    return tree_leaves(value) if isinstance(value, (tuple, list, dict)) else [value]


def _changed(change: Callable[[Any], Any], value: Any) -> Any:
    """The same with each leaf changed."""
    return tree_map(change, value) if isinstance(value, (tuple, list, dict)) else change(value)


def _device_asked(name: str, args: Any, kwargs: dict[str, Any]) -> torch.device | None:
    """The device that a call names, or that of the tensor whose kind it asks for."""
    if name == "cpu":
        return torch.device("cpu")
    if name == "cuda":
        return CUDA
    target = kwargs.get("device")
    if target is None and name == "to":
        target = next((one for one in args[1:] if isinstance(one, (str, torch.device, Tensor))), kwargs.get("other"))
        target = None if target is None else target.device if isinstance(target, Tensor) else target
    if target is None and name in ("new_tensor", "type_as"):
        return None
    return None if target is None else torch.device(target)


def _one_device(others: list[Tensor]) -> None:
    """Raises where one of these, which are not on the GPU, is no single number."""
    if any(tensor.dim() for tensor in others if tensor.device.type != "meta"):
        raise RuntimeError(MIXED)


def _as_plain(value: Any) -> Any:
    return torch.device("cpu") if _names_the_gpu(value) else value


def _names_the_gpu(value: Any) -> bool:
    return (isinstance(value, torch.device) and value.type == "cuda") or (
        isinstance(value, str) and value.partition(":")[0] == "cuda"
    )


def _marked(value: Any, known: set[int]) -> Any:
    """A result of the GPU. Raises what a full one raises for new memory."""
    if not isinstance(value, Tensor) or value.device.type == "meta":
        return value
    if Gpu.now is not None and Gpu.now.full and value.untyped_storage().data_ptr() not in known:
        raise torch.OutOfMemoryError(FULL)
    if isinstance(value, OnGpu):
        return value
    return value.as_subclass(OnGpu)


def _copied(tensor: Tensor, memo: dict[int, Any]) -> Tensor:
    """`copy.deepcopy` of a tensor on the GPU."""
    if id(tensor) not in memo:
        copied = tensor.detach().clone().as_subclass(OnGpu).requires_grad_(tensor.requires_grad)
        if isinstance(tensor, torch.nn.Parameter):
            copied._is_param = True  # what makes a subclass one
        memo[id(tensor)] = copied
    found: Tensor = memo[id(tensor)]
    return found
