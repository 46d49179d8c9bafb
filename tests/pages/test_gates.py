"""The gates: names, closed routes, files. What they let through is untouched."""

from __future__ import annotations

import asyncio

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

from .looped import through, without_waiting


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> MemoryUploadedFileManager:
    """Uploaded files; the visitors of the sessions "mine" and "yours" have a page open."""
    manager = MemoryUploadedFileManager(UPLOADS)
    monkeypatch.setattr(gates, "left_here", lambda: manager)
    monkeypatch.setattr(gates, "is_connected", {"mine", "yours"}.__contains__)
    return manager


def store(manager: MemoryUploadedFileManager, session: str, name: str, size: int = 1) -> None:
    manager.add_file(session, UploadedFileRec(name, name, "text/plain", bytes(size)))


async def answers(*requests: tuple[str, str], addresses: int = 100, seconds: float = 1) -> list[int]:
    """What the gate answers to each (method, path); those let in are under way until so many seconds are over.

    Args:
        addresses: the requests come from so many in turn.
    """
    found, all_came = dict[int, int](), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await all_came.wait()
        *_, session, file = scope["path"].split("/")
        if scope["method"] == "PUT" and file != "refused":
            store(gates.left_here(), session, file)
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
    await asyncio.sleep(seconds)
    all_came.set()
    await asyncio.gather(*under_way)
    return [found[number] for number in range(len(requests))]


def put(*names: str) -> list[tuple[str, str]]:
    return [("PUT", f"{UPLOADS}/{name}") for name in names]


@without_waiting
async def test_a_visitor_uploads_a_file_and_deletes_it_and_nobody_else_gets_in(
    stored: MemoryUploadedFileManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = f"{UPLOADS}/mine/1"
    for method, path, status in (
        ("PUT", mine, 204), ("DELETE", mine, 204), ("PUT", f"/behind/a/proxy{mine}", 204), ("GET", "/elsewhere", 204),
        ("PUT", f"{UPLOADS}/stranger/1", 404), ("DELETE", f"{UPLOADS}/stranger/1", 404), ("POST", mine, 404),
        ("GET", mine, 404), ("OPTIONS", mine, 404), ("PUT", UPLOADS, 404), ("PUT", f"{UPLOADS}/mine", 404),
        ("PUT", f"{mine}/2", 404),
    ):  # fmt: skip
        assert await answers((method, path)) == [status], (method, path)
    monkeypatch.setenv(VARIABLE, "1")
    assert await answers(*put("mine/1", "stranger/1")) == [403, 404]


@without_waiting
async def test_a_visitor_has_few_files_and_the_oldest_makes_room(stored: MemoryUploadedFileManager) -> None:
    many = [f"mine/{number}" for number in range(MOST_FILES + 1)]
    assert await answers(*put(*many, "yours/1")) == [204] * MOST_FILES + [429, 204]
    assert await answers(*put("mine/refused")) == [413]
    assert len(stored.file_storage["mine"]) == MOST_FILES, "one that is refused costs no other"
    assert await answers(*put("mine/new", "mine/newer")) == [204] * 2
    assert [*stored.file_storage["mine"]] == [*map(str, range(2, MOST_FILES)), "new", "newer"]


@without_waiting
async def test_few_files_arrive_at_a_time_and_in_time(
    stored: MemoryUploadedFileManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gates, "MOST_FILES", 100)
    many = [f"mine/{number}" for number in range(MOST_ARRIVING)]
    assert await answers(*put(*many, "yours/1")) == [204] * MOST_ARRIVING + [429]
    many = many[: MOST_OF_ADDRESS + 1]
    assert await answers(*put(*many), addresses=1) == [204] * MOST_OF_ADDRESS + [429]
    assert await answers(*put("mine/1"), seconds=gates.ARRIVAL_SECONDS + 1) == [408]
    assert await answers(*put("mine/1"), seconds=gates.ARRIVAL_SECONDS - 1) == [204]


@without_waiting
async def test_no_file_is_taken_while_the_memory_is_full_nor_from_an_address_that_fills_it(
    stored: MemoryUploadedFileManager,
) -> None:
    store(stored, "theirs", "large", MOST_HELD)
    assert await answers(*put("mine/1")) == [429]
    store(stored, "theirs", "large", MOST_HELD - 1)
    assert await answers(*put("mine/1")) == [204]
    stored.file_storage.clear()
    store(stored, "mine", "large", MOST_HELD_OF_ADDRESS)
    assert sorted(await answers(*put("mine/0", "mine/1"), addresses=1)) == [204, 429]
    assert await answers(*put("yours/1")) == [204]


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that a configuration gives this server."""
    options = {"browser.serverAddress": "Class.example.org", "server.allowedHosts": ["*.School.example"]}
    monkeypatch.setattr("streamlit.get_option", options.get)


@pytest.mark.usefixtures("named")
async def test_a_request_names_one_host_that_is_this_server() -> None:
    own = (
        "localhost:8501", "LOCALHOST", "localhost.:8501", "127.0.0.1:8501", "192.168.1.20", "[::1]:8501",
        "class.example.org", "a.school.example",
    )  # fmt: skip
    foreign = (
        "evil.example", "evil.example:8501", "localhost.evil.example", "school.example", "127.0.0.1.evil.example",
        "localhost@evil.example", "[::1", "",
    )  # fmt: skip
    for host in (*own, *foreign):
        headers = [(b"host", host.encode())]
        status = (await through(HostGate, headers=headers))[0].get("status")
        assert status == (200 if host in own else 421), host
        socket = await through(HostGate, type="websocket", headers=headers)
        assert socket[0]["type"] == ("websocket.accept" if host in own else "websocket.close"), host
    for headers in ([], [(b"host", b"localhost"), (b"host", b"evil.example")]):
        assert (await through(HostGate, headers=headers))[0]["status"] == 421


async def test_routes_that_nobody_needs_are_closed_whatever_a_header_says() -> None:
    headers = [(b"host", b"localhost/_stcore/metrics?"), (b"x-forwarded-path", b"/_stcore/metrics")]
    closed = (
        "/_stcore/metrics", "/train/_stcore/metrics", "/_stcore/agent/openapi.json", "/_stcore/agent",
        "/_stcore/script-health-check", "/auth/login", "/oauth2callback",
    )  # fmt: skip
    for path in (*closed, "/", "/train", "/_stcore/health", "/_stcore/host-config", "/_stcore/metricsx"):
        status = (await through(RouteGate, path=path, headers=headers))[0]["status"]
        assert status == (404 if path in closed else 200), path
