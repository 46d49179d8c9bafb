"""Weights that a module computes itself: a softmax whose result, perhaps after dropout, is multiplied by the values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_SOFTMAXES = (torch.softmax, Tensor.softmax, F.softmax)
_PRODUCTS = (torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm)


class _Softmax(NamedTuple):
    result: Tensor  # kept alive, so that its id is not reused
    weights: Tensor  # before dropout
    axis: int  # of the keys


class SoftmaxCalls:
    """The softmax calls of a pass whose result has not been multiplied yet."""

    def __init__(self) -> None:
        self._pending: dict[int, _Softmax] = {}

    def weights(
        self, func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], out: object
    ) -> Tensor | None:
        """Return the weights (…, i, j) if this call multiplies them by values, otherwise None.

        Args:
            func: the function called.
            args: its positional arguments.
            kwargs: its keyword arguments.
            out: its result.
        """
        if func in _SOFTMAXES and isinstance(out, Tensor):
            axis = kwargs.get("dim", args[1] if len(args) > 1 else None)
            if isinstance(axis, int) and out.dim() > 1:
                self._pending[id(out)] = _Softmax(out, out, axis % out.dim())
            return None
        operands = args[1] if func is torch.einsum and isinstance(args[1], (list, tuple)) else args
        number, softmax = next(
            ((n, self._pending[id(x)]) for n, x in enumerate(operands) if id(x) in self._pending), (0, None)
        )
        if softmax is None:
            return None
        if func is torch.einsum:
            order = _einsum_order(args[0], number - (operands is args), softmax.axis)
        elif func in _PRODUCTS:
            dims, values = [*range(softmax.weights.dim())], [*args[1:], *kwargs.values()]
            is_map = number == 0 and softmax.axis == dims[-1] and not isinstance(values[0], nn.Parameter)
            order = dims if is_map else None
        else:
            if isinstance(out, Tensor) and out.shape == softmax.weights.shape:  # dropout, another dtype
                self._pending[id(out)] = softmax._replace(result=out)
            return None
        self._pending = {key: other for key, other in self._pending.items() if other.weights is not softmax.weights}
        return softmax.weights.permute(*order) if order else None

    def clear(self) -> None:
        """Forget the pending calls."""
        self._pending.clear()


def _einsum_order(equation: str, number: int, axis: int) -> list[int] | None:
    """Return the axes of an operand as batch, heads, queries, keys; None if its softmax is not over keys."""
    inputs, _, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    letters, others = terms[number], "".join(terms[:number] + terms[number + 1 :])
    if "." in letters:
        return None
    queries = [n for n, letter in enumerate(letters) if letter in output and letter not in others]
    if len(queries) != 1 or letters[axis] in output or letters[axis] not in others:
        return None
    return [*(n for n in range(len(letters)) if n not in (*queries, axis)), *queries, axis]
