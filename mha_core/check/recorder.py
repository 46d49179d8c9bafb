"""A record of the operations of a layer: each result stays in the autograd graph and can be replaced.

Axis letters: b batch, h head, i query, j key, d head channel.
"""

from __future__ import annotations

import linecache
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from ..attention.functional import kernel_scores, softmax_over_keys

_LIBRARIES = (str(Path(torch.__file__).parent), str(Path(__file__).parent), kernel_scores.__code__.co_filename)
PRODUCTS = {"linear", "addmm", "baddbmm", "matmul", "bmm", "mm", "einsum", "conv1d", "rmatmul"}
FACTORS = {"mul", "rmul", "imul", "div", "truediv", "itruediv", "true_divide"}
CUTS = {"view", "reshape", "unflatten", "flatten", "transpose", "permute"}
DROPOUTS = {"dropout", "alpha_dropout", "feature_dropout"}
NORMS = {"softmax", "exp", "sigmoid", "relu"}  # that make weights of scores
MASKS = {"masked_fill", "where", "add", "iadd", "radd", "mul", "rmul", "imul"}  # that change a score or a weight
COPIES = {"repeat", "cat", "expand"}
ANGLES = {"cos", "sin", "polar"}
SHIFTS = {"sub", "isub", "log_softmax"}  # before an exp: no weight of a softmax changes
_RECORDED = PRODUCTS | FACTORS | CUTS | DROPOUTS | NORMS | SHIFTS | MASKS | COPIES | ANGLES


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
    """A call of a torch function: its name, tensor arguments, result, line and place among the operations."""

    name: str
    inputs: tuple[Tensor, ...]
    result: Tensor
    line: Line | None = None
    index: int = -1  # −1: an input of the layer


@dataclass
class Recorder(TorchFunctionMode):
    """Record the operations of a pass; `replacements` go in the place of results, by the index of the operation."""

    replacements: Mapping[int, Tensor] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_function__(
        self, func: Any, kinds: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run a torch function and record it."""
        kwargs = kwargs or {}
        opened = {F.scaled_dot_product_attention: _attend, F.multi_head_attention_forward: _multi_head}.get(func)
        if opened is not None:
            with self:
                return opened(*args, **kwargs)
        call = getattr(func, "__name__", "")
        name = call.strip("_")
        parts = [
            part for arg in (*args, *kwargs.values()) for part in (arg if isinstance(arg, (list, tuple)) else [arg])
        ]
        inputs = tuple(part for part in parts if isinstance(part, Tensor))
        is_changed = name in _RECORDED and (call.startswith("__i") or (call.endswith("_") and call[0] != "_"))
        if is_changed:
            inputs = (inputs[0].clone(), *inputs[1:])  # the numbers before they are changed in place
        result = func(*args, **kwargs)
        if name not in _RECORDED or not isinstance(result, Tensor):
            return result
        index = len(self.operations)
        recorded = result.detach().clone() if is_changed and name in FACTORS else result
        self.operations.append(Operation(name, inputs, recorded, _line(), index))
        is_copied = name in PRODUCTS | FACTORS and not is_changed  # later changes in place leave what is recorded
        return self.replacements.get(index, result.clone() if is_copied else result)

    def maker(self, tensor: Tensor, names: set[str]) -> Operation | None:
        """Return the last operation of these names whose result is this tensor."""
        return next((o for o in reversed(self.operations) if o.result is tensor and o.name in names), None)


def _line() -> Line | None:
    """Return the line of the user's code, or of a library's layer, that called torch."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_LIBRARIES) and not file.startswith("<frozen"):
            return Line(file, frame.f_lineno, linecache.getline(file, frame.f_lineno).strip())
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _multi_head(*args: Any, **kwargs: Any) -> Any:
    """Run torch's multi_head_attention_forward so that its body is under the mode instead of handed over whole."""
    func = F.multi_head_attention_forward
    scope = {name: _no if name.startswith("has_torch_function") else value for name, value in func.__globals__.items()}
    copy = types.FunctionType(func.__code__, scope, func.__name__, func.__defaults__, func.__closure__)
    copy.__kwdefaults__ = func.__kwdefaults__
    return copy(*args, **kwargs)


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
    scores = kernel_scores(query, key, attn_mask, is_causal, scale, enable_gqa)
    weights = F.dropout(softmax_over_keys(scores, ~scores.isneginf()), dropout_p)
    if enable_gqa:
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    return weights @ value
