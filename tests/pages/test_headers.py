"""The middleware adds the headers to every HTTP answer, and lets few files in; nothing else is touched."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from pages.kit import web
from pages.kit.headers import HEADERS, MOST_ARRIVING, MOST_FILES, UPLOADS, SecurityHeaders, UploadGate


def answer(scope_type: str) -> list[Message]:
    """What a small app sends through the middleware."""
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": f"{scope_type}.response.start", "status": 404, "headers": [(b"x-frame-options", b"ALLOW")]})
        await send({"type": f"{scope_type}.response.body", "body": b"x"})

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    # in a thread of its own: while the browser tests are open, this one has a running loop
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(SecurityHeaders(app)({"type": scope_type}, receive, send))).result()
    return sent


def test_every_header_is_set_once() -> None:
    start, body = answer("http")
    headers: list[tuple[bytes, bytes]] = start["headers"]
    for name, value in HEADERS.items():
        assert [text for key, text in headers if key.decode() == name.lower()] == [value.encode()]
    assert start["status"] == 404
    assert body["body"] == b"x"


def test_what_is_no_http_is_left_alone() -> None:
    start, _ = answer("websocket")
    assert start["headers"] == [(b"x-frame-options", b"ALLOW")]


def policy() -> dict[str, list[str]]:
    parts: dict[str, Any] = {}
    for part in HEADERS["Content-Security-Policy"].split("; "):
        name, *sources = part.split()
        parts[name] = sources
    return parts


def test_scripts_come_from_here_or_are_named_by_their_hash() -> None:
    scripts = policy()["script-src"]
    assert all(re.fullmatch(r"'self'|blob:|'sha256-[A-Za-z0-9+/=]{44}'", source) for source in scripts)
    assert policy()["default-src"] == ["'self'"]
    for name in ("object-src", "frame-src", "frame-ancestors"):
        assert policy()[name] == ["'none'"]


@pytest.mark.parametrize("file", ["view.js", "house.js"])
def test_a_components_code_is_two_short_lines(file: str) -> None:
    code = web.one_line(file, "maps")
    assert (web.FOLDER / file).is_file()
    assert f"{web.PREFIX}/{file}" in code
    assert len(code) < 200
    assert re.fullmatch(r"/headlight/[0-9a-f]{12}", web.PREFIX)


def statuses(requests: list[tuple[str, str]], kept: list[str] | None = None) -> list[int]:
    """What the gate answers to each (method, path); those let in are under way until all others have been answered.

    `kept`: the files that "mine" has here; the gate takes some away.
    """
    files: dict[str, list[str]] = {"mine": [] if kept is None else kept, "yours": []}
    found: dict[int, int] = {}

    async def ask() -> None:
        answered = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await answered.wait()
            await send({"type": "http.response.start", "status": 204, "headers": []})

        gate = UploadGate(app, files.__contains__, files.__getitem__, lambda session, file: files[session].remove(file))

        async def one(number: int, method: str, path: str) -> None:
            async def send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    found[number] = message["status"]

            async def receive() -> Message:
                return {"type": "http.request"}

            await gate({"type": "http", "method": method, "path": path}, receive, send)

        under_way = [asyncio.ensure_future(one(n, *request)) for n, request in enumerate(requests)]
        await asyncio.sleep(0.01)
        answered.set()
        await asyncio.gather(*under_way)
        assert not gate._arriving

    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(ask())).result()
    return [found[number] for number in range(len(requests))]


def test_a_visitor_leaves_a_file_and_takes_it_away() -> None:
    assert statuses([("PUT", f"{UPLOADS}/mine/1"), ("DELETE", f"{UPLOADS}/mine/1")]) == [204, 204]
    assert statuses([("PUT", f"/behind/a/proxy{UPLOADS}/mine/1"), ("GET", "/elsewhere")]) == [204, 204]


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_stranger_leaves_nothing_and_takes_nothing_away(method: str) -> None:
    assert statuses([(method, f"{UPLOADS}/stranger/1")]) == [404]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{UPLOADS}/mine/1"),
        ("GET", f"{UPLOADS}/mine/1"),
        ("OPTIONS", f"{UPLOADS}/mine/1"),
        ("PUT", UPLOADS),
        ("PUT", f"{UPLOADS}/mine"),
        ("PUT", f"{UPLOADS}/mine/1/2"),
    ],
)
def test_nothing_else_gets_in(method: str, path: str) -> None:
    assert statuses([(method, path)]) == [404]


def test_a_visitor_has_few_files_at_a_time() -> None:
    many = [("PUT", f"{UPLOADS}/mine/{number}") for number in range(MOST_FILES + 1)]
    assert statuses([*many, ("PUT", f"{UPLOADS}/yours/1")]) == [204] * MOST_FILES + [429, 204]


def test_the_oldest_file_makes_room() -> None:
    kept = [str(number) for number in range(MOST_FILES)]
    assert statuses([("PUT", f"{UPLOADS}/mine/{name}") for name in ("new", "newer")], kept) == [204] * 2
    assert kept == [str(number) for number in range(2, MOST_FILES)]


def test_few_files_arrive_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.kit.headers.MOST_FILES", 100)
    many = [("PUT", f"{UPLOADS}/mine/{number}") for number in range(MOST_ARRIVING)]
    assert statuses([*many, ("PUT", f"{UPLOADS}/yours/1")]) == [204] * MOST_ARRIVING + [429]
