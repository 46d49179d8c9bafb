"""Trace of every tensor of a forward pass, recorded by the forward pass itself.

A layer calls `trace("scores", scores, "b h i j", "q kᵀ / √d_head", inputs=("q", "k"))` on the line after it computes
`scores`. With `no_trace`, the default, that is a call of an empty function. A `Trace` checks that the named axes agree
with the real sizes over the whole pass, so that a note on a shape cannot become untrue. Nothing is stored on a module,
because users share models.
"""

import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import CodeType
from typing import Protocol

import torch
from torch import Tensor

from .errors import HeadlightError, SizeError

AXES = {
    "b": "batch",
    "i": "query",
    "j": "key",
    "c": "model channel",
    "h": "head",
    "g": "key/value head",
    "d": "channel in a head",
    "v": "vocabulary",
}

SECOND_PASS = "second pass: "  # prefix of the formula of each step that `second_pass` records


JOINT = {"qkv": ("q", "k", "v")}  # a step with several tensors leads to each of them
FALLBACK_INPUTS = {"q": ("x",), "k": ("x.k", "x"), "v": ("x.v", "x.k", "x")}  # the first of these that a pass records


class Tracer(Protocol):
    """Callable that a layer calls after each line: name, tensor, axes, formula and inputs of a step.

    `inputs` names the operands. A plain name such as "q" means the latest step towards q ("q.view", "qkv.view" or "q"
    itself), and before any of them the tensor that q is computed from. A dotted name means that very step; if the pass
    has none, the latest step towards its tensor, or else none: the operand then comes from outside the pass, as it does
    for a step without `inputs`.
    """

    def __call__(self, name: str, value: Tensor, axes: str, expression: str = "", inputs: tuple[str, ...] = ()) -> None:
        """Record one step."""


def no_trace(name: str, value: Tensor, axes: str, expression: str = "", inputs: tuple[str, ...] = ()) -> None:
    """Record nothing."""


def _changed(trace: Tracer, change: Callable[[str, str, tuple[str, ...]], tuple[str, str, tuple[str, ...]]]) -> Tracer:
    """Return a tracer that changes name, formula and inputs of each step."""
    if trace is no_trace:
        return no_trace

    def record(name: str, value: Tensor, axes: str, expression: str = "", inputs: tuple[str, ...] = ()) -> None:
        name, expression, inputs = change(name, expression, inputs)
        trace(name, value, axes, expression, inputs)

    return record


def head_tracer(trace: Tracer, head: int) -> Tracer:
    """Return a tracer for one head: "scores" from "q" is recorded as "scores.head3" from "q.head3".

    Where the pass has one q for all heads, the input is "q".
    """

    def head_input(source: str) -> str:
        return source if ".head" in source else f"{source}.head{head}"  # a key/value head may serve several heads

    return _changed(trace, lambda name, text, inputs: (f"{name}.head{head}", text, tuple(map(head_input, inputs))))


def stacked_tracer(trace: Tracer) -> Tracer:
    """Return a tracer for tensors that are stacked for the trace alone.

    "scores" then comes from "scores.head0", "scores.head1" and so on.
    """
    return _changed(trace, lambda name, text, _: (name, text, (f"{name}.head",)))


def second_pass(trace: Tracer) -> Tracer:
    """Return a tracer for steps that the pass itself does not expose and that are computed in addition."""
    return _changed(trace, lambda name, text, inputs: (name, f"{SECOND_PASS}{text}", inputs))


def record_stacked(trace: Tracer, name: str, parts: Sequence[Tensor], axes: str, expression: str = "") -> None:
    """Stack the tensors of all heads along axis 1, for the trace alone, and record them as one step."""
    if trace is not no_trace:
        stacked_tracer(trace)(name, torch.stack(tuple(parts), dim=1), axes, expression)


@dataclass(frozen=True, eq=False)
class Step:
    """A recorded tensor.

    Attributes:
        name: "q", "scores", …; an intermediate step is dotted, "q.view".
        expression: the formula that computed it, as text.
        inputs: the names of the earlier steps it was computed from; none for a tensor from outside the pass.
        axes: one letter per axis (see `AXES`), "b h i j"; a merged axis is written "(3 c)".
        shape: sizes of the axes.
        strides: steps in elements, one per axis.
        contiguous: whether the elements lie in memory in reading order.
        is_view: whether it shares memory with an earlier step: no number was moved.
        value: the tensor, detached.
        code: the function that recorded it.
        line: the number of the recording line in its file.
    """

    name: str
    expression: str
    inputs: tuple[str, ...]
    axes: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    contiguous: bool
    is_view: bool
    value: Tensor
    code: CodeType
    line: int


