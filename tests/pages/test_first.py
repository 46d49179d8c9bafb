"""The page brings its first picture along, or comes as it is."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from headlight.api import prerender
from headlight.api.prerender import PAGES, PrerenderMiddleware
from headlight.lessons.course import course
from headlight.lessons.message import as_json
from headlight.link.limits import MAX_QUERY_BYTES
from headlight.picture.settings import Settings
from headlight.queue.executor import Queue
from headlight.registry import pretrained
from headlight.registry.trained import Shipped
from headlight.ui import pages
from headlight.ui.web import FILES, PREFIX, SCRIPT
from mha_core.errors import HeadlightError
from pages.handlers import FIRST

from .conftest import unpacked

LISTED = 'id="headlight-pages"'
INDEX = (Path(streamlit.__file__).parent / "static" / "index.html").read_text("utf-8")
BLOCK = re.compile(r'<script type="text/plain" id="headlight-first" data-file="(.*?)">(.*?)</script>')


def page(request: Request) -> Response:
    """Streamlit's own page, as Streamlit sends it."""
    if request.headers.get("if-none-match"):
        return Response(status_code=304)
    return HTMLResponse(INDEX, headers={"ETag": '"page"', "Cache-Control": "no-cache"})


def first_message(page: str, raw: bytes) -> bytes:
    return FIRST[page](raw)


