"""The page brings its first picture along, or comes as it is."""

from __future__ import annotations

import base64
import json
import re
import time
import tomllib
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

from mha_core.errors import HeadlightError
from pages.kit.draw import pages
from pages.kit.draw.web import FILES, PREFIX, SCRIPT, script
from pages.kit.lessons.message import as_json
from pages.kit.picture import fitting, models, pictures
from pages.kit.picture.query import LONGEST
from pages.kit.picture.settings import Settings
from pages.kit.server.queue import Queue
from pages.kit.wire import first
from pages.kit.wire.first import PAGES, FirstPicture

from .conftest import unpacked
from .waiting import together

LISTED = 'id="headlight-pages"'
INDEX = (Path(streamlit.__file__).parent / "static" / "index.html").read_text("utf-8")
BLOCK = re.compile(r'<script type="text/plain" id="headlight-first" data-file="(.*?)">(.*?)</script>')


def page(request: Request) -> Response:
    """Streamlit's own page, as Streamlit sends it."""
    if request.headers.get("if-none-match"):
        return Response(status_code=304)
    return HTMLResponse(INDEX, headers={"ETag": '"page"', "Cache-Control": "no-cache"})


def served(answers: Callable[[str, bytes], bytes] = first.first, address: str = "127.0.0.1") -> TestClient:
    routes = [Route("/file", lambda _: PlainTextResponse("a file")), Route("/{path:path}", page)]
    app = Starlette(routes=routes, middleware=[Middleware(FirstPicture, queue=Queue(), answers=answers)])
    return TestClient(app, client=(address, 1), base_url="http://127.0.0.1")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, the picture is waited for."""
    monkeypatch.setattr(first, "WAIT_SECONDS", 30)


def brought(text: str) -> bytes:
    """The message that a page has brought along."""
    found = BLOCK.search(text)
    assert found is not None
    return base64.b64decode(found[2])


def is_without_picture(answer: Any) -> bool:
    """Only the bar and the head of the page stand in it."""
    return answer.status_code == 200 and not BLOCK.search(answer.text) and LISTED in answer.text


def test_the_picture_is_that_of_the_link() -> None:
    answer = served().get("/?s=the+cat+sat&mask=causal&at=1.2")
    found = BLOCK.search(answer.text)
    assert found is not None
    assert found[1] == PAGES["/"][1]
    header, body = unpacked(brought(answer.text))
    said, _ = unpacked(body[: header["parts"][0]])
    assert said["digest"] == Settings("the cat sat", "causal").digest
    assert (said["layer"], said["head"]) == (1, 2)
    assert answer.text.replace(found[0], "").count("the cat sat") == 0
    assert answer.headers["cache-control"] == "no-store"
    assert "etag" not in answer.headers


@pytest.mark.parametrize("path", PAGES)
def test_what_draws_it_is_loaded_first(path: str) -> None:
    text = served().get(path).text
    assert BLOCK.search(text)
    named = re.findall(rf'(?:href|src)="{PREFIX}/([^"]+)"', text)
    assert sorted(named) == sorted((SCRIPT, "frame/boot.js", "frame/house.css", "lessons/lesson.css"))
    assert f"// ---- {PAGES[path][1]}\n".encode() in script()
    held = re.search(r'<template id="headlight-later">(.*?)</template>', text)
    assert held is not None, "Streamlit’s own files wait for it"
    assert "static/js/index" in held[1]
    outside = text.replace(held[0], "")
    assert "static/js/" not in outside
    assert outside.index("boot.js") < outside.index(SCRIPT) < outside.index("</head>")
    assert text.count("<title>") == 1


def test_two_models_come_with_the_page_unless_one_has_to_be_read_first(monkeypatch: pytest.MonkeyPatch) -> None:
    two = "/compare?s=how+are+you&model2=food-none-1&at2=0.1"
    message = brought(served().get(two).text)
    said, _ = unpacked(message[-unpacked(message)[0]["parts"][0] :])
    assert (said["isOfTwo"], said["sides"][1]["head"]) == (True, 1)
    monkeypatch.setattr(pictures, "is_loaded", lambda name: name != "food-none-1")
    assert is_without_picture(served().get(two))


def test_a_longer_sentence_comes_with_the_layer_in_sight() -> None:
    for words, whole in ((20, list(range(6))), (60, [3])):
        header, body = unpacked(brought(served().get(f"/?s={'+'.join(['word'] * words)}").text))
        maps, values = unpacked(body[header["parts"][0] :])
        assert maps["whole"] == whole
        assert len(values) == len(whole) * 12 * (words + 2) ** 2
    assert not BLOCK.search(served().get(f"/?s={'+'.join(['word'] * fitting.MOST_AT_FIRST)}").text)


@pytest.mark.parametrize("query", ["s=%ff", "s=" + "a" * 12_001, "mask=combination&rule=x"])
def test_a_link_that_cannot_be_shown_gets_the_page_without_a_picture(query: str) -> None:
    assert is_without_picture(served().get(f"/?{query}"))


def test_what_does_not_come_in_time_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first, "WAIT_SECONDS", 0.02)

    def slow(name: str, raw: bytes) -> bytes:
        time.sleep(0.2)
        return b""

    def missing(name: str, raw: bytes) -> bytes:
        raise ModuleNotFoundError("no", name="tokenizers")

    def wrong(name: str, raw: bytes) -> bytes:
        raise HeadlightError("no")

    for answers in (slow, missing, wrong):
        assert is_without_picture(served(answers).get("/"))


def test_everything_else_passes_as_it_is() -> None:
    client = served()
    assert client.get("/file").text == "a file"
    for path in ("/static/index.html", "/favicon.png"):
        answer = client.get(path)
        assert (answer.text, answer.headers["etag"]) == (INDEX, '"page"')
    for path in ("/positions", "/train", "/train/"):
        assert is_without_picture(client.get(path))
    assert client.head("/").status_code == 200
    assert client.post("/").status_code == 405
    assert BLOCK.search(client.get("/", headers={"If-None-Match": '"page"'}).text), "never “as before”"
    assert client.get(f"/?x={'a' * 60_001}").text == INDEX


def test_an_address_without_a_page_says_so_in_our_words() -> None:
    answer = served().get("/no<b>such/page")
    assert answer.status_code == 404
    assert "There is no page named “no&lt;b&gt;such/page”." in answer.text
    links = re.findall(r'<a href="/([^"]*)">', answer.text)
    assert links == [pages.path(name) for name in pages.PAGES]


def test_the_default_page_is_found_by_its_own_name() -> None:
    answer = served().get("/explore?s=hi+there", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, "/?s=hi+there")
    client = served()
    assert client.get(f"/explore?s={'a' * (LONGEST - 4)}", follow_redirects=False).status_code == 307
    assert client.get(f"/explore?s={'|' * (LONGEST // 3)}", follow_redirects=False).status_code == 414, "quoted"


def test_the_bar_reads_every_page_out_of_the_page() -> None:
    listed = re.search(rf'<script type="application/json" {LISTED}>(.*?)</script>', served().get("/train").text)
    assert listed is not None
    told = json.loads(listed[1])
    assert [page["path"] for page in told] == [pages.path(name) for name in pages.PAGES]
    assert {frozenset(page) for page in told} == {
        frozenset(("path", "group", "title", "question", "line", "model", "within"))
    }


@pytest.mark.parametrize(
    ("link", "title"),
    [
        ("/", models.TITLE),
        ("/shapes?model=smollm2", models.SMOLLM2_TITLE),
        ("/by-hand?model=nosuch", models.TITLE),
        ("/train", None),
    ],
)
def test_the_bar_begins_with_the_model_of_the_link(link: str, title: str | None) -> None:
    found = re.search(r'id="headlight-model">(.*?)</script>', served().get(link).text)
    assert (json.loads(found[1]) if found else None) == title


def test_a_step_of_a_lesson_brings_the_course_along() -> None:
    block = re.compile(r'<script type="application/json" id="headlight-course">(.*?)</script>')
    assert not block.search(served().get("/train").text)
    found = block.search(served().get("/train?learn=it.1").text)
    assert found is not None
    assert json.loads(found[1]) == json.loads(as_json())


def test_over_a_network_the_page_is_packed() -> None:
    answer = served(address="10.0.0.7").get("/")
    assert answer.headers["content-encoding"] == "gzip"
    assert BLOCK.search(answer.text)
    assert "content-encoding" not in served().get("/").headers


def test_two_hundred_open_one_link_and_one_pass_is_computed(passes: list[str]) -> None:
    text = "two hundred open this link"
    with served() as client:
        found = {client.get(f"/?s={text.replace(' ', '+')}").text for _ in range(200)}
    assert passes == [text]
    assert sum(bool(BLOCK.search(one)) for one in found) == 1
    assert pictures.picture(Settings(text)).run.tokens[1] == "two"


def test_a_class_behind_one_address_opens_links_at_once() -> None:
    with served(lambda page, raw: raw) as client:
        found = together(20, lambda number: client.get(f"/?s=link+{number}").text)
    assert [bool(BLOCK.search(one)) for one in found] == [True] * 20


def test_what_draws_it_knows_the_themes() -> None:
    drawn = FILES["frame/first.js"].decode("utf-8")
    config = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text("utf-8"))
    for theme in ("dark", "light"):
        block = re.search(rf"{theme}: {{(.*?)}}", drawn, re.DOTALL)
        assert block is not None
        colours = dict(re.findall(r'"([a-z-]+)": "(#\w+)"', block[1]))
        assert colours
        for name, colour in colours.items():
            first_word, *others = name.split("-")
            assert config["theme"][theme][first_word + "".join(word.title() for word in others)] == colour
