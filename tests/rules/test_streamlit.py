"""All that Headlight takes from Streamlit without a promise, and that it is still there: look here after an upgrade."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import streamlit
from streamlit import net_util
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime import Runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.web import bootstrap
from streamlit.web.server import server_util
from streamlit.web.server.starlette import starlette_app

from pages.frame.upload_middleware import UPLOADS

ROOT = Path(__file__).parents[2]
STATIC = Path(streamlit.__file__).parent / "static"
WEB = [file for kind in ("*.css", "*.js") for file in (ROOT / "assets" / "web").rglob(kind)]
FOLDERS = ("headlight", "mha_core", "pages")
PYTHON = [ROOT / "app.py", *(file for part in FOLDERS for file in (ROOT / part).rglob("*.py"))]
# How something of Streamlit's inside is written, and the names of the files that use it, and of no others.
TAKEN = {
    # on an unknown Origin Streamlit asks a host outside for its address; the internal one is what a class opens
    r"\bnet_util\b": "app.py",
    # files are counted and forgotten by visit, which Streamlit does not bound; a session without a page leaves none
    r"\bstreamlit(?:\.| import )runtime\b|\b(?:uploaded_file_mgr|file_storage|is_active_session)\b":
        "upload_middleware.py sessions.py user.py",
    # a message with a hundred thousand controls holds a core for seconds: they are counted before Streamlit reads it
    r"\bBackMsg\b": "socket_middleware.py",
    # the picture comes in the page, before Streamlit's scripts; the policy names the scripts that stand in it
    r"index\.html|headlight-later": "headers.py index_html.py boot.js",
    # the routes that nobody needs are closed, and what arrives at that of files is counted
    r"_stcore|oauth2callback": "host_middleware.py upload_middleware.py",
    # on a page's own address Streamlit looks for its server below that address first, and in vain
    r"__streamlit\b": "boot.js",
    # the page is drawn in the visitor's theme before Streamlit is there, and one button chooses it for all pages
    r"stActiveTheme\b": "bar.js",
    # Streamlit's own style knows no grid of ours: controls are laid out, what scrolls and charts are found
    r"data-test(?:id|-\w+)|data-baseweb|data-stale|[#\"'.]st[A-Z][A-Za-z]+\b(?<!stActiveTheme)":
        "house.css lesson.css room.css bar.js chart_keys.js dom.js navigation.js site.css site.js",
}  # fmt: skip
MAX_TAKEN = 8
# What Streamlit’s documentation names, its type of a container, and its test runner.
PUBLIC = ("streamlit", "streamlit.delta_generator.DeltaGenerator", "streamlit.testing.v1.AppTest")


@cache
def source(file: Path) -> str:
    return file.read_text("utf-8")


@cache
def bundle() -> str:
    """Everything that Streamlit sends to a browser as a script."""
    return "".join(file.read_text("utf-8") for file in (STATIC / "static" / "js").glob("*.js"))


def test_private_names_of_streamlit_are_only_in_the_listed_files() -> None:
    assert len(TAKEN) <= MAX_TAKEN
    for names, files in TAKEN.items():
        assert {file.name for file in (*PYTHON, *WEB) if re.search(names, source(file))} == set(files.split()), names


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


def test_no_other_private_name_of_streamlit_is_used() -> None:
    code = "from streamlit.elements.widgets import text_widgets\ntext_widgets._DEFAULT = 1\nst._main\nself._own"
    found = ["streamlit.elements.widgets.text_widgets", "text_widgets._DEFAULT", "st._main"]
    assert list(inside(ast.parse(code))) == found, "the rule finds what it looks for"
    for file in (file for file in PYTHON if re.search(r"streamlit|\bst\._", source(file))):
        for name in inside(ast.parse(source(file))):
            assert name in PUBLIC or any(re.search(names, name) for names in TAKEN), (file.name, name)


def test_address_of_this_machine_is_looked_up_in_one_place() -> None:
    assert callable(net_util.get_external_ip)
    for module in (bootstrap, server_util):  # both look it up in net_util, where it is replaced
        assert re.search(r"\bnet_util\.get_external_ip\b", inspect.getsource(module))
        assert not hasattr(module, "get_external_ip")


def test_files_messages_and_connections_have_what_is_read_of_them() -> None:
    assert isinstance(Runtime.uploaded_file_mgr, property)
    assert callable(Runtime.is_active_session)
    manager = MemoryUploadedFileManager(UPLOADS)
    assert dict(manager.file_storage) == {}
    assert callable(manager.remove_file)
    assert "headers" in vars(type(streamlit.context))  # by which connections differ
    assert len(BackMsg().rerun_script.widget_states.widgets) == 0  # which are counted
    routes = "".join(file.read_text("utf-8") for file in Path(starlette_app.__file__).parent.glob("*.py"))
    for part in (UPLOADS, "script-health-check", "_stcore/agent", "oauth2callback"):
        assert part.lstrip("/") in routes, part


def test_parts_of_the_page_that_our_styles_and_scripts_name_exist() -> None:
    names = {name for file in WEB for name in re.findall(r"""data-testid=\\?["']?([A-Za-z-]+)""", source(file))}
    assert len(names) > 20
    for name in names:
        kind, _, own = name.partition("-")
        whole = any(f"{mark}{name}{mark}" in bundle() for mark in "\"'`")
        assert whole or (f"`{kind}-${{" in bundle() and f"`{own}`" in bundle()), name  # or it is put together
    (version,) = {v for file in WEB for v in re.findall(r"`stActiveTheme-\$\{[\w.]+\}-v(\d+)`", source(file))}
    before = [part[-40:] for part in bundle().split("`stActiveTheme-${window.location.pathname}`")]
    assert any(re.search(rf"\b\w+={version},\w+=$", text) for text in before)
    for part in ("=window.__streamlit;", "get BACKEND_BASE_URL()", "data-test-script-state"):  # the last for the tests
        assert part in bundle(), part


def test_its_page_is_written_as_it_is_read() -> None:
    index = (STATIC / "index.html").read_text("utf-8")
    assert '<div id="root">' in index
    assert re.search(r'<script type="module"[^>]*></script>', index)
    assert re.search(r"<script>.*?</script>", index, re.DOTALL)
    assert index.count("<title>") == index.count("</head>") == 1
