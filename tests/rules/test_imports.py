"""Who may import whom, read from the source: one direction in the core, and no page library there."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = sorted((ROOT / "mha_core").rglob("*.py"))
PAGES = sorted((ROOT / "pages").glob("*.py"))
KIT = sorted((ROOT / "pages" / "kit").glob("*.py"))

# Lower ones may not import higher ones; those of one step may import each other. A package counts as one module.
STEPS = [
    {"errors"},
    {"device", "recipe", "report"},
    {"trace", "masks", "tasks", "positions", "events", "workload"},
    {"attention", "tokens"},
    {"by_hand", "stack"},
    {"encoder", "classifier", "language_model"},
    {"model", "initial"},
    {"saved", "objectives", "asking"},
    {"pretrained", "training"},
    {"timing"},
    {"benchmark", "worker", "checkpoints", "reproduce"},
    {"compare"},
    {"__init__"},
]
HEIGHT = {module: height for height, modules in enumerate(STEPS) for module in modules}
INSIDE_FUNCTIONS = {"tokenizers", "safetensors", "transformers", "datasets"}
MAY_IMPORT_STREAMLIT = {
    "about",
    "asked",
    "shell",
    "controls",
    "chosen",
    "brought",
    "classroom",
    "questions",
    "takeaway",
    "recipes",
    "live",
    "links",
    "maps",
    "painter",
    "pair_view",
    "steps",
    "canvas",
    "layout",
    "headers",
    "gates",
    "sockets",
    "visit",
}


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def imports(file: Path, *, inside: bool) -> Iterator[str]:
    """Full names of what a file imports, relative ones made absolute: at module level, or `inside` functions.

    What stands under `if TYPE_CHECKING:` is not imported at all.
    """
    package = list(file.relative_to(ROOT).with_suffix("").parts[:-1])

    def walk(node: ast.AST, within: bool) -> Iterator[str]:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        within = within or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        if isinstance(node, ast.Import) and within == inside:
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom) and within == inside:
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *filter(None, [node.module])])
            yield from (f"{source}.{alias.name}" for alias in node.names)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, within)

    yield from walk(ast.parse(file.read_text("utf-8")), False)


def roots(file: Path, *, inside: bool) -> set[str]:
    return {name.split(".")[0] for name in imports(file, inside=inside)}


def core_module(name: str) -> str:
    """ "mha_core.attention.base.X" -> "attention"."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in HEIGHT else "__init__"


@pytest.mark.parametrize("file", CORE, ids=name_of)
def test_the_core_needs_torch_alone(file: Path) -> None:
    assert roots(file, inside=False) <= sys.stdlib_module_names | {"torch", "mha_core"}
    assert roots(file, inside=True) <= sys.stdlib_module_names | {"torch", "mha_core"} | INSIDE_FUNCTIONS


@pytest.mark.parametrize("file", CORE, ids=name_of)
def test_the_core_imports_in_one_direction(file: Path) -> None:
    own = file.relative_to(ROOT / "mha_core").with_suffix("").parts[0]
    assert own in HEIGHT, f"{name_of(file)} has no step in this test"
    for name in [*imports(file, inside=False), *imports(file, inside=True)]:
        if name.startswith("mha_core"):
            other = core_module(name)
            lower = HEIGHT[other] < HEIGHT[own] or (own != other and HEIGHT[other] == HEIGHT[own])
            assert own == other or lower, f"{name_of(file)} imports {name}"


@pytest.mark.parametrize("file", PAGES, ids=name_of)
def test_a_page_imports_the_kit_and_the_core_and_no_other_page(file: Path) -> None:
    for name in [*imports(file, inside=False), *imports(file, inside=True)]:
        root, *rest = name.split(".")
        assert root not in {"torch", "plotly", "pandas", "transformers"}, f"{name_of(file)} imports {name}"
        assert root != "pages" or rest[0] == "kit", f"{name_of(file)} imports {name}"


@pytest.mark.parametrize("file", KIT, ids=name_of)
def test_only_some_of_the_kit_know_streamlit(file: Path) -> None:
    everything = roots(file, inside=False) | roots(file, inside=True)
    assert "streamlit" not in everything or file.stem in MAY_IMPORT_STREAMLIT


@pytest.mark.parametrize("file", KIT, ids=name_of)
def test_the_kit_imports_no_page(file: Path) -> None:
    for name in [*imports(file, inside=False), *imports(file, inside=True)]:
        root, *rest = name.split(".")
        assert root != "pages" or rest[0] == "kit", f"{name_of(file)} imports {name}"


def test_the_reader_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules above would all pass on a reader that finds nothing."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    file = tmp_path / "mha_core" / "attention" / "base.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "import torch.nn as nn\nfrom typing import TYPE_CHECKING\nfrom .. import masks\nfrom .weights import Weights\n"
        "if TYPE_CHECKING:\n    import streamlit\nif True:\n    import os\n"
        "class A:\n    import json\n    def f(self):\n        from transformers import BertModel\n"
    )
    assert list(imports(file, inside=False)) == [
        "torch.nn", "typing.TYPE_CHECKING", "mha_core.masks", "mha_core.attention.weights.Weights", "os", "json",
    ]  # fmt: skip
    assert list(imports(file, inside=True)) == ["transformers.BertModel"]
    assert core_module("mha_core.attention.weights.Weights") == "attention"
