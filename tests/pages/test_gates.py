"""The gates: names, closed routes, files. What they let through is untouched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from starlette.types import Message, Receive, Scope, Send
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from pages.kit.server import gates
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
)
from pages.kit.server.public import VARIABLE

from .looped import run, through

Put = Callable[..., list[int]]


@pytest.fixture
def left_here(monkeypatch: pytest.MonkeyPatch) -> MemoryUploadedFileManager:
    """What visitors have left here; those of the sessions "mine" and "yours" have a page open."""
    manager = MemoryUploadedFileManager(UPLOADS)
    monkeypatch.setattr(gates, "left_here", lambda: manager)
    monkeypatch.setattr(gates, "is_connected", {"mine", "yours"}.__contains__)
    return manager


def leave(manager: MemoryUploadedFileManager, session: str, name: str, size: int = 1) -> None:
    manager.add_file(session, UploadedFileRec(name, name, "text/plain", bytes(size)))


@pytest.fixture
def statuses(left_here: MemoryUploadedFileManager) -> Put:
    async def answered(requests: list[tuple[str, str]], addresses: int) -> list[int]:
        found, all_came = dict[int, int](), asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await all_came.wait()
            *_, session, file = scope["path"].split("/")
            if scope["method"] == "PUT" and file != "refused":
                leave(left_here, session, file)
            await send({"type": "http.response.start", "status": 413 if file == "refused" else 204, "headers": []})

        gate = UploadGate(app)

        async def one(number: int, method: str, path: str) -> None:
            async def send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    found[number] = message["status"]

            async def receive() -> Message:
                return {"type": "http.request"}

            client = (f"10.0.0.{number % addresses}", 1)
            await gate({"type": "http", "method": method, "path": path, "client": client}, receive, send)

        under_way = [asyncio.ensure_future(one(n, *request)) for n, request in enumerate(requests)]
        await asyncio.sleep(0.01 if gates.ARRIVAL_SECONDS > 1 else 2 * gates.ARRIVAL_SECONDS)
        all_came.set()
        await asyncio.gather(*under_way)
        return [found[number] for number in range(len(requests))]

    def put(*requests: tuple[str, str], addresses: int = 100) -> list[int]:
        """What the gate answers to each (method, path); those let in are under way until all others have been answered.

        Args:
            addresses: the requests come from so many in turn.
        """
        return run(answered(list(requests), addresses))

    return put


def test_a_visitor_leaves_a_file_and_takes_it_away(statuses: Put) -> None:
    assert statuses(("PUT", f"{UPLOADS}/mine/1"), ("DELETE", f"{UPLOADS}/mine/1")) == [204, 204]
    assert statuses(("PUT", f"/behind/a/proxy{UPLOADS}/mine/1"), ("GET", "/elsewhere")) == [204, 204]


def test_a_public_server_takes_none(statuses: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    assert statuses(("PUT", f"{UPLOADS}/mine/1"), ("PUT", f"{UPLOADS}/stranger/1")) == [403, 404]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/stranger/1"), ("DELETE", "/stranger/1"), ("POST", "/mine/1"), ("GET", "/mine/1"),
        ("OPTIONS", "/mine/1"), ("PUT", ""), ("PUT", "/mine"), ("PUT", "/mine/1/2"),
    ],
)  # fmt: skip
def test_strangers_and_nothing_else_get_in(statuses: Put, method: str, path: str) -> None:
    assert statuses((method, f"{UPLOADS}{path}")) == [404]


def test_a_visitor_has_few_files_at_a_time(statuses: Put) -> None:
    many = [("PUT", f"{UPLOADS}/mine/{number}") for number in range(MOST_FILES + 1)]
    assert statuses(*many, ("PUT", f"{UPLOADS}/yours/1")) == [204] * MOST_FILES + [429, 204]


def test_the_oldest_file_makes_room_and_one_that_is_refused_costs_no_other(
    statuses: Put, left_here: MemoryUploadedFileManager
) -> None:
    for number in range(MOST_FILES):
        leave(left_here, "mine", str(number))
    assert statuses(("PUT", f"{UPLOADS}/mine/refused")) == [413]
    assert len(left_here.file_storage["mine"]) == MOST_FILES
    assert statuses(*(("PUT", f"{UPLOADS}/mine/{name}") for name in ("new", "newer"))) == [204] * 2
    assert [*left_here.file_storage["mine"]] == [*map(str, range(2, MOST_FILES)), "new", "newer"]


def test_few_files_arrive_at_a_time_and_one_address_does_not_take_all_places(
    statuses: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gates, "MOST_FILES", 100)
    many = [("PUT", f"{UPLOADS}/mine/{number}") for number in range(MOST_ARRIVING)]
    assert statuses(*many, ("PUT", f"{UPLOADS}/yours/1")) == [204] * MOST_ARRIVING + [429]
    assert statuses(*many[: MOST_OF_ADDRESS + 1], addresses=1) == [204] * MOST_OF_ADDRESS + [429]


def test_no_file_comes_in_while_the_memory_is_full(statuses: Put, left_here: MemoryUploadedFileManager) -> None:
    leave(left_here, "theirs", "large", MOST_HELD)
    assert statuses(("PUT", f"{UPLOADS}/mine/1")) == [429]
    leave(left_here, "theirs", "large", MOST_HELD - 1)
    assert statuses(("PUT", f"{UPLOADS}/mine/1")) == [204]


def test_one_address_does_not_fill_the_memory(statuses: Put, left_here: MemoryUploadedFileManager) -> None:
    leave(left_here, "mine", "large", MOST_HELD_OF_ADDRESS)
    again = [("PUT", f"{UPLOADS}/mine/{number}") for number in range(2)]
    assert sorted(statuses(*again, addresses=1)) == [204, 429]
    assert statuses(("PUT", f"{UPLOADS}/yours/1")) == [204]


def test_a_file_that_does_not_come_to_an_end_frees_its_place(statuses: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "ARRIVAL_SECONDS", 0.02)
    assert statuses(("PUT", f"{UPLOADS}/mine/1")) == [408]


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that a configuration gives this server."""
    told = {"browser.serverAddress": "Class.example.org", "server.allowedHosts": ["*.School.example"]}
    monkeypatch.setattr("streamlit.get_option", told.get)


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
async def test_only_an_own_name_is_answered(named: None, host: str, own: bool) -> None:
    headers = [(b"host", host.encode())]
    assert (await through(HostGate, headers=headers))[0].get("status") == (200 if own else 421)
    socket = await through(HostGate, type="websocket", headers=headers)
    assert socket[0]["type"] == ("websocket.accept" if own else "websocket.close")


@pytest.mark.parametrize("headers", [[], [(b"host", b"localhost"), (b"host", b"evil.example")]])
async def test_one_host_is_named(headers: list[tuple[bytes, bytes]]) -> None:
    assert (await through(HostGate, headers=headers))[0]["status"] == 421


@pytest.mark.parametrize(
    ("path", "status"),
    [
        *((path, 404) for path in (
            "/_stcore/metrics", "/train/_stcore/metrics", "/_stcore/agent/openapi.json", "/_stcore/agent",
            "/_stcore/script-health-check", "/auth/login", "/oauth2callback")),
        *((path, 200) for path in (
            "/", "/train", "/_stcore/health", "/_stcore/host-config", "/_stcore/metricsx")),
    ],
)  # fmt: skip
async def test_what_nobody_needs_is_closed_whatever_a_header_says(path: str, status: int) -> None:
    headers = [(b"host", b"localhost/_stcore/metrics?"), (b"x-forwarded-path", b"/_stcore/metrics")]
    assert (await through(RouteGate, path=path, headers=headers))[0]["status"] == status
