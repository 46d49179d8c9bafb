"""What Shapes shows of a layer: which steps copy, what a forgotten transpose does, and how many numbers are learned."""

from collections.abc import Callable

import torch
from torch import Tensor

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import traces
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from mha_core import IMPLEMENTATIONS, Step, split_heads


def parameters(query: Query, settings: Settings, n_heads: float) -> Value:
    """`parameters(12)`, (implementations): how many numbers one layer of the link's width `d` learns, in each.

    With so many heads, which must divide the width.
    """
    if n_heads < 1 or n_heads != int(n_heads) or query["d"] % n_heads:
        raise RuleError(f"a layer of width {query['d']} cannot have {n_heads:g} equal heads")
    counts = []
    for kind in IMPLEMENTATIONS.values():
        with torch.device("meta"):  # sizes only, no numbers
            layer = kind(query["d"], int(n_heads))
        counts.append(sum(parameter.numel() for parameter in layer.parameters()))
    return Value.of(torch.tensor(counts), "c")


def copied(query: Query, settings: Settings, name: str) -> Value:
    """`copied("q.view")`: how many numbers of a step were written to new memory, 0 of a view."""
    step = step_of(query, settings, name)
    return Value.number(0 if step.is_view else step.value.numel())


def stride(query: Query, settings: Settings, name: str, axis: float) -> Value:
    """`stride("q.view", 2)`: how far two neighbours on an axis of a step, counted from 0, lie apart in memory."""
    step = step_of(query, settings, name)
    if axis not in range(len(step.strides)):
        raise RuleError(f"the step {name} has the axes 0 to {len(step.strides) - 1}")
    return Value.number(step.strides[int(axis)])


def raises(query: Query, settings: Settings, attempt: str) -> Value:
    """`raises("q.view(b, h, i, d)")`: whether torch refuses a way to reshape, tried now; see `ATTEMPTS`."""
    try_it, _ = _attempt(query, settings, attempt)
    try:
        try_it()
    except RuntimeError:
        return Value.number(value=True)
    return Value.number(value=False)


def misplaced(query: Query, settings: Settings, attempt: str) -> Value:
    """`misplaced("q.view(b, h, i, d)")`: the share of numbers that stand where another one belongs."""
    try_it, right = _attempt(query, settings, attempt)
    try:
        tried = try_it()
    except RuntimeError as error:
        raise RuleError(f"torch refuses this: {str(error).splitlines()[0]}") from None
    return Value.number(float((tried != right).double().mean()))


Attempt = tuple[Callable[[], Tensor], Tensor]  # a way to reshape, and what it should give


def _split(query: Query, settings: Settings) -> Attempt:
    x, h = step_of(query, settings, "q.project").value, step_of(query, settings, "q").shape[1]
    b, i, c = x.shape
    return lambda: x.view(b, h, i, c // h), split_heads(x, h).transpose(1, 2)


def _joined(query: Query, settings: Settings) -> Attempt:
    turned = step_of(query, settings, "mixed").value.transpose(1, 2)
    b, i = turned.shape[:2]
    return lambda: turned.view(b, i, -1), turned.flatten(2)


def _copied_first(query: Query, settings: Settings) -> Attempt:
    turned = step_of(query, settings, "mixed").value.transpose(1, 2)
    b, i = turned.shape[:2]
    return lambda: turned.contiguous().view(b, i, -1), turned.flatten(2)


ATTEMPTS: dict[str, Callable[[Query, Settings], Attempt]] = {
    "q.view(b, h, i, d)": _split,
    "mixed.transpose(1, 2).view(b, i, c)": _joined,
    "mixed.transpose(1, 2).contiguous().view(b, i, c)": _copied_first,
}


def _attempt(query: Query, settings: Settings, name: str) -> Attempt:
    if name not in ATTEMPTS:
        raise RuleError(f"“{name}” is not tried; there are {', '.join(ATTEMPTS)}")
    return ATTEMPTS[name](query, settings)


def step_of(query: Query, settings: Settings, name: str) -> Step:
    """A step of the layer that is shown, as its implementation makes it."""
    implementation = query["impl"]
    within, _ = traces.settings_within(settings, query.at.layer, implementation)
    steps = traces.traced(within, query.at.layer, implementation).steps
    found = next((step for step in steps if step.name == name), None)
    if found is None:
        raise RuleError(f"{implementation} has no step {name}; there are {', '.join(one.name for one in steps)}")
    return found
