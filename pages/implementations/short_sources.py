"""What each implementation does, in its own lines: without those that only record, with the axes that they record."""

import ast
import inspect
import re
import textwrap
from collections.abc import Sequence
from typing import cast

from headlight.picture.source import lines_of, recorded_axes, recording
from mha_core import IMPLEMENTATIONS

# the methods that tell most, where it is not `attend` alone
METHODS = {
    "naive": ("attend", "_head"),
    "efficient": ("_project", "attend"),
    "fused": ("_project", "attend"),
    "sequence_first": ("time_first",),
}


def label(name: str) -> str:
    """The name of an implementation and its first words."""
    first_line = (inspect.getdoc(inspect.getmodule(IMPLEMENTATIONS[name])) or "").split("\n")[0]
    return f"{name}: {re.split(r'[:.]( |$)', first_line)[0]}"


def short_source(name: str) -> str:
    """The lines of its telling methods, one method after another."""
    names = METHODS.get(name, ("attend",))
    parts = [without_records(inspect.getsource(getattr(IMPLEMENTATIONS[name], method))) for method in names]
    return "\n\n".join(parts)


def different(own: Sequence[str], other: Sequence[str]) -> list[int]:
    """The lines that the other source does not have, whatever is said of their axes."""

    def bare(line: str) -> str:
        return line.split("  #")[0].strip()

    theirs = {bare(line) for line in other}
    return [at for at, line in enumerate(own) if bare(line) and bare(line) not in theirs]


def without_records(source: str) -> str:
    """The lines of a function without its docstring, comments, blank lines, records, and the types of its arguments.

    What a record says of the axes of a tensor stands behind the line that makes this tensor.
    """
    source = textwrap.dedent(source)
    tree = ast.parse(source)
    found = (one for one in ast.walk(tree) if isinstance(one, ast.stmt))
    statements = sorted(found, key=lambda one: one.lineno)
    texts = [one for one in statements if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)]
    dropped = {at for one in (*texts, *recording(tree)) for at in lines_of(one)}
    axes = _axes(statements)
    function = cast(ast.FunctionDef, statements[0])
    dropped |= set(range(1, function.body[0].lineno))  # up to its body
    kept = [
        f"{text}  # {axes[at]}" if at in axes else text
        for at, text in enumerate(source.split("\n"), 1)
        if at not in dropped and text.strip() and not text.strip().startswith("#")
    ]
    arguments = ", ".join(one.arg for one in function.args.args if one.arg != "self")
    return "\n".join([f"def {function.name}({arguments}):", *kept])


def _axes(statements: Sequence[ast.stmt]) -> dict[int, str]:
    """Line -> the axes of what is made there, by the records that follow; with its name where several are made."""
    made: dict[str, tuple[int, bool]] = {}
    axes: dict[int, str] = {}
    for one in statements:
        if isinstance(one, ast.Assign):
            names = [node.id for node in ast.walk(one.targets[0]) if isinstance(node, ast.Name)]
            made |= {name: (lines_of(one)[-1], len(names) > 1) for name in names}
        else:
            tensor, letters = recorded_axes(one)
            at, several = made.get(tensor, (0, False))
            told = f"{tensor}: {letters}" if several else letters
            if at and letters and told not in axes.get(at, ""):
                axes[at] = f"{axes[at]}, {told}" if at in axes else told
    return axes