class Trace:
    """Recorder of the steps of one forward pass.

    Raises:
        SizeError: the named axes do not fit the tensor, or contradict an earlier step of the same pass.
        HeadlightError: an input names a tensor that no earlier step leads to.
    """

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self._recorded: list[tuple[str, str, tuple[str, ...], str, Tensor, CodeType, int]] = []
        self._steps: list[Step] = []
        self._last: dict[str, str] = {}  # tensor or step -> the latest step towards it

    def __call__(self, name: str, value: Tensor, axes: str, expression: str = "", inputs: tuple[str, ...] = ()) -> None:
        """Record one step, after checking that its axes fit."""
        self._bind(name, value, axes)
        sources = tuple(dict.fromkeys(step for source in inputs for step in self._resolve(source, name)))
        caller = sys._getframe(1)  # inspect.stack() would read every file of the call stack
        while caller.f_globals is globals() and caller.f_back is not None:  # `of_head` and the like speak for others
            caller = caller.f_back
        self._recorded.append((name, expression, sources, axes, value.detach(), caller.f_code, caller.f_lineno))
        tensor, head = name.split(".")[0], name[name.find(".head") :] if ".head" in name else ""
        self._last |= {part + head: name for part in JOINT.get(tensor, (tensor,))} | {name: name}

    @property
    def steps(self) -> list[Step]:
        """Recorded steps in order, built on access so that the pass itself pays as little as possible."""
        memory = {_storage_key(step.value) for step in self._steps}
        for name, expression, inputs, axes, value, code, line in self._recorded[len(self._steps) :]:
            shape, strides, contiguous = tuple(value.shape), value.stride(), value.is_contiguous()
            is_view = _storage_key(value) in memory
            memory.add(_storage_key(value))
            step = Step(name, expression, inputs, axes, shape, strides, contiguous, is_view, value, code, line)
            self._steps.append(step)
        return self._steps

    def __getitem__(self, name: str) -> Step:
        """Return the step with that name.

        Raises:
            KeyError: no step has it.
        """
        for step in self.steps:
            if step.name == name:
                return step
        raise KeyError(f"no step {name!r}; there are {', '.join(step.name for step in self.steps)}")

    def _resolve(self, source: str, name: str) -> list[str]:
        """Return the steps that an input of step `name` refers to (see `Tracer`).

        "q.head" refers to those of every head.
        """
        if source.endswith(".head"):
            return [step for step, *_ in self._recorded if step.rstrip("0123456789") == source]
        tensor = source.split(".")[0]
        candidates = (source, tensor, *FALLBACK_INPUTS.get(tensor, ()))
        latest = next((self._last[way] for way in candidates if way in self._last), None)
        if latest is None and "." not in source and tensor != name.split(".")[0]:
            recorded = ", ".join(step for step, *_ in self._recorded)
            raise HeadlightError(f"step {name!r} is of {source!r}, to which none of the steps so far leads: {recorded}")
        return [] if latest is None else [latest]

    def _bind(self, name: str, value: Tensor, axes: str) -> None:
        groups = _groups(axes)
        if len(groups) != value.dim():
            raise SizeError(
                f"step {name!r}: axes {axes!r} do not fit {tuple(value.shape)}, which has {value.dim()} axes"
            )
        for (factor, letters), size in zip(groups, value.shape, strict=True):
            if factor == 1 and len(letters) == 1 and self.sizes.setdefault(letters[0], size) == size:
                continue
            unknown = [letter for letter in letters if letter not in self.sizes]
            product = math.prod((self.sizes[letter] for letter in letters if letter in self.sizes), start=factor)
            if len(unknown) == 1 and product and size % product == 0:
                self.sizes[unknown[0]] = size // product
            elif unknown or product != size:
                bound = ", ".join(f"{letter}={self.sizes.get(letter, '?')}" for letter in letters)
                raise SizeError(f"step {name!r}: axes {axes!r} do not fit {tuple(value.shape)}; so far {bound}")


def steps_to_cpu(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps with their tensors on the CPU; strides and shared memory are preserved."""
    pieces: dict[tuple[tuple[torch.device, int], torch.dtype], Tensor] = {}
    moved = []
    for step in steps:
        value, storage = step.value, step.value.untyped_storage()
        if value.device.type == "cpu":
            moved.append(step)
            continue
        key = _storage_key(value), value.dtype
        if key not in pieces:
            pieces[key] = torch.empty(0, dtype=value.dtype, device=value.device).set_(storage).cpu()
        copy = pieces[key].as_strided(value.shape, value.stride(), value.storage_offset())
        moved.append(replace(step, value=copy))
    return tuple(moved)


def _storage_key(value: Tensor) -> tuple[torch.device, int]:
    """Return a key for the memory that a tensor reads."""
    return value.device, value.untyped_storage().data_ptr()


@lru_cache(maxsize=256)
def _groups(axes: str) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Parse axes into a factor and letters for each axis.

    "b i (3 c)" gives ((1, ("b",)), (1, ("i",)), (3, ("c",))).
    """
    groups: list[tuple[int, tuple[str, ...]]] = []
    for group in re.findall(r"\(.*?\)|\S+", axes):
        symbols = group.strip("()").split()
        strange = [symbol for symbol in symbols if symbol not in AXES and not symbol.isdigit()]
        if strange or not symbols:
            wrong = (strange or [group])[0]
            raise SizeError(f"axes {axes!r}: {wrong!r} is not an axis; the letters are {', '.join(AXES)}")
        factor = math.prod(int(symbol) for symbol in symbols if symbol.isdigit())
        groups.append((factor, tuple(symbol for symbol in symbols if symbol in AXES)))
    return tuple(groups)
