"""No test uses a private name of the project: what a test needs, everybody may need, and it has a public name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("mha_core", "headlight", "pages", "app", "make")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def defined(tree: ast.AST) -> Iterator[str]:
    """The private names that a test file defines itself: functions, classes, attributes of self, constants."""
    for node in ast.walk(tree):
        name = ""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            name = node.attr
        if is_private(name):
            yield name


@cache
def private_names() -> frozenset[str]:
    """Every private name that the project defines, or reads of itself."""
    files = [*(file for part in PACKAGES[:3] for file in (ROOT / part).rglob("*.py")), *ROOT.glob("*.py")]
    name = re.compile(r"(?:^|\bdef |\bclass |\bself\.)(_[A-Za-z]\w*)\b", re.MULTILINE)
    return frozenset(found for file in files for found in name.findall(file.read_text("utf-8")))


def used(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of each private name of the project that is imported, reached into, or patched by its name."""
    theirs = set(defined(tree))
    ours = private_names()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in PACKAGES:
            yield from ((node.lineno, alias.name) for alias in node.names if is_private(alias.name))
        elif isinstance(node, ast.Attribute) and node.attr in ours and node.attr not in theirs:
            yield node.lineno, node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in (
            "setattr", "getattr", "delattr", "hasattr",
        ):  # fmt: skip
            texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            yield from ((node.lineno, text) for text in texts if text.rpartition(".")[2] in ours)


def test_no_private_name_is_used() -> None:
    private = re.compile(r"(?<!\w)_[A-Za-z]\w*")
    found = [
        f"{file.relative_to(ROOT)}:{line}: {name}"
        for file in (ROOT / "tests").rglob("*.py")
        for text in [file.read_text("utf-8")]
        if not private_names().isdisjoint(private.findall(text))  # only these need to be parsed
        for line, name in used(ast.parse(text))
    ]
    assert found == []


def test_rule_finds_what_it_looks_for() -> None:
    name = min(private_names())
    for line in (f"from mha_core.trace import {name}", f"thing.{name}()", f"monkeypatch.setattr(thing, {name!r}, 1)"):
        assert list(used(ast.parse(line))) == [(1, name)]
    for line in ("from elsewhere import _name", "thing._no_name_of_ours()", f"self.{name} = 1; self.{name}"):
        assert list(used(ast.parse(line))) == []
