"""All that Headlight takes from Streamlit without a promise, and that it is still there: look here after an upgrade."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import streamlit
from streamlit import net_util
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime import Runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.web import bootstrap
from streamlit.web.server import server_util
from streamlit.web.server.starlette import starlette_app

from pages.kit.server.gates import UPLOADS

ROOT = Path(__file__).parents[2]
STATIC = Path(streamlit.__file__).parent / "static"
WEB = [file for kind in ("*.css", "*.js") for file in (ROOT / "assets" / "web").rglob(kind)]
PYTHON = [ROOT / "app.py", *(ROOT / "pages").rglob("*.py"), *(ROOT / "mha_core").rglob("*.py")]
TEST_ID = re.compile(r"""data-testid=\\?["']?([A-Za-z-]+)""")
MOST = 8


class Taken(NamedTuple):
    """Something of Streamlit's inside that a product file names.

    Attributes:
        names: how it is written.
        files: the names of the files that use it, and of no others.
        why: what it is for, and why nothing public does it.
    """

    names: str
    files: str
    why: str


TAKEN = {
    "the addresses of this machine": Taken(
        r"\bnet_util\b",
        "app.py addresses.py",
        "on an unknown Origin Streamlit asks a host outside for the external one, so that is replaced; the internal one"
        " is what a class opens",
    ),
    "sessions and their files": Taken(
        r"\bstreamlit(?:\.| import )runtime\b|\b(?:uploaded_file_mgr|file_storage|is_active_session)\b",
        "gates.py visits.py visitor.py",
        "files are counted and forgotten by visit, which Streamlit does not bound, and only a session with a page open"
        " may leave one",
    ),
    "the message of a browser": Taken(
        r"\bBackMsg\b",
        "sockets.py",
        "one with a hundred thousand controls holds a core for seconds, so they are counted before Streamlit reads it",
    ),
    "index.html": Taken(
        r"index\.html|headlight-later",
        "headers.py first.py boot.js",
        "the picture comes in the page, before Streamlit's scripts; the policy names the scripts that stand in it",
    ),
    "the routes": Taken(
        r"_stcore|oauth2callback",
        "gates.py",
        "those that nobody needs are closed, and what arrives at that of files is counted",
    ),
    "where its server begins": Taken(
        r"__streamlit\b",
        "boot.js",
        "on a page's own address Streamlit looks for its server below that address first, and in vain",
    ),
    "where a theme is kept": Taken(
        r"stActiveTheme\b",
        "bar.js first.js",
        "the page is drawn in the visitor's theme before Streamlit is there, and one button chooses it for all pages",
    ),
    "parts of the page": Taken(
        r"data-test(?:id|-\w+)|data-baseweb|data-stale|[#\"'.]st[A-Z][A-Za-z]+\b(?<!stActiveTheme)",
        "house.css lesson.css room.css bar.js chart_keys.js dom.js way.js",
        "Streamlit's own style knows no grid of ours: controls of form pages are laid out, what scrolls and"
        " charts that keys can read are found",
    ),
}
# What Streamlit's documentation names, and its type of a container.
PUBLIC = ("streamlit", "streamlit.delta_generator.DeltaGenerator")


@cache
def bundle() -> str:
    """Everything that Streamlit sends to a browser as a script."""
    return "".join(file.read_text("utf-8") for file in (STATIC / "static" / "js").glob("*.js"))


def names_in(module: object) -> list[str]:
    """The names that a module's source reads, a.b as b."""
    tree = ast.walk(ast.parse(inspect.getsource(module)))  # type: ignore[arg-type]
    reads = [node for node in tree if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)]
    return [node.id if isinstance(node, ast.Name) else node.attr for node in reads]


def test_what_is_taken_stands_where_the_list_says_and_nowhere_else() -> None:
    assert len(TAKEN) <= MOST
    for what, taken in TAKEN.items():
        found = {file.name for file in (*PYTHON, *WEB) if re.search(taken.names, file.read_text("utf-8"))}
        assert found == set(taken.files.split()), what


