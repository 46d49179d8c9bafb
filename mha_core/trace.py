"""A record of every tensor that a forward pass makes, written by the forward pass itself.

A layer says `trace("scores", scores, "b h i j", "q kᵀ / √d_head", of=("q", "k"))` under the line that made `scores`.
With `no_trace`, the default, that is a call of an empty function. A `Trace` checks that the named axes and the real
sizes agree over the whole pass, so that a note on a shape cannot become untrue. Nothing is kept on a module: visitors
share models.
"""

import math
import re
import sys
from collections.abc import Sequence
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

SECOND_PASS = "second pass: "  # begins the formula of each step that `second_pass` records


JOINT = {"qkv": ("q", "k", "v")}  # a step that holds several tensors is on the way to each
MADE_OF = {"q": ("x",), "k": ("x.k", "x"), "v": ("x.v", "x.k", "x")}  # the first of these that a pass records


class Tracer(Protocol):
    """A function that a layer calls under each line: a name, the tensor, its axes, its formula and its operands.

    `of` names the operands: "q" is the last step so far on the way to q, be it "q.view", "qkv.view" or "q" itself, and
    before the first what q is made of. A dotted name is that very step; where a pass has none, it is the last on the
    way to its tensor, or else nothing: it then comes from outside the pass, as a step without `of` does.
    """

    def __call__(self, name: str, value: Tensor, axes: str, expression: str = "", of: tuple[str, ...] = ()) -> None: ...


def no_trace(name: str, value: Tensor, axes: str, expression: str = "", of: tuple[str, ...] = ()) -> None:
    """Records nothing."""


def of_head(trace: Tracer, head: int) -> Tracer:
    """A tracer for one head alone: "scores" of "q" is recorded as "scores.head3" of "q.head3", or "q" for all heads."""
    if trace is no_trace:
        return no_trace

    def of_one(source: str) -> str:
        return source if ".head" in source else f"{source}.head{head}"  # which may be another's, shared by several

    def record(name: str, value: Tensor, axes: str, expression: str = "", of: tuple[str, ...] = ()) -> None:
        trace(f"{name}.head{head}", value, axes, expression, tuple(of_one(source) for source in of))

    return record


def of_heads(trace: Tracer) -> Tracer:
    """A tracer for what is stacked for the record alone: "scores" comes from "scores.head0", "scores.head1", …"""
    if trace is no_trace:
        return no_trace

    def record(name: str, value: Tensor, axes: str, expression: str = "", of: tuple[str, ...] = ()) -> None:
        trace(name, value, axes, expression, (f"{name}.head",))

    return record


def second_pass(trace: Tracer) -> Tracer:
    """A tracer for steps that the pass itself does not show, and that are computed beside it."""
    if trace is no_trace:
        return no_trace

    def record(name: str, value: Tensor, axes: str, expression: str = "", of: tuple[str, ...] = ()) -> None:
        trace(name, value, axes, f"{SECOND_PASS}{expression}", of)

    return record


def together(trace: Tracer, name: str, parts: Sequence[Tensor], axes: str, expression: str = "") -> None:
    """Records the heads' own tensors as one, with h as its second axis; they are stacked for the record alone."""
    if trace is not no_trace:
        of_heads(trace)(name, torch.stack(tuple(parts), dim=1), axes, expression)


@dataclass(frozen=True, eq=False)
class Step:
    """One recorded tensor.

    Attributes:
        name: "q", "scores", …; a step on the way to one is dotted, "q.view".
        expression: the formula that made it, as text.
        of: the names of the earlier steps that it was made from; none for what comes from outside the pass.
        axes: one letter an axis (see `AXES`), "b h i j"; a merged axis is written "(3 c)".
        shape, strides: sizes and steps in elements, one an axis.
        contiguous: True when the elements lie in memory in reading order.
        is_view: True when it shares memory with an earlier step: no number was moved.
        value: the tensor, detached.
        code, line: the function that recorded it, and the number of the recording line in its file.
    """

    name: str
    expression: str
    of: tuple[str, ...]
    axes: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    contiguous: bool
    is_view: bool
    value: Tensor
    code: CodeType
    line: int


