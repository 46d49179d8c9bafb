"""Quantities of Shapes: steps that copy, wrong reshapes, numbers of parameters."""

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
    """Return `parameters(12)`, (implementations): the number of parameters of a layer with so many heads.

    Its width is `d` of the link, which the heads must divide.
    """
    if n_heads < 1 or query["d"] % n_heads:
        raise RuleError(f"a layer of width {query['d']} cannot have {n_heads} equal heads")
    counts = []
    for kind in IMPLEMENTATIONS.values():
        with torch.device("meta"):  # sizes without memory
            layer = kind(query["d"], n_heads)
        counts.append(sum(parameter.numel() for parameter in layer.parameters()))
    return Value.from_tensor(torch.tensor(counts), "c")


def copied(query: Query, settings: Settings, name: str) -> Value:
    """Return `copied("q.view")`: how many numbers a step writes to new memory, 0 for a view."""
    step = get_step(query, settings, name)
    return Value.number(0 if step.is_view else step.value.numel())


def stride(query: Query, settings: Settings, name: str, axis: int) -> Value:
    """Return `stride("q.view", 2)`: the stride of an axis of a step, counted from 0."""
    step = get_step(query, settings, name)
    if axis not in range(len(step.strides)):
        raise RuleError(f"the step {name} has the axes 0 to {len(step.strides) - 1}")
    return Value.number(step.strides[axis])


def raises(query: Query, settings: Settings, attempt: Attempt) -> Value:
    """Return `raises("q.view(b, h, i, d)")`: whether torch raises an error for this reshape."""
    try:
        _attempt(query, settings, attempt)
    except RuntimeError:
        return Value.number(value=True)
    return Value.number(value=False)


def misplaced(query: Query, settings: Settings, attempt: Attempt) -> Value:
    """Return `misplaced("q.view(b, h, i, d)")`: the share of numbers at a wrong place."""
    try:
        reshaped, right = _attempt(query, settings, attempt)
    except RuntimeError as error:
        raise RuleError(f"torch raises an error: {str(error).splitlines()[0]}") from None
    return Value.number(float((reshaped != right).double().mean()))


def _attempt(query: Query, settings: Settings, attempt: Attempt) -> tuple[Tensor, Tensor]:
    """Return the result of a reshape and the correct one; raise torch's RuntimeError."""
    if attempt == "q.view(b, h, i, d)":
        x, h = get_step(query, settings, "q.project").value, get_step(query, settings, "q").shape[1]
        b, i, c = x.shape
        return x.view(b, h, i, c // h), split_heads(x, h).transpose(1, 2)
    turned = get_step(query, settings, "mixed").value.transpose(1, 2)
    source = turned.contiguous() if "contiguous" in attempt else turned
    return source.view(*turned.shape[:2], -1), turned.flatten(2)


def get_step(query: Query, settings: Settings, name: str) -> Step:
    """Return a traced step of the layer in focus in the link's implementation."""
    implementation = query["impl"]
    layer_settings, _ = traces.supported_settings(settings, query.cursor.layer, implementation)
    steps = traces.trace_layer(layer_settings, query.cursor.layer, implementation).steps
    step_ = next((step for step in steps if step.name == name), None)
    if step_ is None:
        raise RuleError(f"{implementation} has no step {name}; there are {', '.join(step.name for step in steps)}")
    return step_
