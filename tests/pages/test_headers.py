"""The middleware adds the headers to every HTTP answer; nothing else is touched."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pages.kit.draw import web
from pages.kit.server.headers import HEADERS, SecurityHeaders

from .looped import through


async def test_every_header_is_set_once() -> None:
    start, body = await through(SecurityHeaders)
    headers: list[tuple[bytes, bytes]] = start["headers"]
    for name, value in HEADERS.items():
        assert [text for key, text in headers if key.decode().lower() == name.lower()] == [value.encode()]
    assert start["status"] == 200
    assert body["body"] == b"x"


async def test_what_is_no_http_is_left_alone() -> None:
    (accepted,) = await through(SecurityHeaders, type="websocket")
    assert accepted["headers"] == [(b"x-frame-options", b"ALLOW")]


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
