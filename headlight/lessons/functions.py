"""The functions of a rule that compute with what its names mean, and know no model."""

import ast
import math
from collections.abc import Callable, Sequence
from inspect import signature

import torch
from torch import Tensor

from mha_core.measure import measures
from mha_core.measure.rounding import of_sums

from .grammar import RuleError
from .values import Axis, Value, aligned

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
Joining = Callable[[Tensor, Tensor], Tensor]
_COMPARED: dict[type[ast.AST], Joining] = {
    ast.Lt: torch.lt, ast.LtE: torch.le, ast.Gt: torch.gt, ast.GtE: torch.ge, ast.Eq: torch.eq, ast.NotEq: torch.ne,
}  # fmt: skip
_COMPUTED: dict[type[ast.AST], Joining] = {
    ast.Add: torch.add, ast.Sub: torch.sub, ast.Mult: torch.mul,
    ast.Div: lambda one, other: one.double() / other.double(),
}  # fmt: skip
REDUCING = frozenset(_REDUCERS)


def reduced(name: str, values: list[Value], letter: str = "") -> Value:
    """One number of many: of all numbers of a tensor, along one of its axes, or of several numbers.

    Raises:
        RuleError: there is nothing to take it of, or no such axis.
    """
    if len(values) > 1:
        of = Value(torch.stack([torch.tensor(value.single) for value in values]), (Axis("c"),))
    else:
        of = values[0]
    tensor = of.tensor if letter else of.tensor.flatten()
    dim = of.axis(letter) if letter else 0
    if not tensor.numel():
        raise RuleError(f"{name} is asked of nothing at all")
    return Value(_REDUCERS[name](tensor, dim), of.axes[:dim] + of.axes[dim + 1 :] if letter else ())


def called(name: str, values: list[Value]) -> Value:
    """The value of any other function. Raises a RuleError for a wrong number or kind of arguments."""
    if name == "rounding_of":
        return Value.number(of_sums(*(max(0, value.whole) for value in values)))
    function = _OTHERS[name]
    needed = len(signature(function).parameters)
    if len(values) != needed:
        raise RuleError(f"{name} takes {needed} {'value' if needed == 1 else 'values'}, here are {len(values)}")
    return function(*values)


def joined(sign: ast.AST, left: Value, right: Value) -> Value:
    """Two values joined by a sign, number by number. Raises a RuleError where their axes do not fit."""
    one, other, axes = aligned(left, right)
    if type(sign) in _COMPARED:
        return Value(_COMPARED[type(sign)](one, other), axes)
    return Value(_COMPUTED[type(sign)](numbers(one), numbers(other)), axes)


def numbers(x: Tensor) -> Tensor:
    """The same tensor, truth values as 0 and 1."""
    return x.double() if x.dtype == torch.bool else x


def _diag(of: Value, shift: Value) -> Value:
    """The weights from each query to the key so many places away: (…, i, j) -> (…, i)."""
    if [axis.letter for axis in of.axes[-2:]] != ["i", "j"]:
        raise RuleError("diag is taken of a map, whose last axes are i and j")
    found = of.tensor.diagonal(shift.whole, -2, -1)
    first = max(0, -shift.whole)
    rows = Axis("i", of.axes[-2].tokens[first : first + found.shape[-1]])
    return Value(found, (*of.axes[:-2], rows))


def _cos(left: Value, right: Value) -> Value:
    """The cosine along the last axis of two tensors of one shape, in float64."""
    if not left.axes:
        raise RuleError("cos is taken of two vectors, not of two numbers")
    one, other, axes = aligned(left, right)
    return Value(torch.cosine_similarity(one.double(), other.double(), dim=-1), axes[:-1])


def _first(x: Tensor, dim: int) -> Tensor:
    """Where the first true value stands; nan where none is."""
    found = x.int().argmax(dim).double()
    return torch.where(x.any(dim), found, torch.tensor(math.nan, dtype=torch.float64))


def _apart(one: Value, other: Value) -> Value:
    """‖a − b‖ / ‖b‖ over two whole tensors, in float64."""
    a, b, _ = aligned(one, other)
    return Value.number(measures.relative_difference(a.double(), b.double()))


def _luck(found: Value, tries: Value, chance: Value) -> Value:
    """The probability that as many or more of independent tries succeed by chance alone."""
    if not 0 <= chance.single <= 1 or not 0 <= found.whole <= tries.whole <= MAX_TRIES:
        raise RuleError(f"luck takes how many were found, of at most {MAX_TRIES} tries, and a chance from 0 to 1")
    return Value.number(at_least(found.whole, [chance.single] * tries.whole))


def at_least(found: int, chances: Sequence[float]) -> float:
    """The probability that as many or more of independent tries succeed, each with its own chance."""
    exactly = [1.0]  # that so many of the tries so far succeeded
    for chance in chances:
        exactly = [
            (exactly[many] if many < len(exactly) else 0.0) * (1 - chance)
            + (exactly[many - 1] if many else 0.0) * chance
            for many in range(len(exactly) + 1)
        ]
    return min(1.0, sum(exactly[found:]))


def _error(answers: Value) -> Value:
    """The standard error of the share of true values that so many rows leave, which are the last axis."""
    if not answers.axes:
        raise RuleError("error is taken of many answers, not of a single one")
    share = float(answers.tensor.double().mean())
    return Value.number(math.sqrt(max(0.0, share * (1 - share)) / answers.tensor.shape[-1]))


def _softmax(scores: Value) -> Value:
    """The weights of rows of scores."""
    if not scores.axes:
        raise RuleError("softmax is taken of rows of numbers, not of a single one")
    return Value(scores.tensor.double().softmax(-1), scores.axes)


def _slope(scores: Value) -> Value:
    """The norm of the gradient of each row's weights by its scores, diag(w) − w wᵀ: (…, j) -> (…)."""
    w = _softmax(scores).tensor
    squares = w.square().sum(-1)
    return Value((squares - 2 * w.pow(3).sum(-1) + squares.square()).clamp(min=0).sqrt(), scores.axes[:-1])


def _each(function: Callable[[Tensor], Tensor]) -> Callable[[Value], Value]:
    return lambda value: Value(function(value.tensor.double()), value.axes)


_OTHERS: dict[str, Callable[..., Value]] = {
    "diag": _diag, "cos": _cos, "apart": _apart, "error": _error, "luck": _luck, "softmax": _softmax, "slope": _slope,
    **{name: _each(getattr(torch, name)) for name in ("abs", "sqrt", "exp", "log", "ceil", "floor", "isnan")},
}  # fmt: skip
NAMES = REDUCING | _OTHERS.keys() | {"rounding_of"}
