"""The functions of the rule language that compute with values, independent of a model."""

import ast
import math
from collections.abc import Callable, Sequence
from inspect import signature

import torch
from torch import Tensor

from mha_core.measure import measures
from mha_core.measure.rounding import sum_bound

from .grammar import RuleError
from .values import Axis, Value, align

MAX_TRIES = 1_000

Reducer = Callable[[Tensor, int], Tensor]
_REDUCERS: dict[str, Reducer] = {
    "mean": lambda x, dim: x.double().mean(dim),
    "sum": lambda x, dim: x.double().sum(dim),
    "std": lambda x, dim: x.double().std(dim, correction=0),
    "median": lambda x, dim: x.double().median(dim).values,
    "max": lambda x, dim: x.amax(dim),
    "min": lambda x, dim: x.amin(dim),
    "argmax": lambda x, dim: x.argmax(dim),
    "argmin": lambda x, dim: x.argmin(dim),
    "count": lambda x, dim: x.bool().sum(dim),
    "all": lambda x, dim: x.bool().all(dim),
    "any": lambda x, dim: x.bool().any(dim),
    "first": lambda x, dim: _first(x.bool(), dim),
}
BinaryFunction = Callable[[Tensor, Tensor], Tensor]
_COMPARISONS: dict[type[ast.AST], BinaryFunction] = {
    ast.Lt: torch.lt, ast.LtE: torch.le, ast.Gt: torch.gt, ast.GtE: torch.ge, ast.Eq: torch.eq, ast.NotEq: torch.ne,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.AST], BinaryFunction] = {
    ast.Add: torch.add, ast.Sub: torch.sub, ast.Mult: torch.mul,
    ast.Div: lambda a, b: a.double() / b.double(),
}  # fmt: skip
REDUCERS = frozenset(_REDUCERS)


def reduce(name: str, values: list[Value], letter: str = "") -> Value:
    """Reduce all numbers of a tensor, those along one of its axes, or several numbers.

    Raises:
        RuleError: there are no numbers, or there is no such axis.
    """
    if len(values) > 1:
        operand = Value(torch.stack([torch.tensor(value.scalar) for value in values]), (Axis("c"),))
    else:
        operand = values[0]
    tensor = operand.tensor if letter else operand.tensor.flatten()
    dim = operand.axis(letter) if letter else 0
    if not tensor.numel():
        raise RuleError(f"{name} needs at least one number")
    return Value(_REDUCERS[name](tensor, dim), operand.axes[:dim] + operand.axes[dim + 1 :] if letter else ())


def call(name: str, values: list[Value]) -> Value:
    """Call any other function; raise a RuleError for wrong arguments."""
    if name == "rounding_of":
        return Value.number(sum_bound(*(max(0, value.integer) for value in values)))
    function = _OTHERS[name]
    needed = len(signature(function).parameters)
    if len(values) != needed:
        raise RuleError(f"{name} takes {needed} {'value' if needed == 1 else 'values'}, not {len(values)}")
    return function(*values)


def binary(sign: ast.AST, left: Value, right: Value) -> Value:
    """Apply a binary operator elementwise; raise a RuleError if the axes do not match."""
    left_tensor, right_tensor, axes = align(left, right)
    if type(sign) in _COMPARISONS:
        return Value(_COMPARISONS[type(sign)](left_tensor, right_tensor), axes)
    return Value(_ARITHMETIC[type(sign)](numbers(left_tensor), numbers(right_tensor)), axes)


def numbers(x: Tensor) -> Tensor:
    """Convert truth values to 0 and 1; return other tensors unchanged."""
    return x.double() if x.dtype == torch.bool else x


def _diag(matrix: Value, shift: Value) -> Value:
    """Return a diagonal of maps, the weights at a fixed distance: (…, i, j) -> (…, i)."""
    if [axis.letter for axis in matrix.axes[-2:]] != ["i", "j"]:
        raise RuleError("diag needs a map, whose last axes are i and j")
    diagonal = matrix.tensor.diagonal(shift.integer, -2, -1)
    first = max(0, -shift.integer)
    rows = Axis("i", matrix.axes[-2].tokens[first : first + diagonal.shape[-1]])
    return Value(diagonal, (*matrix.axes[:-2], rows))


def _cos(left: Value, right: Value) -> Value:
    """Return the cosine along the last axis of two tensors of equal shape, in float64."""
    if not left.axes:
        raise RuleError("cos needs two vectors, not two numbers")
    left_tensor, right_tensor, axes = align(left, right)
    return Value(torch.cosine_similarity(left_tensor.double(), right_tensor.double(), dim=-1), axes[:-1])


def _first(x: Tensor, dim: int) -> Tensor:
    """Return the index of the first true value; NaN without one."""
    index = x.int().argmax(dim).double()
    return torch.where(x.any(dim), index, torch.tensor(math.nan, dtype=torch.float64))


def _apart(left: Value, right: Value) -> Value:
    """Return ‖a − b‖ / ‖b‖ over two whole tensors, in float64."""
    a, b, _ = align(left, right)
    return Value.number(measures.relative_difference(a.double(), b.double()))


def _luck(successes: Value, n_tries: Value, chance: Value) -> Value:
    """Return the probability of at least so many successes in independent tries by chance."""
    if not 0 <= chance.scalar <= 1 or not 0 <= successes.integer <= n_tries.integer <= MAX_TRIES:
        raise RuleError(f"luck takes the number of successes, at most {MAX_TRIES} tries, and a chance from 0 to 1")
    return Value.number(tail_probability(successes.integer, [chance.scalar] * n_tries.integer))


def tail_probability(successes: int, chances: Sequence[float]) -> float:
    """Return the probability of at least so many successes in independent tries with these chances."""
    exactly = [1.0]  # probability of each number of successes so far
    for chance in chances:
        exactly = [
            (exactly[count] if count < len(exactly) else 0.0) * (1 - chance)
            + (exactly[count - 1] if count else 0.0) * chance
            for count in range(len(exactly) + 1)
        ]
    return min(1.0, sum(exactly[successes:]))


def _error(answers: Value) -> Value:
    """Return the standard error of the share of true values along the last axis."""
    if not answers.axes:
        raise RuleError("error needs many answers, not a single one")
    share = float(answers.tensor.double().mean())
    return Value.number(math.sqrt(max(0.0, share * (1 - share)) / answers.tensor.shape[-1]))


def _softmax(scores: Value) -> Value:
    """Return the softmax of rows of scores."""
    if not scores.axes:
        raise RuleError("softmax needs rows of numbers, not a single one")
    return Value(scores.tensor.double().softmax(-1), scores.axes)


def _slope(scores: Value) -> Value:
    """Return the norm of the Jacobian of each row's softmax, diag(w) − w wᵀ: (…, j) -> (…)."""
    w = _softmax(scores).tensor
    squares = w.square().sum(-1)
    return Value((squares - 2 * w.pow(3).sum(-1) + squares.square()).clamp(min=0).sqrt(), scores.axes[:-1])


def _elementwise(function: Callable[[Tensor], Tensor]) -> Callable[[Value], Value]:
    return lambda value: Value(function(value.tensor.double()), value.axes)


_OTHERS: dict[str, Callable[..., Value]] = {
    "diag": _diag, "cos": _cos, "apart": _apart, "error": _error, "luck": _luck, "softmax": _softmax, "slope": _slope,
    **{name: _elementwise(getattr(torch, name)) for name in ("abs", "sqrt", "exp", "log", "ceil", "floor", "isnan")},
}  # fmt: skip
NAMES = REDUCERS | _OTHERS.keys() | {"rounding_of"}
