"""The page of a room and what it says of what is kept, as they leave the server."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import pytest
from starlette.requests import Request
from starlette.responses import Response

from pages.kit.draw.web import FILES
from pages.kit.rooms import page, refusals
from pages.kit.rooms.store import KEPT_SECONDS

Answer = Callable[[Request], Awaitable[Response]]
HERE = Request({
    "type": "http", "method": "GET", "path": "/room", "query_string": b"", "scheme": "http", "server": ("school", 80),
    "headers": [(b"host", b"school")],
})  # fmt: skip


@pytest.mark.parametrize("answer", [page.page, page.privacy])
async def test_neither_page_sets_a_cookie_or_loads_anything_from_elsewhere(answer: Answer) -> None:
    told = await answer(HERE)
    assert told.status_code == 200
    assert "set-cookie" not in told.headers
    links = re.findall(r'(?:src|href)="([^"]*)"', bytes(told.body).decode())
    assert links
    assert all(re.match(r"/(?!/)", link) for link in links)


def test_what_is_kept_is_said_in_both_languages_with_the_time_that_holds() -> None:
    privacy = FILES["rooms/privacy.html"].decode()
    english, german = re.findall(r'<section lang="(?:en|de)">(.*?)</section>', privacy, re.DOTALL)
    assert english.count("<p>") == german.count("<p>") > 0
    words = FILES["rooms/room_words.js"].decode()
    for section, unit in ((english, "minutes"), (german, "Minuten")):
        for text in (section, words, str(refusals.NO_ROOM)):
            assert set(re.findall(rf"(\d+) {unit}", text)) == {f"{KEPT_SECONDS / 60:.0f}"}
