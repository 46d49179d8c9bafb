"""The middleware adds the headers to every HTTP answer; nothing else is touched."""

from __future__ import annotations

import re
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from pages.kit.draw import web
from pages.kit.server.headers import HEADERS, SecurityHeaders

from .looped import run


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

    run(SecurityHeaders(app)({"type": scope_type}, receive, send))
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


@pytest.mark.parametrize("file", ["explore/explore.js", "frame/frame.js"])
def test_a_components_code_is_two_short_lines(file: str) -> None:
    code = web.one_line(file, "maps")
    assert (web.FOLDER / file).is_file()
    assert f"{web.PREFIX}/{web.SCRIPT}" in code
    assert f"open('{file}').maps" in code
    assert len(code) < 200
    assert re.fullmatch(r"/headlight/[0-9a-f]{12}", web.PREFIX)
