"""The gates: names, closed routes, files. What they let through is untouched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.kit.server.gates import (
    MOST_ARRIVING,
    MOST_FILES,
    MOST_HELD,
    MOST_HELD_OF_ADDRESS,
    MOST_OF_ADDRESS,
    UPLOADS,
    HostGate,
    RouteGate,
    UploadGate,
    own_names,
)
from pages.kit.server.public import VARIABLE


def run(ask: Callable[[], Any]) -> None:
    """Runs a coroutine in a thread of its own: while the browser tests are open, this one has a running loop."""

    async def wait() -> None:
        await ask()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(wait())).result()


def statuses(
    requests: list[tuple[str, str]],
    kept: list[str] | None = None,
    *,
    held: dict[str, int] | None = None,
    seconds: float = 60,
    addresses: int = 100,
) -> list[int]:
    """What the gate answers to each (method, path); those let in are under way until all others have been answered.

    Args:
        kept: the files that "mine" has here; the gate takes some away.
        held: bytes of everybody's files, by session.
        seconds: how long a file may take.
        addresses: the requests come from so many in turn.
    """
    files: dict[str, list[str]] = {"mine": [] if kept is None else kept, "yours": []}
    found: dict[int, int] = {}

    async def ask() -> None:
        answered = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await answered.wait()
            *_, session, file = scope["path"].split("/")
            if scope["method"] == "PUT" and file != "refused":
                files[session].append(file)
            await send({"type": "http.response.start", "status": 413 if file == "refused" else 204, "headers": []})

        def forget(session: str, file: str) -> None:
            files[session].remove(file)

        gate = UploadGate(app, files.__contains__, files.__getitem__, lambda: held or {}, forget, seconds)

        async def one(number: int, method: str, path: str) -> None:
            async def send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    found[number] = message["status"]

            async def receive() -> Message:
                return {"type": "http.request"}

            client = (f"10.0.0.{number % addresses}", 1)
            await gate({"type": "http", "method": method, "path": path, "client": client}, receive, send)

        under_way = [asyncio.ensure_future(one(n, *request)) for n, request in enumerate(requests)]
        await asyncio.sleep(0.01 if seconds > 1 else 2 * seconds)
        answered.set()
        await asyncio.gather(*under_way)

    run(ask)
    return [found[number] for number in range(len(requests))]


def test_a_visitor_leaves_a_file_and_takes_it_away() -> None:
    assert statuses([("PUT", f"{UPLOADS}/mine/1"), ("DELETE", f"{UPLOADS}/mine/1")]) == [204, 204]
    assert statuses([("PUT", f"/behind/a/proxy{UPLOADS}/mine/1"), ("GET", "/elsewhere")]) == [204, 204]


def test_a_public_server_takes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    assert statuses([("PUT", f"{UPLOADS}/mine/1"), ("PUT", f"{UPLOADS}/stranger/1")]) == [403, 404]


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
    assert kept == [*(str(number) for number in range(2, MOST_FILES)), "new", "newer"]


def test_a_file_that_is_refused_costs_no_other_one() -> None:
    kept = [str(number) for number in range(MOST_FILES)]
    assert statuses([("PUT", f"{UPLOADS}/mine/refused")], kept) == [413]
    assert len(kept) == MOST_FILES


def test_few_files_arrive_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.kit.server.gates.MOST_FILES", 100)
    many = [("PUT", f"{UPLOADS}/mine/{number}") for number in range(MOST_ARRIVING)]
    assert statuses([*many, ("PUT", f"{UPLOADS}/yours/1")]) == [204] * MOST_ARRIVING + [429]


def test_one_address_does_not_take_all_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.kit.server.gates.MOST_FILES", 100)
    many = [("PUT", f"{UPLOADS}/mine/{number}") for number in range(MOST_OF_ADDRESS + 1)]
    assert statuses(many, addresses=1) == [204] * MOST_OF_ADDRESS + [429]


def test_no_file_comes_in_while_the_memory_is_full() -> None:
    assert statuses([("PUT", f"{UPLOADS}/mine/1")], held={"theirs": MOST_HELD}) == [429]
    assert statuses([("PUT", f"{UPLOADS}/mine/1")], held={"theirs": MOST_HELD - 1}) == [204]


def test_one_address_does_not_fill_the_memory() -> None:
    held = {"mine": MOST_HELD_OF_ADDRESS}
    again = [("PUT", f"{UPLOADS}/mine/{number}") for number in range(2)]
    assert sorted(statuses(again, held=held, addresses=1)) == [204, 429]
    assert statuses([("PUT", f"{UPLOADS}/yours/1")], held=held) == [204]


def test_a_file_that_does_not_come_to_an_end_frees_its_place() -> None:
    assert statuses([("PUT", f"{UPLOADS}/mine/1")], seconds=0.02) == [408]


def ask_app(gate: Callable[[ASGIApp], ASGIApp], **scope: Any) -> list[Message]:
    """What an app that says 200, or accepts, answers through a gate."""
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
        else:
            await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    run(lambda: gate(app)({"type": "http", "path": "/", "headers": [], **scope}, receive, send))
    return sent


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("localhost:8501", True),
        ("LOCALHOST", True),
        ("localhost.:8501", True),
        ("127.0.0.1:8501", True),
        ("192.168.1.20", True),
        ("[::1]:8501", True),
        ("class.example.org", True),
        ("a.school.example", True),
        ("evil.example", False),
        ("evil.example:8501", False),
        ("localhost.evil.example", False),
        ("school.example", False),
        ("127.0.0.1.evil.example", False),
        ("localhost@evil.example", False),
        ("[::1", False),
        ("", False),
    ],
)
def test_only_an_own_name_is_answered(host: str, own: bool) -> None:
    def gate(app: ASGIApp) -> ASGIApp:
        return HostGate(app, lambda: ["localhost", "class.example.org", "*.school.example"])

    headers = [(b"host", host.encode())]
    assert ask_app(gate, headers=headers)[0].get("status") == (200 if own else 421)
    socket = ask_app(gate, type="websocket", headers=headers)
    assert socket[0]["type"] == ("websocket.accept" if own else "websocket.close")


@pytest.mark.parametrize("headers", [[], [(b"host", b"localhost"), (b"host", b"evil.example")]])
def test_one_host_is_named(headers: list[tuple[bytes, bytes]]) -> None:
    assert ask_app(lambda app: HostGate(app, lambda: ["localhost"]), headers=headers)[0]["status"] == 421


def test_the_configured_names_are_own_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"browser.serverAddress": "Class.example.org", "server.allowedHosts": ["other.example"]}
    monkeypatch.setattr("streamlit.get_option", told.get)
    assert {"localhost", "class.example.org", "other.example"} <= own_names()


@pytest.mark.parametrize(
    "path",
    [
        "/_stcore/metrics",
        "/train/_stcore/metrics",
        "/_stcore/agent/openapi.json",
        "/_stcore/agent",
        "/_stcore/script-health-check",
        "/auth/login",
        "/oauth2callback",
    ],
)
def test_what_nobody_needs_is_closed(path: str) -> None:
    assert ask_app(RouteGate, path=path)[0]["status"] == 404


@pytest.mark.parametrize("path", ["/", "/train", "/_stcore/health", "/_stcore/host-config", "/_stcore/metricsx"])
def test_what_the_pages_need_is_open(path: str) -> None:
    assert ask_app(RouteGate, path=path)[0]["status"] == 200


def test_the_path_decides_and_no_header() -> None:
    headers = [(b"host", b"localhost/_stcore/metrics?"), (b"x-forwarded-path", b"/_stcore/metrics")]
    assert ask_app(RouteGate, path="/train", headers=headers)[0]["status"] == 200
