"""What Shapes shows of a layer: which steps copy, what a forgotten transpose does, and how many numbers are learned."""

from typing import Literal

import torch
from torch import Tensor

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import traces
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from mha_core import IMPLEMENTATIONS, Step, split_heads

Attempt = Literal[
    "q.view(b, h, i, d)", "mixed.transpose(1, 2).view(b, i, c)", "mixed.transpose(1, 2).contiguous().view(b, i, c)"
]


def parameters(query: Query, settings: Settings, n_heads: int) -> Value:
    """`parameters(12)`, (implementations): how many numbers one layer of the link's width `d` learns, in each.

    With so many heads, which must divide the width.
    """
    if n_heads < 1 or query["d"] % n_heads:
        raise RuleError(f"a layer of width {query['d']} cannot have {n_heads} equal heads")
    counts = []
    for kind in IMPLEMENTATIONS.values():
        with torch.device("meta"):  # sizes only, no numbers
            layer = kind(query["d"], n_heads)
        counts.append(sum(parameter.numel() for parameter in layer.parameters()))
    return Value.of(torch.tensor(counts), "c")


def copied(query: Query, settings: Settings, name: str) -> Value:
    """`copied("q.view")`: how many numbers of a step were written to new memory, 0 of a view."""
    step = step_of(query, settings, name)
    return Value.number(0 if step.is_view else step.value.numel())


def stride(query: Query, settings: Settings, name: str, axis: int) -> Value:
    """`stride("q.view", 2)`: how far two neighbours on an axis of a step, counted from 0, lie apart in memory."""
    step = step_of(query, settings, name)
    if axis not in range(len(step.strides)):
        raise RuleError(f"the step {name} has the axes 0 to {len(step.strides) - 1}")
    return Value.number(step.strides[axis])


def raises(query: Query, settings: Settings, attempt: Attempt) -> Value:
    """`raises("q.view(b, h, i, d)")`: whether torch refuses a way to reshape, tried now."""
    try:
        _tried(query, settings, attempt)
    except RuntimeError:
        return Value.number(value=True)
    return Value.number(value=False)


def misplaced(query: Query, settings: Settings, attempt: Attempt) -> Value:
    """`misplaced("q.view(b, h, i, d)")`: the share of numbers that stand where another one belongs."""
    try:
        tried, right = _tried(query, settings, attempt)
    except RuntimeError as error:
        raise RuleError(f"torch refuses this: {str(error).splitlines()[0]}") from None
    return Value.number(float((tried != right).double().mean()))


def _tried(query: Query, settings: Settings, attempt: Attempt) -> tuple[Tensor, Tensor]:
    """Return the result of a reshape and the right one. Raises a RuntimeError where torch refuses."""
    if attempt == "q.view(b, h, i, d)":
        x, h = step_of(query, settings, "q.project").value, step_of(query, settings, "q").shape[1]
        b, i, c = x.shape
        return x.view(b, h, i, c // h), split_heads(x, h).transpose(1, 2)
    turned = step_of(query, settings, "mixed").value.transpose(1, 2)
    one = turned.contiguous() if "contiguous" in attempt else turned
    return one.view(*turned.shape[:2], -1), turned.flatten(2)


def step_of(query: Query, settings: Settings, name: str) -> Step:
    """A step of the layer that is shown, as its implementation makes it."""
    implementation = query["impl"]
    within, _ = traces.settings_within(settings, query.at.layer, implementation)
    steps = traces.traced(within, query.at.layer, implementation).steps
    found = next((step for step in steps if step.name == name), None)
    if found is None:
        raise RuleError(f"{implementation} has no step {name}; there are {', '.join(one.name for one in steps)}")
    return found
