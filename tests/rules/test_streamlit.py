"""What Headlight takes from Streamlit without a promise is still there: look here first after an upgrade."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import streamlit
from streamlit import net_util
from streamlit.elements.widgets import text_widgets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime import Runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.web import bootstrap
from streamlit.web.server import server_util
from streamlit.web.server.starlette import starlette_app

from pages.kit.server.gates import UPLOADS

ROOT = Path(__file__).parents[2]
STATIC = Path(streamlit.__file__).parent / "static"
OURS = [file for file in (ROOT / "assets" / "web").glob("*/*") if file.suffix in (".css", ".js")]
TEST_ID = re.compile(r"""data-testid=\\?["']?([A-Za-z-]+)""")


@cache
def bundle() -> str:
    """Everything that Streamlit sends to a browser as a script."""
    return "".join(file.read_text("utf-8") for file in (STATIC / "static" / "js").glob("*.js"))


def names_in(module: object) -> list[str]:
    """The names that a module's source reads, a.b as b."""
    tree = ast.walk(ast.parse(inspect.getsource(module)))  # type: ignore[arg-type]
    reads = [node for node in tree if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)]
    return [node.id if isinstance(node, ast.Name) else node.attr for node in reads]


def test_the_sentence_box_waits_as_long_as_we_say() -> None:
    assert isinstance(text_widgets._DEFAULT_LIVE_DEBOUNCE_MS, int)
    assert "_DEFAULT_LIVE_DEBOUNCE_MS" in names_in(text_widgets), "read when it is needed, so that it can be set"


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
    names = {name for file in OURS for name in TEST_ID.findall(file.read_text("utf-8"))}
    assert len(names) > 20
    for name in names:
        kind, _, own = name.partition("-")
        whole = re.search(rf"""["'`]{name}["'`]""", bundle())
        assert whole or (f"`{kind}-${{" in bundle() and f"`{own}`" in bundle()), name  # or it is put together


def test_the_browser_keeps_the_chosen_theme_where_we_write_it() -> None:
    (version,) = {
        found for file in OURS for found in re.findall(r"`stActiveTheme-\$\{path\}-v(\d+)`", file.read_text())
    }
    assert re.search(rf"\b\w+={version},\w+=`stActiveTheme-\$\{{window\.location\.pathname\}}`", bundle())


def test_the_app_says_when_its_script_is_at_rest() -> None:
    assert "data-test-script-state" in bundle()