class Trace:
    """Collects the steps of one forward pass in order, as `steps`.

    Raises:
        SizeError: the axes named do not fit the tensor, or contradict an earlier step of the same pass.
        HeadlightError: a step is of a tensor that no earlier step is on the way to.
    """

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self._recorded: list[tuple[str, str, tuple[str, ...], str, Tensor, CodeType, int]] = []
        self._steps: list[Step] = []
        self._last: dict[str, str] = {}  # tensor, or step -> the last step on its way

    def __call__(self, name: str, value: Tensor, axes: str, expression: str = "", of: tuple[str, ...] = ()) -> None:
        self._bind(name, value, axes)
        sources = tuple(dict.fromkeys(step for source in of for step in self._on_the_way(source, name)))
        caller = sys._getframe(1)  # inspect.stack() would read every file on the way
        while caller.f_globals is globals() and caller.f_back is not None:  # `of_head` and the like speak for others
            caller = caller.f_back
        self._recorded.append((name, expression, sources, axes, value.detach(), caller.f_code, caller.f_lineno))
        tensor, head = name.split(".")[0], name[name.find(".head") :] if ".head" in name else ""
        self._last |= {part + head: name for part in JOINT.get(tensor, (tensor,))} | {name: name}

    @property
    def steps(self) -> list[Step]:
        """The steps so far. Built when asked for: the pass itself should pay as little as possible."""
        memory = {_place(step.value) for step in self._steps}
        for name, expression, of, axes, value, code, line in self._recorded[len(self._steps) :]:
            shape, strides, contiguous = tuple(value.shape), value.stride(), value.is_contiguous()
            is_view = _place(value) in memory
            memory.add(_place(value))
            self._steps.append(Step(name, expression, of, axes, shape, strides, contiguous, is_view, value, code, line))
        return self._steps

    def __getitem__(self, name: str) -> Step:
        """The step of that name.

        Raises:
            KeyError: no step has it.
        """
        for step in self.steps:
            if step.name == name:
                return step
        raise KeyError(f"no step {name!r}; there are {', '.join(step.name for step in self.steps)}")

    def _on_the_way(self, source: str, name: str) -> list[str]:
        """The steps that `source`, as `Tracer` has it, stands for in step `name`; of "q.head" those of every head."""
        if source.endswith(".head"):
            return [step for step, *_ in self._recorded if step.rstrip("0123456789") == source]
        tensor = source.split(".")[0]
        ways = (source, tensor, *MADE_OF.get(tensor, ()))
        known = next((self._last[way] for way in ways if way in self._last), None)
        if known is None and "." not in source and tensor != name.split(".")[0]:
            there = ", ".join(step for step, *_ in self._recorded)
            raise HeadlightError(f"step {name!r} is of {source!r}, to which none of the steps so far leads: {there}")
        return [] if known is None else [known]

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
            known = math.prod((self.sizes[letter] for letter in letters if letter in self.sizes), start=factor)
            if len(unknown) == 1 and known and size % known == 0:
                self.sizes[unknown[0]] = size // known
            elif unknown or known != size:
                bound = ", ".join(f"{letter}={self.sizes.get(letter, '?')}" for letter in letters)
                raise SizeError(f"step {name!r}: axes {axes!r} do not fit {tuple(value.shape)}; so far {bound}")


def on_cpu(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The same steps with their tensors on the CPU: what shared memory shares it there, and strides stay."""
    pieces: dict[tuple[tuple[torch.device, int], torch.dtype], Tensor] = {}
    moved = []
    for step in steps:
        value, storage = step.value, step.value.untyped_storage()
        if value.device.type == "cpu":
            moved.append(step)
            continue
        key = _place(value), value.dtype
        if key not in pieces:
            pieces[key] = torch.empty(0, dtype=value.dtype, device=value.device).set_(storage).cpu()
        there = pieces[key].as_strided(value.shape, value.stride(), value.storage_offset())
        moved.append(replace(step, value=there))
    return tuple(moved)


def _place(value: Tensor) -> tuple[torch.device, int]:
    """The piece of memory that a tensor reads."""
    return value.device, value.untyped_storage().data_ptr()


@lru_cache(maxsize=256)
def _groups(axes: str) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """ "b i (3 c)" -> ((1, ("b",)), (1, ("i",)), (3, ("c",))): for each axis a factor and its letters."""
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
