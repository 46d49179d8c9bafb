"""The parts of a lesson: its blocks, its matrices and the source that it ran."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from torch import Tensor

from headlight.ui import sheet
from headlight.ui.phrases import Phrases
from headlight.ui.sheet import Block

_OURS = "mha_core.attention."
_OMITTED = {"Switches", "KVCache", "AttentionLayer"}  # types of arguments, which do not explain the computation
MAX_SHOWN = 6  # tokens of a matrix; two matrices fit side by side


@dataclass(frozen=True)
class StepLesson:
    """A lesson, with the source of the functions that it ran."""

    title: str
    note: str  # beside the title
    text: str
    content: Sequence[Block]  # below the text
    source: str

    @property
    def blocks(self) -> list[Block]:
        """The whole lesson."""
        return [sheet.title(self.title, self.note), sheet.text(self.text), *self.content]


def compose(
    say: Phrases, content: Sequence[Block], *sources: Callable[..., object] | str, more: str = ""
) -> StepLesson:
    """Return the lesson of these phrases; `more` follows its text, and sources are code or functions."""
    code = "\n\n".join(source if isinstance(source, str) else source_code(source) for source in sources)
    return StepLesson(say("title"), say("note"), f"{say('text')} {more}".rstrip(), content, code)


def matrix(name: str, values: Tensor, tokens: list[str], *, sums: bool = False) -> Block:
    """Return the first tokens of a map as a matrix."""
    n = min(len(tokens), MAX_SHOWN)
    cut = f"the first {n} of {len(tokens)} tokens; an empty cell is less than .005" if n < len(tokens) else ""
    row_sums = values.sum(dim=-1)[:n].tolist() if sums else None
    return sheet.attention_map(name, tokens[:n], values[:n, :n].tolist(), note=cut, sums=row_sums, decimals=2)


def shape_str(value: Tensor) -> str:
    """Format the shape as torch does."""
    return str(tuple(value.shape))


def source_code(*functions: Callable[..., object]) -> str:
    """Return the source of functions or classes, one after another."""
    return "\n\n".join(textwrap.dedent(inspect.getsource(function)).rstrip() for function in functions)


def whole_source(kind: Callable[..., Any]) -> str:
    """Return the source of a class or function, then of all of mha_core.attention that it calls.

    Every part appears once, in the order of the calls.
    """
    parts = [kind]
    for part in parts:
        parts += [callee for callee in dict.fromkeys(_callees(part)) if callee not in parts]
    return "\n\n\n".join(inspect.getsource(part).rstrip() for part in parts)


def _callees(caller: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Return the objects of mha_core.attention that the source names, in order."""
    names = [node for node in ast.walk(ast.parse(inspect.getsource(caller))) if isinstance(node, ast.Name)]
    places = sorted((name.lineno, name.col_offset, name.id) for name in names)
    callees = (vars(sys.modules[caller.__module__]).get(name) for _, _, name in places if name not in _OMITTED)
    return [
        callee for callee in callees if isinstance(callee, (type, FunctionType)) and callee.__module__.startswith(_OURS)
    ]
