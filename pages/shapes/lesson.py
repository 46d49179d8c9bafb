"""A lesson: its blocks, the source that it ran, and how its matrices and shapes are written."""

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from headlight.ui import numbers, sheet
from headlight.ui.sheet import Block

MOST_SHOWN = 6  # tokens of a matrix that is to be read; two stand side by side


@dataclass(frozen=True)
class StepLesson:
    """A lesson as blocks, and the source of the function that it ran."""

    blocks: list[Block]
    source: str


def matrix(name: str, values: Tensor, tokens: list[str], *, sums: bool = False) -> Block:
    """The first tokens of a map as a matrix to read."""
    n = min(len(tokens), MOST_SHOWN)
    cut = f"the first {n} of {len(tokens)} tokens; an empty cell is less than .005" if n < len(tokens) else ""
    return sheet.matrix(
        name,
        values[:n, :n].tolist(),
        rows=tokens[:n],
        cols=tokens[:n],
        decimals=2,
        write=numbers.in_a_cell,
        compact=True,
        colour="weights",
        sums=values.sum(dim=-1)[:n].tolist() if sums else None,
        note=cut,
    )


def shape_of(value: Tensor) -> str:
    """The sizes as torch writes them."""
    return str(tuple(value.shape))


def source_of(*functions: Callable[..., object]) -> str:
    """The lines of functions or classes, one after another."""
    return "\n\n".join(textwrap.dedent(inspect.getsource(function)).rstrip() for function in functions)
