"""The source code of a recorded step, with the lines that computed it."""

import ast
import inspect
import textwrap
from dataclasses import dataclass
from functools import lru_cache
from itertools import dropwhile, takewhile
from pathlib import Path
from types import CodeType

import mha_core

ROOT = Path(mha_core.__file__).parents[1]
# functions whose calls, as statements, only record
_RECORDERS = {"trace", "record_stacked", "head_tracer", "_record", "softmax_over_keys"}


@dataclass(frozen=True)
class Excerpt:
    """The lines of a function, without its signature and docstring."""

    origin: str  # file and name of the function
    first_line: int  # number of the first line in the file
    lines: tuple[str, ...]  # the lines without their common indentation
    marks: tuple[int, ...]  # indices of the lines that computed the step
    records: tuple[int, ...]  # indices of the lines that only record steps


@lru_cache(maxsize=1024)
def excerpt(code: CodeType, line: int) -> Excerpt:
    """Return the function of `code`, and in it the lines that computed the tensor recorded at `line`.

    These are the assignments since the previous trace statement that lead to it; without any, it is the statement at
    `line`.
    """
    source, start = inspect.getsourcelines(code)
    function = ast.parse(textwrap.dedent("".join(source))).body[0]
    if not isinstance(function, ast.FunctionDef):
        raise TypeError(f"{code.co_name} is not a function")
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    first, file = body[0].lineno, Path(code.co_filename)
    marks = {number for statement in _source_statements(function, line - start + 1) for number in line_range(statement)}
    return Excerpt(
        origin=f"{file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else file.name} · {code.co_qualname}",
        first_line=start + first - 1,
        lines=tuple(textwrap.dedent("".join(source[first - 1 :])).rstrip().splitlines()),
        marks=tuple(sorted(number - first for number in marks)),
        records=tuple(sorted({n - first for statement in trace_statements(function) for n in line_range(statement)})),
    )


def _source_statements(function: ast.FunctionDef, line: int) -> list[ast.stmt]:
    """Return the assignments in the same block since the previous record that lead to the tensor recorded at `line`."""
    blocks = [getattr(node, name, []) for node in ast.walk(function) for name in ("body", "orelse")]
    block, index = next(
        (block, number)
        for block in blocks
        for number, statement in enumerate(block)
        if line in line_range(statement) and _is_trace(statement)
    )
    group = takewhile(_is_trace, reversed(block[:index]))  # a block of records follows the lines of all its tensors
    others = {_traced_variable(statement) for statement in [*group, *takewhile(_is_trace, block[index + 1 :])]}
    candidates = takewhile(_has_no_trace, dropwhile(_is_trace, reversed(block[:index])))
    sources, lines = {_traced_variable(block[index])}, list[ast.stmt]()
    for statement in candidates:
        targets = _names(statement, ast.Store) if isinstance(statement, (ast.Assign, ast.AnnAssign)) else set()
        if targets & sources and not targets <= others:
            lines.append(statement)
            sources |= _names(statement, ast.Load) - {"trace"}  # the tracer computes nothing
    return lines or [block[index]]


def trace_statements(function: ast.AST) -> list[ast.stmt]:
    """Return the statements that only serve the record: trace calls and assignments of `trace`."""
    statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt)]
    return [node for node in statements if _is_trace(node) or ast.unparse(node).startswith("trace = ")]


def _is_trace(statement: ast.stmt) -> bool:
    return _traced_variable(statement) is not None


def _has_no_trace(statement: ast.stmt) -> bool:
    return not any(_is_trace(node) for node in ast.walk(statement) if isinstance(node, ast.stmt))


def line_range(statement: ast.stmt) -> range:
    """Return the line numbers of a statement."""
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _traced_variable(statement: ast.stmt) -> str | None:
    """Return the variable in `trace("scores", scores, …)`, "" if it is an expression; None for other statements."""
    match statement:
        case ast.Expr(ast.Call(ast.Call(function), args) | ast.Call(function, args)) if len(args) > 1:
            name = getattr(function, "id", "") or getattr(function, "attr", "")
            value = args[2 if isinstance(args[1], (ast.Constant, ast.JoinedStr)) else 1]  # after the name
            return (value.id if isinstance(value, ast.Name) else "") if name in _RECORDERS else None
    return None


def _names(statement: ast.stmt, context: type[ast.expr_context]) -> set[str]:
    """Return the names that a statement reads, ast.Load, or assigns, ast.Store."""
    names = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, context)}
