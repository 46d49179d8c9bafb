"""Short sources of the implementations: their code without trace statements, with axes as comments."""

import ast
import inspect
import re
import textwrap
from collections.abc import Sequence
from typing import cast

from headlight.picture.step_source import line_range, trace_statements, traced_axes
from mha_core import IMPLEMENTATIONS

# the main methods, where `attend` alone is not enough
METHODS = {
    "naive": ("attend", "_head"),
    "efficient": ("_project", "attend"),
    "fused": ("_project", "attend"),
    "sequence_first": ("time_first",),
}


def label(name: str) -> str:
    """Return the name of an implementation and the start of its description."""
    first_line = (inspect.getdoc(inspect.getmodule(IMPLEMENTATIONS[name])) or "").split("\n")[0]
    return f"{name}: {re.split(r'[:.]( |$)', first_line)[0]}"


def short_source(name: str) -> str:
    """Return the shortened source of the main methods of an implementation."""
    names = METHODS.get(name, ("attend",))
    parts = [strip_traces(inspect.getsource(getattr(IMPLEMENTATIONS[name], method))) for method in names]
    return "\n\n".join(parts)


def changed_lines(lines: Sequence[str], other: Sequence[str]) -> list[int]:
    """Return the indices of the lines that the other source lacks, ignoring comments."""

    def bare(line: str) -> str:
        return line.split("  #")[0].strip()

    theirs = {bare(line) for line in other}
    return [number for number, line in enumerate(lines) if bare(line) and bare(line) not in theirs]


def strip_traces(source: str) -> str:
    """Shorten a function: no docstring, comments, blank lines, trace statements or argument types.

    The axes from a trace statement are appended to the line that computes the tensor.
    """
    source = textwrap.dedent(source)
    tree = ast.parse(source)
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    statements = sorted(nodes, key=lambda node: node.lineno)
    docstrings = [node for node in statements if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    dropped = {number for node in (*docstrings, *trace_statements(tree)) for number in line_range(node)}
    axes = _axes(statements)
    function = cast(ast.FunctionDef, statements[0])
    dropped |= set(range(1, function.body[0].lineno))  # the signature
    lines = [
        f"{text}  # {axes[number]}" if number in axes else text
        for number, text in enumerate(source.split("\n"), 1)
        if number not in dropped and text.strip() and not text.strip().startswith("#")
    ]
    arguments = ", ".join(argument.arg for argument in function.args.args if argument.arg != "self")
    return "\n".join([f"def {function.name}({arguments}):", *lines])


def _axes(statements: Sequence[ast.stmt]) -> dict[int, str]:
    """Map each line to the axes of the tensors computed there, with names if there are several."""
    definitions: dict[str, tuple[int, bool]] = {}
    axes: dict[int, str] = {}
    for statement in statements:
        if isinstance(statement, ast.Assign):
            names = [node.id for node in ast.walk(statement.targets[0]) if isinstance(node, ast.Name)]
            definitions |= {name: (line_range(statement)[-1], len(names) > 1) for name in names}
        else:
            tensor, letters = traced_axes(statement)
            number, is_tuple_assignment = definitions.get(tensor, (0, False))
            comment = f"{tensor}: {letters}" if is_tuple_assignment else letters
            if number and letters and comment not in axes.get(number, ""):
                axes[number] = f"{axes[number]}, {comment}" if number in axes else comment
    return axes
