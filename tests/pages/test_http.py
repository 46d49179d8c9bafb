"""Every HTTP answer: its headers, whether it is packed, and Headlight's own files."""

from __future__ import annotations

import re

import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.routing import Mount
from starlette.testclient import TestClient

from pages.kit.draw import web
from pages.kit.server.headers import HEADERS, SecurityHeaders
from pages.kit.server.network import accepts_gzip
from pages.kit.server.own_files import KEPT, TYPES, OwnFiles

from .looped import through

FILES = web.FILES | {web.SCRIPT: web.script()}
GZIP = [
    "gzip", "GZIP", "x-gzip", "deflate, gzip", "gzip;q=0.001", "br;q=1.0, gzip ; q = 0.5", "gzip;q=1.", "gzip;Q=1.000",
    "*", "*;q=0.1", "*;q=0, gzip", "identity;q=0, gzip", "gzip, *;q=0",
]  # fmt: skip
NO_GZIP = [
    "", "identity", "br, deflate", "gzip;q=0", "gzip;q=0.000", "gzip; q=0", "gzip;q=0, *", "*;q=0", "notgzip",
    "gzipped", "gzip;q=abc", "gzip;q=-1", "gzip;q", "gzip;", "gzip;q=1e3", "gzip;q=0;q=1", ";q=1", "*;q=0, br",
]  # fmt: skip


async def test_every_security_header_is_set_once_and_a_websocket_is_left_alone() -> None:
    start, body = await through(SecurityHeaders)
    for name, value in HEADERS.items():
        assert [text for key, text in start["headers"] if key.decode().lower() == name.lower()] == [value.encode()]
    assert (start["status"], body["body"]) == (200, b"x")
    (accepted,) = await through(SecurityHeaders, type="websocket")
    assert accepted["headers"] == [(b"x-frame-options", b"ALLOW")]


def test_scripts_come_from_here_or_are_named_by_their_hash() -> None:
    policy = {part.split()[0]: part.split()[1:] for part in HEADERS["Content-Security-Policy"].split("; ")}
    assert all(re.fullmatch(r"'self'|blob:|'sha256-[A-Za-z0-9+/=]{44}'", source) for source in policy["script-src"])
    assert policy["default-src"] == ["'self'"]
    for name in ("object-src", "frame-src", "frame-ancestors"):
        assert policy[name] == ["'none'"], name


def test_an_accept_encoding_is_read_as_rfc_9110_says() -> None:
    for said, accepts in (*((said, True) for said in GZIP), *((said, False) for said in NO_GZIP)):
        assert accepts_gzip(Headers({"Accept-Encoding": said})) is accepts, said
    assert not accepts_gzip(Headers({}))
    assert accepts_gzip(Headers(raw=[(b"accept-encoding", b"br"), (b"accept-encoding", b"gzip")]))


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(routes=[Mount(web.PREFIX, OwnFiles(FILES))]))


def test_every_own_file_is_served_packed_or_not_and_may_be_kept(client: TestClient) -> None:
    for at, (name, content) in enumerate(FILES.items()):
        accepted, encoding = (("gzip", "gzip"), ("identity", None), ("gzip;q=0", None))[at % 3]
        answer = client.get(f"{web.PREFIX}/{name}", headers={"Accept-Encoding": accepted})
        assert answer.content == content, name
        assert answer.headers.get("content-encoding") == encoding, name
        assert answer.headers["content-type"].startswith(TYPES.get(name.rpartition(".")[2], "text/plain")), name
        assert answer.headers["cache-control"] == KEPT, name
    assert {name.rpartition(".")[2] for name in web.FILES} == TYPES.keys()


def test_an_own_file_that_changes_has_another_address() -> None:
    assert re.fullmatch(r"/headlight/[0-9a-f]{12}", web.PREFIX)
    assert web.PREFIX.endswith(f"/{web.version(web.FILES)}")
    for name in list(web.FILES)[::10]:
        assert web.version(web.FILES | {name: web.FILES[name] + b" "}) != web.version(web.FILES), name
    for file in ("explore/explore.js", "frame/frame.js"):
        code = web.one_line(file, "maps")
        assert f"{web.PREFIX}/{web.SCRIPT}" in code
        assert f"open('{file}').maps" in code
        assert len(code) < 200


def test_no_other_file_is_served_and_own_files_are_only_read(client: TestClient) -> None:
    for path in (
        "nothing.js", "", "../app.py", "%2e%2e/app.py", "wire/dom.js", "dom.js", "base/dom.js/", "base",
    ):  # fmt: skip
        assert client.get(f"{web.PREFIX}/{path}").status_code == 404, path
    assert client.head(f"{web.PREFIX}/base/dom.js").status_code == 200
    refused = client.post(f"{web.PREFIX}/base/dom.js")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
