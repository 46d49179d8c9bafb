"""Who may import whom, read from the source by folder: one direction, no circle, no page library in the core."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("mha_core", "headlight", "pages")
FILES = sorted(file for folder in PACKAGES for file in (ROOT / folder).rglob("*.py"))
CORE = [file for file in FILES if file.is_relative_to(ROOT / "mha_core")]
PAGES = sorted(file.parent for file in (ROOT / "pages").glob("*/page.py"))

# The folders from the ground up: each may import those before it in the list; "" is the package's own file.
FLOORS = {
    "mha_core": [
        "errors", "device", "clock", "token_text", "trace", "masks", "positions", "attention", "show", "heads",
        "models", "training", "pretrained", "measure", "check", "",
    ],
    "headlight": [
        "", "server", "queue", "ui", "link", "registry", "jobs", "picture", "export", "lessons", "api", "rooms",
        "arguments", "website", "train", "check", "export_command", "command", "__main__",
    ],
    "pages": ["", "frame", *(folder.name for folder in PAGES), "handlers", "declarations"],
}  # fmt: skip
INSIDE_FUNCTIONS = {
    "anywidget", "traitlets",  # which a notebook may have
    "tokenizers", "safetensors", "transformers", "huggingface_hub", "datasets", "numpy", "pandas", "tqdm", "ray", "PIL",
}  # fmt: skip

WEB = ROOT / "assets" / "web"
# The folders of the browser's code likewise; above these stand the pages, of which none knows another, and the frame.
WEB_FOLDERS = ["base", "link", "wire", "compute", "picture", "lessons", "rooms", "sheets", "files"]
JS_IMPORT = re.compile(r"""^(?:import|export)\b(?:[^;"]*\bfrom)? "(\.[\w./]+)";""", re.MULTILINE)


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


@cache
def imports(file: Path, *, inside: bool | None = None) -> tuple[str, ...]:
    """Full names of what a file imports, relative ones made absolute: at module level, or `inside` functions, or both.

    What stands under `if TYPE_CHECKING:` is not imported at all.
    """
    package = list(file.relative_to(ROOT).with_suffix("").parts[:-1])

    def walk(node: ast.AST, within: bool) -> Iterator[str]:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        within = within or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        if isinstance(node, ast.Import) and inside in (None, within):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom) and inside in (None, within):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *filter(None, [node.module])])
            yield from (f"{source}.{alias.name}" for alias in node.names)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, within)

    return tuple(walk(parsed(file), False))


def roots(file: Path, *, inside: bool | None = None) -> set[str]:
    return {name.split(".")[0] for name in imports(file, inside=inside)}


@cache
@cache
def resolved(name: str) -> str:
    """The module that an imported name is or comes from: "mha_core.errors.SizeError" -> "mha_core.errors"."""
    while name and not any((ROOT / name.replace(".", "/")).with_suffix(end).exists() for end in ("", ".py")):
        name = name.rpartition(".")[0]
    return name


@cache
def ours(file: Path) -> frozenset[str]:
    """The project's modules that a file imports, inside functions too."""
    return frozenset(resolved(name) for name in imports(file) if name.split(".")[0] in PACKAGES)


def module_of(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def place(module: str) -> tuple[str, str]:
    """Package and folder: "mha_core.attention.base" -> ("mha_core", "attention"), "pages" -> ("pages", "")."""
    package, _, rest = module.partition(".")
    return package, rest.partition(".")[0]


def test_the_core_needs_torch_alone() -> None:
    always = sys.stdlib_module_names | {"torch", "mha_core"}
    for file in CORE:
        assert roots(file, inside=False) <= always, name_of(file)
        assert roots(file, inside=True) <= always | INSIDE_FUNCTIONS, name_of(file)


def test_arrows_go_down_only_and_never_round() -> None:
    """Check the packages, the folders of each, that no page imports another, and that no files form a circle."""
    page_names = {folder.name for folder in PAGES}
    wrong = []
    for file in FILES:
        package, folder = place(module_of(file))
        for module in ours(file):
            other_package, other = place(module)
            if package == other_package:
                floors = FLOORS[package]
                down = other == folder or (
                    floors.index(other) < floors.index(folder) and not {other, folder} <= page_names
                )
            else:
                down = PACKAGES.index(other_package) < PACKAGES.index(package)
            if not down:
                wrong.append(f"{name_of(file)} imports {module}")
    assert wrong == []
    graph = {module_of(file): ours(file) - {module_of(file)} for file in FILES}
    TopologicalSorter(graph).prepare()  # raises a CycleError that names the circle


def test_streamlit_is_imported_under_pages_and_in_the_app_alone() -> None:
    for file in FILES:
        if not file.is_relative_to(ROOT / "pages"):
            assert "streamlit" not in roots(file), name_of(file)
    for folder in PAGES:
        assert not roots(folder / "page.py") & {"torch", "plotly", "pandas", "transformers"}, folder.name


def test_the_queue_and_the_core_load_no_page_library() -> None:
    heavy = ("streamlit", "starlette", "plotly", "pandas")
    code = f"import sys, headlight.queue.policy, mha_core; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def browser_graph() -> dict[str, set[str]]:
    """Module of the browser -> those that it imports, as "picture/map.js"."""
    return {
        file.relative_to(WEB).as_posix(): {
            (file.parent / path).resolve().relative_to(WEB).as_posix()
            for path in JS_IMPORT.findall(file.read_text("utf-8"))
        }
        for file in WEB.rglob("*.js")
    }


def test_no_arrow_goes_up_or_round_in_the_browser() -> None:
    """As in Python; the file that stands alone shows Explore's view, so it may know that page.

    A module that imports one that needs it could not be part of that file.
    """
    graph = browser_graph()
    assert "frame/bar.js" in graph["frame/frame.js"]
    assert set().union(*graph.values()) <= set(graph)
    TopologicalSorter(graph).prepare()
    height = {folder: number for number, folder in enumerate(WEB_FOLDERS)}
    top = {Path(name).parent.name for name in graph} - set(WEB_FOLDERS)
    assert {"explore", "model_map", "compare", "masks", "shapes", "frame"} <= top
    wrong = [
        f"{name} imports {other}" for name, others in graph.items() for other in others
        for own, below in [(Path(name).parent.name, Path(other).parent.name)]
        if own != below and height.get(below, len(top)) >= height.get(own, len(top))
        if (own, below) not in (("standalone", "explore"), ("site", "frame"))
    ]  # fmt: skip
    assert wrong == []


def test_the_reader_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules above would all pass on a reader that finds nothing."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    resolved.cache_clear()
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
    assert resolved("mha_core.attention.base.AttentionLayer") == "mha_core.attention.base"
    resolved.cache_clear()
    assert place("mha_core.attention.base") == ("mha_core", "attention")
    assert place("pages") == ("pages", "")
