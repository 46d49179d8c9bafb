"""Who may import whom, read from the source by folder: one direction, no circle, no page library in the core."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(file for folder in ("mha_core", "pages") for file in (ROOT / folder).rglob("*.py"))
CORE = [file for file in FILES if file.is_relative_to(ROOT / "mha_core")]
PAGES = sorted(file.parent for file in (ROOT / "pages").glob("*/page.py"))

# The rooms of each package from the ground up: a room may import those before it in the list.
CORE_ROOMS = [
    "errors", "device", "clock", "trace", "masks", "positions", "attention", "show", "heads", "models",
    "training", "pretrained", "measure",
]  # fmt: skip
KIT_ROOMS = ["server", "draw", "picture", "lessons", "wire", "rooms", "jobs", "frame"]
INSIDE_FUNCTIONS = {
    "anywidget", "traitlets",  # which a notebook may have
    "tokenizers", "safetensors", "transformers", "huggingface_hub", "datasets", "numpy", "pandas", "tqdm", "PIL",
}  # fmt: skip
# What computes knows no page: in these rooms, these files alone know Streamlit.
KNOW_STREAMLIT = {
    "draw": {"canvas", "view"}, "picture": set[str](), "lessons": set[str](), "wire": set[str](), "rooms": set[str](),
    "jobs": {"visitor"},
}  # fmt: skip

WEB = ROOT / "assets" / "web"
# The rooms of the browser's code likewise; above these stand the pages, of which none knows another, and the frame.
WEB_ROOMS = ["base", "link", "wire", "picture", "lessons", "rooms", "sheets", "files"]
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
def resolved(name: str) -> str:
    """The module that an imported name is or comes from: "mha_core.errors.SizeError" -> "mha_core.errors"."""
    while name and not any((ROOT / name.replace(".", "/")).with_suffix(end).exists() for end in ("", ".py")):
        name = name.rpartition(".")[0]
    return name


@cache
def ours(file: Path) -> frozenset[str]:
    """The project's modules that a file imports, inside functions too."""
    return frozenset(resolved(name) for name in imports(file) if name.split(".")[0] in ("mha_core", "pages"))


def module_of(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def room_of(module: str) -> str:
    """ "mha_core.attention.base" -> "attention", "headlight.ui.sheet" -> "kit.draw", "pages.masks" -> "masks"."""
    package, *rest = module.split(".")
    if package == "pages" and rest[:1] == ["kit"]:
        return ".".join(rest[:2])
    return rest[0] if rest else package


def test_the_core_needs_torch_alone() -> None:
    always = sys.stdlib_module_names | {"torch", "mha_core"}
    for file in CORE:
        assert roots(file, inside=False) <= always, name_of(file)
        assert roots(file, inside=True) <= always | INSIDE_FUNCTIONS, name_of(file)


def test_no_arrow_goes_up_or_round() -> None:
    """Every file belongs to a room; a room imports what stands before it, a page the kit, the kit no page."""
    height = {room: number for number, room in enumerate(CORE_ROOMS)} | {"mha_core": len(CORE_ROOMS)}
    height |= {f"kit.{room}": number for number, room in enumerate(KIT_ROOMS)} | {"pages": -1, "kit": -1}
    height |= {folder.name: len(KIT_ROOMS) for folder in PAGES if folder.name not in height}
    wrong = []
    for file in FILES:
        own = room_of(module_of(file))
        page = file.relative_to(ROOT).parts[0] == "pages"
        for module in ours(file):
            other = room_of(module)
            if page and module.startswith("mha_core"):
                continue
            # masks and positions are rooms of the core and pages too
            below = other.startswith("kit.") if page and not own.startswith("kit") else height[other] < height[own]
            if other != own and not (below and module.startswith("pages") == page):
                wrong.append(f"{name_of(file)} imports {module}")
    assert wrong == []
    graph = {module_of(file): ours(file) - {module_of(file)} for file in FILES}
    TopologicalSorter(graph).prepare()  # raises a CycleError that names the circle


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
    """Between rooms as in Python; the file that stands alone shows Explore's view, so it may know that page.

    A module that imports one that needs it could not be part of that file.
    """
    graph = browser_graph()
    assert "frame/bar.js" in graph["frame/frame.js"]
    assert set().union(*graph.values()) <= set(graph)
    TopologicalSorter(graph).prepare()
    height = {room: number for number, room in enumerate(WEB_ROOMS)}
    top = {Path(name).parent.name for name in graph} - set(WEB_ROOMS)
    assert {"explore", "compare", "masks", "shapes", "frame"} <= top
    wrong = [
        f"{name} imports {other}" for name, others in graph.items() for other in others
        for own, below in [(Path(name).parent.name, Path(other).parent.name)]
        if own != below and height.get(below, len(top)) >= height.get(own, len(top))
        if (own, below) != ("standalone", "explore")
    ]  # fmt: skip
    assert wrong == []


def test_the_kit_holds_what_several_pages_share() -> None:
    """A file that one page alone needs, directly or through others, lies beside that page."""
    graph = {module_of(file): ours(file) for file in FILES}

    def reached(module: str, seen: set[str]) -> set[str]:
        for other in graph.get(module, frozenset()) - seen:
            seen.add(other)
            reached(other, seen)
        return seen

    # a page's script, and what answers its view over the wire, with a picture or with a file
    by_page = [
        set().union(*(reached(f"pages.{folder.name}.{part}", set()) for part in ("page", "message", "files")))
        for folder in PAGES
    ]
    by_page.append(reached("headlight.lessons.message", set()))  # lessons ride beside every page
    by_page.append(reached("headlight.api.facts", set()))  # which every page's browser knows
    by_app = {resolved(name) for name in imports(ROOT / "app.py")}
    by_app = by_app.union(*(reached(module, set()) for module in by_app))
    for file in (ROOT / "pages" / "kit").rglob("*.py"):
        module = module_of(file)
        # lessons ride beside every page, and by hand tells one of them what its numbers are called
        written = module in ("headlight.api.facts", "pages.declarations")  # files of the browser, by hand
        whole_app = room_of(module) in ("kit.server", "kit.lessons") or module == "headlight.api.message" or written
        if file.name != "__init__.py" and module not in by_app and not whole_app:
            assert file.stem == "shell" or sum(module in found for found in by_page) > 1, (
                f"one page needs {name_of(file)}"
            )


def test_what_computes_knows_no_streamlit_and_a_page_computes_nothing_itself() -> None:
    for room, expected in KNOW_STREAMLIT.items():
        files = (ROOT / "pages" / "kit" / room).glob("*.py")
        assert {file.stem for file in files if "streamlit" in roots(file)} == expected, room
    for folder in PAGES:
        assert not roots(folder / "page.py") & {"torch", "plotly", "pandas", "transformers"}, folder.name


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
    rooms = [
        room_of(name) for name in ("mha_core.attention.base", "headlight.ui.sheet", "pages.masks.page", "mha_core")
    ]
    assert rooms == ["attention", "kit.draw", "masks", "mha_core"]
