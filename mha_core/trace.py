"""A record of every tensor that a forward pass makes, written by the forward pass itself.

A layer says `trace("scores", scores, "b h i j", "q kᵀ / √d_head")` under the line that made `scores`. With `no_trace`,
the default, that is a call of an empty function. A `Trace` checks that the named axes and the real sizes agree over the
whole pass, so that a note on a shape cannot become untrue. Nothing is kept on a module: visitors share models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from .errors import SizeError

__all__ = ["AXES", "Step", "Trace", "Tracer", "no_trace"]

AXES = {
    "b": "batch",
    "i": "query",
    "j": "key",
    "c": "model channel",
    "h": "head",
    "d": "channel in a head",
    "v": "vocabulary",
}


class Tracer(Protocol):
    """What a layer calls under each line: a name, the tensor, its axes and the formula that made it."""

    def __call__(self, name: str, value: Tensor, axes: str, expression: str = "") -> None: ...


def no_trace(name: str, value: Tensor, axes: str, expression: str = "") -> None:
    """Records nothing."""


@dataclass(frozen=True)
class Step:
    """One recorded tensor.

    Attributes:
        name: "q", "scores", …; a step on the way to one is dotted, "q.view".
        expression: the formula that made it, as text.
        axes: one letter an axis (see `AXES`), "b h i j"; a merged axis is written "(3 c)".
        shape, strides: sizes and steps in elements, one an axis.
        contiguous: True when the elements lie in memory in reading order.
        is_view: True when it shares memory with an earlier step: no number was moved.
        value: the tensor, detached.
    """

    name: str
    expression: str
    axes: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    contiguous: bool
    is_view: bool
    value: Tensor


class Trace:
    """Collects the steps of one forward pass in order, as `steps`.

    Raises:
        SizeError: the axes named do not fit the tensor, or contradict an earlier step of the same pass.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.sizes: dict[str, int] = {}
        self._memory: set[tuple[torch.device, int]] = set()

    def __call__(self, name: str, value: Tensor, axes: str, expression: str = "") -> None:
        self._bind(name, value, axes)
        memory = (value.device, value.untyped_storage().data_ptr())
        self.steps.append(
            Step(
                name=name,
                expression=expression,
                axes=axes,
                shape=tuple(value.shape),
                strides=value.stride(),
                contiguous=value.is_contiguous(),
                is_view=memory in self._memory,
                value=value.detach(),
            )
        )
        self._memory.add(memory)

    def __getitem__(self, name: str) -> Step:
        """The step of that name.

        Raises:
            KeyError: no step has it.
        """
        for step in self.steps:
            if step.name == name:
                return step
        raise KeyError(f"no step {name!r}; there are {', '.join(step.name for step in self.steps)}")

    def _bind(self, name: str, value: Tensor, axes: str) -> None:
        groups = _groups(axes)
        if len(groups) != value.dim():
            raise SizeError(
                f"step {name!r}: axes {axes!r} do not fit {tuple(value.shape)}, which has {value.dim()} axes"
            )
        for group, size in zip(groups, value.shape, strict=True):
            known, unknown = 1, []
            for letter in group:
                if letter.isdigit():
                    known *= int(letter)
                elif letter in self.sizes:
                    known *= self.sizes[letter]
                else:
                    unknown.append(letter)
            if len(unknown) == 1 and known and size % known == 0:
                self.sizes[unknown[0]] = size // known
            elif unknown or known != size:
                bound = ", ".join(f"{letter}={self.sizes.get(letter, '?')}" for letter in group if not letter.isdigit())
                raise SizeError(f"step {name!r}: axes {axes!r} do not fit {tuple(value.shape)}; so far {bound}")


def _groups(axes: str) -> list[list[str]]:
    """ "b i (3 c)" -> [["b"], ["i"], ["3", "c"]]."""
    groups: list[list[str]] = []
    inside = False
    for symbol in axes.replace("(", " ( ").replace(")", " ) ").split():
        if symbol == "(":
            inside = True
            groups.append([])
        elif symbol == ")":
            inside = False
        elif symbol not in AXES and not symbol.isdigit():
            raise SizeError(f"axes {axes!r}: {symbol!r} is not an axis; the letters are {', '.join(AXES)}")
        elif inside:
            groups[-1].append(symbol)
        else:
            groups.append([symbol])
    return groups
