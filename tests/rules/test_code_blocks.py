"""Every code block of README, CONTRIBUTING and the guide: Python is run, commands exist, folders are there.

The changes (diff) of CONTRIBUTING are applied and tried by test_contributing.
"""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

import make
from mha_core.training import recipe
from tests.core.runs import case

ROOT = Path(__file__).parents[2]
FILES = ("README.md", "CONTRIBUTING.md", "docs/install.md", "docs/python.md")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TARGETS = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = [one for extra in PROJECT["optional-dependencies"].values() for one in extra]
DECLARED = {str(Requirement(one)) for one in [*PROJECT["dependencies"], *EXTRAS]}
LOCKED = "".join(file.read_text("utf-8") for file in (make.RUNTIME, make.DEV))
PACKAGES = {PROJECT["name"], *make.package_names(LOCKED), *(Requirement(one).name for one in DECLARED)}


def blocks(kind: str) -> list[str]:
    return [body for name in FILES for own, body in BLOCK.findall((ROOT / name).read_text("utf-8")) if own == kind]


def commands() -> list[str]:
    """The lines of the shell blocks, and what stands in backquotes anywhere and begins as a command does."""
    lines = [line.partition("  #")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    texts = "".join((ROOT / name).read_text("utf-8") for name in FILES)
    return [*filter(None, lines), *re.findall(r"`((?:make|python|py|pip) [^`]+)`", texts)]


def remarked(code: str) -> Iterator[tuple[ast.stmt, str]]:
    """The statements of a block, each with the remark behind it."""
    lines = code.splitlines()
    for statement in ast.parse(code).body:
        assert statement.end_lineno is not None
        yield statement, lines[statement.end_lineno - 1].partition("  # ")[2]


def check_remark(value: Any, remark: str) -> bool:
    """Compares a value with the number, or the sizes, that its remark begins with; tells whether there are any."""
    sizes = re.match(r"\((\d+(?:, \d+)*)\)", remark)
    number = re.match(r"\d+\.(\d+)", remark)
    if sizes:
        assert tuple(value) == ast.literal_eval(sizes[0]), remark
    if number:
        assert round(float(value), len(number[1])) == float(number[0]), remark
    return bool(sizes or number)


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings of a few steps."""
    usual: Callable[..., Any] = recipe.defaults
    monkeypatch.setattr(recipe, "defaults", lambda task: replace(usual(task), steps=4, evaluations=1))


@pytest.mark.thorough("models of the guide are trained, if only for a few steps")
@pytest.mark.usefixtures("brief")
def test_python_of_the_documents_runs_and_says_what_is_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    checked = []
    for block in blocks("python"):
        for statement, remark in remarked(block):
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), "<documents>", "eval"), names)
                checked += [remark] if check_remark(value, remark) else []
            else:
                exec(compile(ast.Module([statement], []), "<documents>", "exec"), names)
    assert len(checked) >= 3, checked
    assert "weights" in capsys.readouterr().out
    assert (tmp_path / "my-run" / "model.safetensors").is_file()


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    kinds = {name: [kind for kind, _ in BLOCK.findall((ROOT / name).read_text("utf-8"))] for name in FILES}
    assert set(kinds["README.md"]) == set(kinds["docs/install.md"]) | set(kinds["docs/python.md"]) == {"sh", "python"}
    assert set(kinds["CONTRIBUTING.md"]) == {"sh", "diff", "text"}


def test_every_command_exists() -> None:
    for command in sorted(set(commands())):
        with case(command):
            check_command(command)


def check_command(command: str) -> None:
    tool, *given = shlex.split(command)
    if tool == "pip":
        assert given[0] == "install"
        for package in (one for one in given[1:] if not one.startswith("-") and one != "."):
            wanted = Requirement(package)
            assert wanted.name in PACKAGES
            assert not wanted.specifier or str(wanted) in DECLARED
    elif tool == "make":
        assert TARGETS
        assert given[0] in TARGETS[1].split()
        assert given[0] in make.COMMANDS
        assert all(re.fullmatch(r"(ARGS|CSV|SEEDS|EPOCHS)=.*", one) for one in given[1:])
    elif given[0] == "make.py":
        assert given[1] in make.COMMANDS
    elif given[0] == "-c":
        exec(given[1], {})
    else:
        assert given[0] == "-m"
        assert (ROOT / (given[1].replace(".", "/") + ".py")).is_file()


def test_make_help_lists_every_command() -> None:
    """Without an argument it sets nothing up."""
    done = subprocess.run([sys.executable, "make.py"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert all(re.search(rf"(^|  ){command} ", done.stderr, re.MULTILINE) for command in make.COMMANDS)
    assert TARGETS
    assert {*make.COMMANDS} - {*TARGETS[1].split()} == {"lock"}


def test_folders_of_the_trees_are_there() -> None:
    """The first word of each line that is not the end of the line before."""
    places = (ROOT, ROOT / "pages" / "explore", ROOT / "pages", ROOT / "headlight")
    for tree in blocks("text"):
        names = re.findall(r"^[ └│]*([\w/<>.]+?)/?(?= {2}|$)", tree, re.MULTILINE)
        assert len(names) >= 5
        for name in names:
            path = name.replace("<page>", "explore")
            assert any((place / path).exists() for place in places), name
