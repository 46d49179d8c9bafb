"""Headlight's own files: what the browser gets, and how long it may keep it."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from pages.kit.draw import web
from pages.kit.server.own_files import KEPT, TYPES, OwnFiles

FILES = web.FILES | {web.SCRIPT: web.script()}


@pytest.fixture
def client() -> TestClient:
    return TestClient(Starlette(routes=[Mount(web.PREFIX, OwnFiles(FILES))]))


def test_every_file_is_there_packed_or_not(client: TestClient) -> None:
    for name, content in FILES.items():
        for accepted, encoding in (("gzip", "gzip"), ("identity", None), ("gzip;q=0", None)):
            answer = client.get(f"{web.PREFIX}/{name}", headers={"Accept-Encoding": accepted})
            assert answer.content == content
            assert answer.headers.get("content-encoding") == encoding
            assert answer.headers["content-type"].startswith(TYPES.get(name.rpartition(".")[2], "text/plain")), name
            assert answer.headers["cache-control"] == KEPT


def test_a_file_that_changes_changes_the_address() -> None:
    assert web.PREFIX.endswith(f"/{web.version(web.FILES)}")
    for name, content in web.FILES.items():
        assert web.version(web.FILES | {name: content + b" "}) != web.version(web.FILES)


def test_every_kind_has_its_type() -> None:
    assert {name.rpartition(".")[2] for name in web.FILES} == TYPES.keys()


@pytest.mark.parametrize(
    "path", ["nothing.js", "", "../app.py", "%2e%2e/app.py", "wire/dom.js", "dom.js", "base/dom.js/", "base"]
)
def test_nothing_else_is_there(client: TestClient, path: str) -> None:
    assert client.get(f"{web.PREFIX}/{path}").status_code == 404


def test_it_is_only_read(client: TestClient) -> None:
    assert client.head(f"{web.PREFIX}/base/dom.js").status_code == 200
    refused = client.post(f"{web.PREFIX}/base/dom.js")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
