"""The source of the function that recorded a step, and in it the lines that made it."""

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
_RECORDS = {
    "trace",
    "record_stacked",
    "head_tracer",
    "_record",
    "softmax_over_keys",
}  # as statements: what they give is not used


@dataclass(frozen=True)
class Excerpt:
    """A function's own lines, without its signature and docstring.

    Attributes:
        where: file and name of the function.
        first: number of the first line in the file.
        lines: as they stand there, less the common indent.
        marked: the lines that made the step, as indices into `lines`.
        records: the lines that only record, or prepare a record, of all steps; likewise.
    """

    where: str
    first: int
    lines: tuple[str, ...]
    marked: tuple[int, ...]
    records: tuple[int, ...]


@lru_cache(maxsize=1024)
def excerpt(code: CodeType, line: int) -> Excerpt:
    """The function of `code`, and in it the lines that gave the tensor which the trace statement at `line` records.

    These are the assignments that lead to it since the trace statement before; without any, it is made in the statement
    at `line` itself.
    """
    source, start = inspect.getsourcelines(code)
    function = ast.parse(textwrap.dedent("".join(source))).body[0]
    if not isinstance(function, ast.FunctionDef):
        raise TypeError(f"{code.co_name} is no function")
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    first, file = body[0].lineno, Path(code.co_filename)
    marked = {number for statement in _made(function, line - start + 1) for number in lines_of(statement)}
    return Excerpt(
        where=f"{file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else file.name} · {code.co_qualname}",
        first=start + first - 1,
        lines=tuple(textwrap.dedent("".join(source[first - 1 :])).rstrip().splitlines()),
        marked=tuple(sorted(number - first for number in marked)),
        records=tuple(sorted({number - first for statement in recording(function) for number in lines_of(statement)})),
    )


def _made(function: ast.FunctionDef, line: int) -> list[ast.stmt]:
    """The assignments that lead to what is recorded at `line`: in its block, since the last record above them."""
    blocks = [getattr(node, name, []) for node in ast.walk(function) for name in ("body", "orelse")]
    block, at = next(
        (block, number)
        for block in blocks
        for number, statement in enumerate(block)
        if line in lines_of(statement) and _is_record(statement)
    )
    group = takewhile(_is_record, reversed(block[:at]))  # several tensors are recorded together, below all their lines
    others = {_recorded(statement) for statement in [*group, *takewhile(_is_record, block[at + 1 :])]}
    since = takewhile(_records_nothing, dropwhile(_is_record, reversed(block[:at])))
    wanted, lines = {_recorded(block[at])}, list[ast.stmt]()
    for statement in since:
        given = _names(statement, ast.Store) if isinstance(statement, (ast.Assign, ast.AnnAssign)) else set()
        if given & wanted and not given <= others:
            lines.append(statement)
            wanted |= _names(statement, ast.Load) - {"trace"}  # which makes nothing
    return lines or [block[at]]


def recording(function: ast.AST) -> list[ast.stmt]:
    """What a function says for the record alone: the trace statements, and what gives `trace` its value."""
    found = [node for node in ast.walk(function) if isinstance(node, ast.stmt)]
    return [node for node in found if _is_record(node) or ast.unparse(node).startswith("trace = ")]


def recorded_axes(statement: ast.stmt) -> tuple[str, str]:
    """The variable in `trace("scores", scores, "b h i j", …)` and its axes; "" for what is not written out there."""
    call = _record_of(statement)
    texts = [one.value for one in call.args if isinstance(one, ast.Constant)] if call else []
    return _recorded(statement) or "", str(texts[1]) if len(texts) > 1 else ""


def _is_record(statement: ast.stmt) -> bool:
    return _recorded(statement) is not None


def _records_nothing(statement: ast.stmt) -> bool:
    return not any(_is_record(node) for node in ast.walk(statement) if isinstance(node, ast.stmt))


def lines_of(statement: ast.stmt) -> range:
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _recorded(statement: ast.stmt) -> str | None:
    """The variable in `trace("scores", scores, …)`, "" if that makes its tensor itself; None of other statements."""
    call = _record_of(statement)
    if call is None or len(call.args) < 2:
        return None
    value = call.args[2 if isinstance(call.args[1], (ast.Constant, ast.JoinedStr)) else 1]  # after the name
    return value.id if isinstance(value, ast.Name) else ""


def _record_of(statement: ast.stmt) -> ast.Call | None:
    """The call of a statement that only records."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    name = call.func if isinstance(call, ast.Call) else None
    name = name.func if isinstance(name, ast.Call) else name  # head_tracer(trace, n)(…)
    called = name.id if isinstance(name, ast.Name) else name.attr if isinstance(name, ast.Attribute) else ""
    return call if isinstance(call, ast.Call) and called in _RECORDS else None


def _names(statement: ast.stmt, context: type[ast.expr_context]) -> set[str]:
    """The names that a statement reads, ast.Load, or gives a value, ast.Store."""
    names = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, context)}
