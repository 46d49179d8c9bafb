"""A lesson: its blocks, the source that it ran, alone or with all that it calls, and how its matrices are written."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from torch import Tensor

from headlight.ui import numbers, sheet
from headlight.ui.sheet import Block

_OURS = "mha_core.attention."
_LEFT_OUT = {"Switches", "KVCache", "AttentionLayer"}  # what a pass is given, which says nothing of how it is computed
MAX_SHOWN = 6  # tokens of a matrix that is to be read; two stand side by side


@dataclass(frozen=True)
class StepLesson:
    """A lesson as blocks, and the source of the function that it ran."""

    blocks: list[Block]
    source: str


def matrix(name: str, values: Tensor, tokens: list[str], *, sums: bool = False) -> Block:
    """The first tokens of a map as a matrix to read."""
    n = min(len(tokens), MAX_SHOWN)
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


def whole_source(kind: Callable[..., Any]) -> str:
    """The lines of a class or function, then those of all of ours that it calls, each once, in that order."""
    found = [kind]
    for one in found:
        found += [other for other in dict.fromkeys(_called_by(one)) if other not in found]
    return "\n\n\n".join(inspect.getsource(part).rstrip() for part in found)


def _called_by(one: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Those whose names stand in its lines, as its module knows them, in order."""
    names = [node for node in ast.walk(ast.parse(inspect.getsource(one))) if isinstance(node, ast.Name)]
    places = sorted((name.lineno, name.col_offset, name.id) for name in names)
    known = (vars(sys.modules[one.__module__]).get(name) for _, _, name in places if name not in _LEFT_OUT)
    return [other for other in known if isinstance(other, (type, FunctionType)) and other.__module__.startswith(_OURS)]
