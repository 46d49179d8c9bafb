"""A record of the operations of a layer: each result stays in the autograd graph and can be replaced.

Axis letters: b batch, h head, i query, j key, d head channel.
"""

from __future__ import annotations

import linecache
import math
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

_LIBRARIES = (str(Path(torch.__file__).parent), str(Path(__file__).parent))
_PRODUCTS = ("linear", "addmm", "baddbmm", "matmul", "bmm", "mm", "einsum", "conv1d", "rmatmul")
_QUOTIENTS = ("div", "truediv", "true_divide", "div_")
_SHAPES = ("view", "reshape", "unflatten", "transpose", "permute")
_DROPOUTS = ("dropout", "dropout_", "alpha_dropout", "feature_dropout")
_RECORDED = {*_PRODUCTS, *_QUOTIENTS, *_SHAPES, *_DROPOUTS, "softmax", "exp", "sub", "cat", "repeat", "mul"}


@dataclass(frozen=True)
class Line:
    """A line of source code."""

    file: str
    number: int
    code: str

    def __str__(self) -> str:
        return f"{Path(self.file).name}, line {self.number}: {self.code}"


@dataclass(frozen=True, eq=False)
class Operation:
    """A call of a torch function: its name, tensor arguments, options, result and the line that made it."""

    name: str
    inputs: tuple[Tensor, ...]
    options: Mapping[str, Any]
    result: Tensor
    line: Line | None
    dim: int = -1  # of a softmax


@dataclass
class Tap(TorchFunctionMode):
    """Record the operations of a pass; `replace` may give another result for a softmax."""

    replace: Callable[[Operation], Tensor | None] = lambda operation: None
    operations: list[Operation] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_function__(
        self, func: Any, kinds: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run a torch function and record it."""
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            with self:
                return _attend(*args, **kwargs)
        if func is F.multi_head_attention_forward:
            with self:
                return _unwrapped(func)(*args, **kwargs)
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "").strip("_")
        if name not in _RECORDED or not isinstance(result, Tensor):
            return result
        tensors = tuple(arg for arg in (*args, *kwargs.values()) if isinstance(arg, Tensor))
        if name == "einsum" or name == "cat":
            tensors = tuple(tensor for arg in args if isinstance(arg, (list, tuple)) for tensor in arg) or tensors
        operation = Operation(name, tensors, {**kwargs, "args": args}, result, _line())
        operation = self._as_softmax(operation)
        self.operations.append(operation)
        if operation.name == "softmax" and (other := self.replace(operation)) is not None:
            return other
        return result

    def _as_softmax(self, operation: Operation) -> Operation:
        """Recognise a softmax, also one written as exp(s) / Σ exp(s)."""
        name, inputs, result = operation.name, operation.inputs, operation.result
        if name == "softmax":
            args = operation.options["args"]
            dim = operation.options.get("dim", args[1] if len(args) > 1 and isinstance(args[1], int) else -1)
            return Operation(name, inputs, operation.options, result, operation.line, dim % max(result.dim(), 1))
        if name not in _QUOTIENTS or len(inputs) != 2 or inputs[0].dim() < 2 or inputs[1].dim() != inputs[0].dim():
            return operation
        powers = self.maker(inputs[0])
        if powers is None or powers.name != "exp":
            return operation
        summed = [axis for axis, size in enumerate(inputs[1].shape) if size == 1 != inputs[0].shape[axis]]
        scores = powers.inputs[0]
        shift = self.maker(scores)
        if shift is not None and shift.name == "sub":
            scores = shift.inputs[0]  # the largest score of the row is subtracted, which changes no weight
        return Operation("softmax", (scores,), {}, result, operation.line, summed[0]) if len(summed) == 1 else operation

    def maker(self, tensor: Tensor) -> Operation | None:
        """Return the operation whose result is this tensor."""
        return next((operation for operation in reversed(self.operations) if operation.result is tensor), None)


def _line() -> Line | None:
    """Return the line of the user's code, or of a library's layer, that called torch."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_LIBRARIES) and not file.startswith("<frozen"):
            return Line(file, frame.f_lineno, linecache.getline(file, frame.f_lineno).strip())
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _unwrapped(func: Any) -> Any:
    """Copy a Python function of torch so that its body runs under the mode instead of being handed over whole."""
    scope = {name: _no if name.startswith("has_torch_function") else value for name, value in func.__globals__.items()}
    copy = types.FunctionType(func.__code__, scope, func.__name__, func.__defaults__, func.__closure__)
    copy.__kwdefaults__ = func.__kwdefaults__
    return copy


def _no(*args: Any) -> bool:
    return False


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Compute torch's scaled_dot_product_attention from its parts, (…, i, d) and (…, j, d) -> (…, i, d)."""
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).tril()
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    empty = scores.isneginf().all(-1, keepdim=True)  # the weights of a row without a key are 0
    weights = torch.softmax(scores.masked_fill(empty, 0), -1)
    if bool(empty.any()):
        weights = weights.masked_fill(empty, 0)
    if dropout_p:
        weights = F.dropout(weights, dropout_p)
    return weights @ value
