"""The source of the very function that ran, and in it the lines that made a step. No streamlit."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from mha_core import no_trace

__all__ = ["Excerpt", "Ran", "excerpt", "lines_run"]

ROOT = Path(__file__).parents[3]
IMPLEMENTATIONS = str(ROOT / "mha_core" / "attention")
EMPTY = (ast.List, ast.Tuple, ast.Load)


@dataclass(frozen=True)
class Excerpt:
    """A function's own lines, without its signature and docstring.

    Attributes:
        where: file and name of the function.
        first: number of the first line in the file.
        lines: as they stand there, less the common indent.
        marked: the lines that made the step, as indices into `lines`.
    """

    where: str
    first: int
    lines: tuple[str, ...]
    marked: tuple[int, ...]


Ran = dict[CodeType, set[int]]


@contextmanager
def lines_run(ran: Ran) -> Iterator[None]:
    """Notes in `ran` which lines of the traced layer run on this thread: of two branches only one does."""

    def local(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            ran.setdefault(frame.f_code, set()).add(frame.f_lineno)
        return local

    def calls(frame: FrameType, _: str, __: Any) -> Any:
        ours = frame.f_code.co_filename.startswith(IMPLEMENTATIONS)
        return local if ours and frame.f_locals.get("trace", no_trace) is not no_trace else None

    before = sys.gettrace()
    sys.settrace(calls)
    try:
        yield
    finally:
        sys.settrace(before)


@lru_cache(maxsize=1024)
def excerpt(code: CodeType, line: int, ran: frozenset[int]) -> Excerpt:
    """The function of `code`, and in it the lines that gave the tensor which the trace statement at `line` records.

    These are the assignments to its name since it was last recorded, as far as they `ran`; without any, the statement
    at `line` itself.
    """
    source, start = inspect.getsourcelines(code)
    function = ast.parse(textwrap.dedent("".join(source))).body[0]
    if not isinstance(function, ast.FunctionDef):
        raise TypeError(f"{code.co_name} is no function")
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    first, own = body[0].lineno, line - start + 1  # numbered from 1 within the function
    statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]
    call = max((node for node in statements if _covers(node, own) and _recorded(node)), key=lambda node: node.lineno)
    name = _recorded(call)
    before = [node for node in statements if node.lineno < own]
    since = max((node.lineno for node in before if _recorded(node) == name), default=0)
    made = [
        node
        for node in before
        if node.lineno > since and name in _assigned(node) and any(start + number - 1 in ran for number in _lines(node))
    ]
    marked = {number for node in made or [call] for number in _lines(node)}
    file = Path(code.co_filename)
    return Excerpt(
        where=f"{file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else file.name} · {code.co_name}",
        first=start + first - 1,
        lines=tuple(textwrap.dedent("".join(source[first - 1 :])).rstrip().splitlines()),
        marked=tuple(sorted(number - first for number in marked)),
    )


def _lines(statement: ast.stmt) -> range:
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _covers(statement: ast.stmt, line: int) -> bool:
    return line in _lines(statement)


def _recorded(statement: ast.stmt) -> str:
    """The name of the tensor in `trace("scores", scores, …)`; nothing for every other statement."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or len(call.args) < 3:
        return ""
    names = [node.id for argument in call.args[1:3] for node in ast.walk(argument) if isinstance(node, ast.Name)]
    return next((name for name in names if name != "name"), "?")


def _assigned(statement: ast.stmt) -> set[str]:
    """The names that a simple statement gives a value, be it by `append`; an empty list is none yet."""
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        if statement.value is None or all(isinstance(node, EMPTY) for node in ast.walk(statement.value)):
            return set()
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append":
        return {node.id for node in ast.walk(call.func.value) if isinstance(node, ast.Name)}
    return set()