def served(answers: Callable[[str, bytes], bytes] = first_message, address: str = "127.0.0.1") -> TestClient:
    routes = [Route("/file", lambda _: PlainTextResponse("a file")), Route("/{path:path}", page)]
    app = Starlette(routes=routes, middleware=[Middleware(PrerenderMiddleware, queue=Queue(), first_message=answers)])
    return TestClient(app, client=(address, 1), base_url="http://127.0.0.1")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, the picture is waited for."""
    monkeypatch.setattr(prerender, "WAIT_SECONDS", 30)


def brought(text: str) -> bytes:
    """The message that a page has brought along."""
    found = BLOCK.search(text)
    assert found is not None
    return base64.b64decode(found[2])


def is_without_picture(answer: Any) -> bool:
    """Only the bar and the head of the page stand in it."""
    return answer.status_code == 200 and not BLOCK.search(answer.text) and LISTED in answer.text


def test_picture_is_that_of_the_link() -> None:
    answer = served().get("/?s=the+cat+sat&mask=causal&at=1.2")
    found = BLOCK.search(answer.text)
    assert found is not None
    assert found[1] == PAGES["/"][1]
    header, body = unpacked(brought(answer.text))
    focus, _ = unpacked(body[: header["parts"][0]])
    assert (focus["digest"], focus["layer"], focus["head"]) == (Settings("the cat sat", "causal").digest, 1, 2)
    assert answer.text.replace(found[0], "").count("the cat sat") == 0
    assert answer.headers["cache-control"] == "no-store"
    assert "etag" not in answer.headers
    assert served(address="10.0.0.7").get("/").headers["content-encoding"] == "gzip", "over a network"


def test_scripts_of_the_picture_load_first() -> None:
    for path in PAGES:
        text = served().get(path).text
        assert BLOCK.search(text), path
        named = re.findall(rf'(?:href|src)="{PREFIX}/([^"]+)"', text)
        assert sorted(named) == sorted((SCRIPT, "frame/boot.js", "frame/house.css", "lessons/lesson.css"))
        assert f'"{PAGES[path][1]}":'.encode() in FILES[SCRIPT]
        held = re.search(r'<template id="headlight-later">(.*?)</template>', text)
        assert held is not None, "Streamlit’s own files wait for it"
        assert "static/js/index" in held[1]
        outside = text.replace(held[0], "")
        assert "static/js/" not in outside
        assert outside.index("boot.js") < outside.index(SCRIPT) < outside.index("</head>")


def test_two_models_and_longer_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    for words, whole in ((20, list(range(6))), (60, [3])):  # of a longer one the layer in sight
        header, body = unpacked(brought(served().get(f"/?s={'+'.join(['word'] * words)}").text))
        maps, values = unpacked(body[header["parts"][0] :])
        assert (maps["fullLayers"], len(values)) == (whole, len(whole) * 12 * (words + 2) ** 2)
    two = "/compare?s=how+are+you&model2=food-none-1&at2=0.1"
    message = brought(served().get(two).text)
    pair, _ = unpacked(message[-unpacked(message)[0]["parts"][0] :])
    assert (pair["isOfTwo"], pair["sides"][1]["head"]) == (True, 1)
    monkeypatch.setattr(Shipped, "is_loaded", False)
    assert is_without_picture(served().get(two)), "one has to be read first"


def test_page_without_prerendered_picture_after_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    for query in ("s=%ff", "s=" + "a" * 12_001, "mask=combination&rule=x"):
        assert is_without_picture(served().get(f"/?{query}")), query

    def missing(name: str, raw: bytes) -> bytes:
        raise ModuleNotFoundError("no", name="tokenizers")

    def wrong(name: str, raw: bytes) -> bytes:
        raise HeadlightError("no")

    for answers in (missing, wrong):
        assert is_without_picture(served(answers).get("/"))
    monkeypatch.setattr(prerender, "WAIT_SECONDS", 0.02)
    late = threading.Event()

    def slow(name: str, raw: bytes) -> bytes:
        late.wait(60)
        return b""

    with served(slow) as client:
        assert is_without_picture(client.get("/"))
        late.set()


def test_everything_else_passes_as_it_is() -> None:
    client = served()
    assert client.get("/file").text == "a file"
    for path in ("/static/index.html", "/favicon.png"):
        answer = client.get(path)
        assert (answer.text, answer.headers["etag"]) == (INDEX, '"page"')
    assert is_without_picture(client.get("/train"))
    assert (client.head("/").status_code, client.post("/").status_code) == (200, 405)
    assert BLOCK.search(client.get("/", headers={"If-None-Match": '"page"'}).text), "never “as before”"
    assert client.get(f"/?x={'a' * 60_001}").text == INDEX


def test_addresses_of_no_page_and_of_the_first_page() -> None:
    client = served()
    answer = client.get("/no<b>such/page")
    assert answer.status_code == 404
    assert "There is no page named “no&lt;b&gt;such/page”." in answer.text
    assert re.findall(r'<a href="/([^"]*)">', answer.text) == [pages.path(name) for name in pages.PAGES]
    for code in ("K42GTN", "k42gtn"):
        answer = client.get(f"/room/{code}", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (307, f"/room#{code}")
    assert client.get("/room/K42GT").status_code == 404
    answer = client.get("/explore?s=hi+there", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, "/?s=hi+there")
    for old, claim in (("claim=order&say=true", "order"), ("say=true", "symmetric"), ("say=2", "orange")):
        answer = client.get(f"/claims?{old}", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (307, f"/{course().claims()[claim]}")
    assert client.get("/claims?claim=none", follow_redirects=False).headers["location"] == "/claims"
    assert client.get("/texts", follow_redirects=False).headers["location"] == "/lessons"
    assert client.get(f"/explore?s={'a' * (MAX_QUERY_BYTES - 4)}", follow_redirects=False).status_code == 307
    assert client.get(f"/explore?s={'|' * (MAX_QUERY_BYTES // 3)}", follow_redirects=False).status_code == 414, "quoted"


def test_bar_and_the_course_come_with_the_page() -> None:
    text = served().get("/train").text
    listed = re.search(rf'<script type="application/json" {LISTED}>(.*?)</script>', text)
    assert listed is not None
    bar = json.loads(listed[1])
    assert [page["path"] for page in bar] == [pages.path(name) for name in pages.PAGES]
    course = re.compile(r'<script type="application/json" id="headlight-course">(.*?)</script>')
    assert not course.search(text)
    found = course.search(served().get("/train?learn=it.1").text)
    assert found is not None
    assert json.loads(found[1]) == json.loads(as_json())
    for link, title in {
        "/": pretrained.TITLE, "/shapes?model=smollm2": pretrained.SMOLLM2_TITLE, "/train": None,
    }.items():  # fmt: skip
        found = re.search(r'id="headlight-model">(.*?)</script>', served().get(link).text)
        assert (json.loads(found[1])[1] if found else None) == title, link