def inside(tree: ast.AST) -> Iterator[str]:
    """What a file takes of Streamlit's modules, and private names of what it has from there."""
    own = {"st"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("streamlit"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "streamlit":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            own |= {alias.asname or alias.name for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.match("_[A-Za-z]", node.attr) and ast.unparse(node.value) in own:
            yield ast.unparse(node)


def test_nothing_else_of_its_inside_is_used() -> None:
    for file in PYTHON:
        for name in inside(ast.parse(file.read_text("utf-8"))):
            known = name in PUBLIC or any(re.search(taken.names, name) for taken in TAKEN.values())
            assert known, (file.name, name)


def test_the_rule_finds_what_it_looks_for() -> None:
    code = "from streamlit.elements.widgets import text_widgets\ntext_widgets._DEFAULT = 1\nst._main\nself._own"
    found = ["streamlit.elements.widgets.text_widgets", "text_widgets._DEFAULT", "st._main"]
    assert list(inside(ast.parse(code))) == found


def test_the_address_of_this_machine_is_asked_for_in_one_place() -> None:
    assert callable(net_util.get_external_ip)
    for module in (bootstrap, server_util):  # both look it up in net_util, where it is replaced
        assert "get_external_ip" in names_in(module)
        assert not hasattr(module, "get_external_ip")


def test_files_of_visitors_are_counted_where_they_are() -> None:
    assert isinstance(Runtime.uploaded_file_mgr, property)
    assert callable(Runtime.is_active_session)
    manager = MemoryUploadedFileManager(UPLOADS)
    assert dict(manager.file_storage) == {}
    assert callable(manager.remove_file)


@pytest.mark.parametrize(
    "name",
    ["get_script_run_ctx", "set_corrected_value", "discard_param_no_forward_msg", "remove_param", "page_script_hash",
     "set_initial_query_params_from_current", "is_history_navigation"],
)  # fmt: skip
def test_what_was_taken_from_its_inside_is_not_needed_any_more(name: str) -> None:
    assert not [file for file in (ROOT / "pages").rglob("*.py") if name in file.read_text("utf-8")]


def test_connections_are_told_apart_by_a_header_that_the_script_can_read() -> None:
    assert "headers" in vars(type(streamlit.context))


def test_a_page_of_words_imports_no_model() -> None:
    """Glossary: nothing of the core, so nothing of torch."""
    code = "import sys, pages.glossary.page; print([name for name in sys.modules if name in ('torch', 'mha_core')])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_message_from_a_browser_has_the_controls_that_are_counted() -> None:
    assert len(BackMsg().rerun_script.widget_states.widgets) == 0


@pytest.mark.parametrize("part", [UPLOADS, "script-health-check", "_stcore/agent", "oauth2callback"])
def test_the_routes_that_are_counted_or_closed_exist(part: str) -> None:
    sources = [file.read_text("utf-8") for file in Path(starlette_app.__file__).parent.glob("*.py")]
    assert any(part.lstrip("/") in source for source in sources)


def test_the_parts_of_the_page_that_our_styles_and_scripts_name_exist() -> None:
    names = {name for file in WEB for name in TEST_ID.findall(file.read_text("utf-8"))}
    assert len(names) > 20
    for name in names:
        kind, _, own = name.partition("-")
        whole = re.search(rf"""["'`]{name}["'`]""", bundle())
        assert whole or (f"`{kind}-${{" in bundle() and f"`{own}`" in bundle()), name  # or it is put together


def test_the_browser_keeps_the_chosen_theme_where_we_write_it() -> None:
    (version,) = {
        found for file in WEB for found in re.findall(r"`stActiveTheme-\$\{[\w.]+\}-v(\d+)`", file.read_text("utf-8"))
    }
    assert re.search(rf"\b\w+={version},\w+=`stActiveTheme-\$\{{window\.location\.pathname\}}`", bundle())


def test_streamlit_hears_where_its_server_begins() -> None:
    assert "=window.__streamlit;" in bundle()
    assert "get BACKEND_BASE_URL()" in bundle()


def test_its_page_is_written_as_it_is_read() -> None:
    index = (STATIC / "index.html").read_text("utf-8")
    assert '<div id="root">' in index
    assert re.search(r'<script type="module"[^>]*></script>', index)
    assert re.search(r"<script>.*?</script>", index, re.DOTALL)
    assert index.count("<title>") == index.count("</head>") == 1


def test_the_app_says_when_its_script_is_at_rest() -> None:
    """For the tests, which wait for it."""
    assert "data-test-script-state" in bundle()
