"""The excerpt of the source: the file's own lines, and among them the ones that made the step."""

from __future__ import annotations

import ast
import inspect
import textwrap
from pathlib import Path

import pytest

from mha_core import IMPLEMENTATIONS, Step
from pages.kit import traces
from pages.kit.cached import Settings
from pages.kit.source import ROOT, excerpt

TEXT = "how are you"


def steps_of(name: str, mask: str = "causal") -> tuple[Step, ...]:
    return traces.traced(Settings(TEXT, mask), 2, name).steps


def statements(lines: tuple[str, ...]) -> list[ast.stmt]:
    """Every statement of a function's body; its line numbers count from 1 within the excerpt."""
    body = ast.parse("def body():\n" + textwrap.indent("\n".join(lines), " ")).body[0]
    found = [node for node in ast.walk(body) if isinstance(node, ast.stmt) and node is not body]
    for node in found:
        node.lineno -= 1
        node.end_lineno = (node.end_lineno or node.lineno + 1) - 1
    return found


def recorded(statement: ast.stmt) -> str:
    """The variable that a tracing statement hands over; nothing when it hands over what it makes itself."""
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    assert isinstance(statement.value.func, (ast.Name, ast.Call))
    stacked = isinstance(statement.value.func, ast.Name) and statement.value.func.id == "together"
    value = statement.value.args[2 if stacked else 1]
    return value.id if isinstance(value, ast.Name) else ast.unparse(value).split("[")[0].rpartition("(")[2]


def gives(statement: ast.stmt, variable: str) -> bool:
    """True for `variable = …`, `variable, other = …`, `variable[n] = …` and `variable.append(…)`."""
    written = ast.unparse(statement)
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = written.split(" = ")[0].split(":")[0].strip("()").split(", ")
        return variable in [target.split("[")[0] for target in targets]
    return written.startswith(f"{variable}.append(")


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_the_lines_are_the_file_s_own_and_nothing_but_the_body(name: str) -> None:
    for step in steps_of(name):
        shown = excerpt(step.code, step.line)
        file = Path(step.code.co_filename)
        own = file.read_text("utf-8").splitlines()[shown.first - 1 : shown.first - 1 + len(shown.lines)]
        assert textwrap.dedent("\n".join(own)) == "\n".join(shown.lines)
        assert shown.where == f"{file.relative_to(ROOT).as_posix()} · {step.code.co_name}"
        # the last line is the function's last, the first follows its docstring
        source, start = inspect.getsourcelines(step.code)
        assert shown.first + len(shown.lines) == start + len("".join(source).rstrip().splitlines())
        assert '"""' not in "\n".join(shown.lines)
        assert not shown.lines[0].startswith(("def ", ")", " "))
        assert shown.lines[-1].lstrip().startswith("return")


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_the_marked_lines_give_the_recorded_tensor_its_value(name: str) -> None:
    for step in steps_of(name):
        shown = excerpt(step.code, step.line)
        said = step.line - shown.first
        assert shown.marked == tuple(sorted(set(shown.marked)))
        assert all(0 <= line <= said for line in shown.marked), "what made a step stands above the line that records it"
        assert set(shown.maybe) <= set(shown.marked)
        body = statements(shown.lines)
        call = max((node for node in body if node.lineno <= said + 1), key=lambda node: node.lineno)
        if said in shown.marked:  # made in the very statement that records it
            assert shown.marked == (said,)
            assert "together(" in shown.lines[said] or not recorded(call).isidentifier(), step.name
            continue
        made = [node for node in body if node.lineno - 1 in shown.marked and gives(node, recorded(call))]
        assert made, (step.name, recorded(call))
        covered = {line - 1 for node in made for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
        assert covered == set(shown.marked), step.name


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_maybe_are_the_lines_under_a_condition(name: str) -> None:
    for step in steps_of(name):
        shown = excerpt(step.code, step.line)
        said = step.line - shown.first + 1
        branches = [node for node in statements(shown.lines) if isinstance(node, ast.If)]
        for line in shown.marked:
            inside = [node for node in branches if node.lineno <= line + 1 <= (node.end_lineno or 0)]
            reaches = all(node.lineno <= said <= (node.end_lineno or 0) for node in inside)
            assert (line in shown.maybe) == (not reaches), (step.name, shown.lines[line])


def test_steps_of_one_variable_are_told_apart() -> None:
    """efficient reuses `scores` and `mixed`: each step is made by the lines since the one before."""
    marked: dict[str, str] = {}
    for step in steps_of("efficient"):
        shown = excerpt(step.code, step.line)
        marked[step.name] = " ".join(shown.lines[line].strip() for line in shown.marked)
    assert marked["scores.product"] == "scores = q @ k.transpose(2, 3)"
    assert "q @ k" not in marked["scores"]
    assert "math.sqrt(self.d_head)" in marked["scores"]
    assert marked["mixed.transpose"] == "mixed = mixed.transpose(1, 2)"
    assert marked["mixed.contiguous"] == "mixed = mixed.contiguous()"
    assert ".view(" in marked["q.view"]
    assert "transpose" not in marked["q.view"]
    assert ".transpose(1, 2)" in marked["q.transpose"]


def test_a_line_that_is_no_function_s_is_refused() -> None:
    with pytest.raises(TypeError, match="no function"):
        excerpt((lambda: None).__code__, 1)
