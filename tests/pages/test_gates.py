"""What every request and connection passes: the gates of the server, headers, and its own files."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress
from types import SimpleNamespace

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from headlight.server.headers import HEADERS, SecurityHeaders
from headlight.server.host_middleware import HostMiddleware
from headlight.server.memory_files import IMMUTABLE, TYPES, MemoryFiles
from headlight.server.public import VARIABLE
from headlight.server.sockets import NoDelay, client_network, get_transport
from headlight.server.token_bucket import TokenBucket
from headlight.ui import web
from pages.frame import socket_middleware, upload_middleware
from pages.frame.socket_middleware import MAX_CONTROLS, MESSAGE_RATE, OVERFLOW_RATE, SocketMiddleware
from pages.frame.upload_middleware import MAX_BYTES, MAX_FILES, MAX_TOTAL_BYTES, UPLOADS, UploadMiddleware

from .looped import through, without_waiting


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> MemoryUploadedFileManager:
    """Uploaded files; the visitors of the sessions "mine" and "yours" have a page open."""
    manager = MemoryUploadedFileManager(UPLOADS)
    monkeypatch.setattr(upload_middleware, "uploaded_files", lambda: manager)
    monkeypatch.setattr(upload_middleware, "is_connected", {"mine", "yours", "other"}.__contains__)
    return manager


def store(manager: MemoryUploadedFileManager, session: str, name: str, size: int = 1) -> None:
    manager.add_file(session, UploadedFileRec(name, name, "text/plain", bytes(size)))


async def answers(*requests: tuple[str, str]) -> list[int]:
    """The statuses of (method, path) requests that are all under way at once."""
    found, all_came = dict[int, int](), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await all_came.wait()
        *_, session, file = scope["path"].split("/")
        if scope["method"] == "PUT" and file != "refused":
            store(upload_middleware.uploaded_files(), session, file)
        await send({"type": "http.response.start", "status": 413 if file == "refused" else 204, "headers": []})

    gate = UploadMiddleware(app)

    async def one(number: int, method: str, path: str) -> None:
        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                found[number] = message["status"]

        async def receive() -> Message:
            return {"type": "http.request"}

        await gate({"type": "http", "method": method, "path": path}, receive, send)

    under_way = [asyncio.ensure_future(one(n, *request)) for n, request in enumerate(requests)]
    await asyncio.sleep(1)
    all_came.set()
    await asyncio.gather(*under_way)
    return [found[number] for number in range(len(requests))]


def put(*names: str) -> list[tuple[str, str]]:
    return [("PUT", f"{UPLOADS}/{name}") for name in names]


@without_waiting
async def test_uploaded_file_is_private_and_can_be_deleted(
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
async def test_visitor_has_few_files_and_the_oldest_makes_room(stored: MemoryUploadedFileManager) -> None:
    many = [f"mine/{number}" for number in range(MAX_FILES + 1)]
    assert await answers(*put(*many, "yours/1")) == [204] * MAX_FILES + [429, 204]
    assert await answers(*put("mine/refused")) == [413]
    assert len(stored.file_storage["mine"]) == MAX_FILES, "one that is refused costs no other"
    assert await answers(*put("mine/new", "mine/newer")) == [204] * 2
    assert [*stored.file_storage["mine"]] == [*map(str, range(2, MAX_FILES)), "new", "newer"]


@without_waiting
async def test_no_file_is_taken_while_the_memory_is_full(
    stored: MemoryUploadedFileManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    for held, status in ((MAX_TOTAL_BYTES, 429), (MAX_TOTAL_BYTES - 1, 204)):
        store(stored, "theirs", "large", held)
        assert await answers(*put("mine/1")) == [status]
    stored.file_storage.clear()
    monkeypatch.setattr(upload_middleware, "MAX_TOTAL_BYTES", 2 * MAX_BYTES)
    assert await answers(*put("mine/1", "yours/1", "mine/2")) == [204, 204, 429]


@without_waiting
async def test_half_sent_file_is_dropped_and_makes_room_for_another(
    stored: MemoryUploadedFileManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_middleware, "MAX_TOTAL_BYTES", 3 * MAX_BYTES)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 204, "headers": []})

    gate = UploadMiddleware(app)

    async def put(session: str, pause: float) -> tuple[int, float]:
        """Send a file of 10 parts of 64 kB with pauses; return the status and when it came."""
        parts, sent = [True] * 9 + [False], list[Message]()

        async def receive() -> Message:
            await asyncio.sleep(pause)
            return {"type": "http.request", "body": bytes(2**16), "more_body": parts.pop(0)}

        async def send(message: Message) -> None:
            sent.append(message)

        await gate({"type": "http", "method": "PUT", "path": f"{UPLOADS}/{session}/1"}, receive, send)
        return sent[0]["status"], asyncio.get_running_loop().time()

    half = [asyncio.ensure_future(put("mine", 55)) for _ in range(3)]
    await asyncio.sleep(0)
    assert await put("yours", 1) == (204, 10), "the session with fewer files gets a place"
    assert await asyncio.gather(*half) == [(408, 0), (408, 10), (408, 10)]
    half = [asyncio.ensure_future(put(session, 55)) for session in ("mine", "yours", "other")]
    await asyncio.sleep(2)
    assert (await put("mine", 1))[0] == 204, "a slow file makes room"
    assert await asyncio.gather(*half) == [(408, 12), (408, 20), (408, 20)]


async def test_request_names_one_host_that_is_this_server(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"browser.serverAddress": "Class.example.org", "server.allowedHosts": ["*.School.example"]}
    monkeypatch.setattr("headlight.server.options.read", options.get)
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
        status = (await through(HostMiddleware, headers=headers))[0].get("status")
        assert status == (200 if host in own else 421), host
        socket = await through(HostMiddleware, type="websocket", headers=headers)
        assert socket[0]["type"] == ("websocket.accept" if host in own else "websocket.close"), host
    for headers in ([], [(b"host", b"localhost"), (b"host", b"evil.example")]):
        assert (await through(HostMiddleware, headers=headers))[0]["status"] == 421


async def test_unneeded_routes_are_closed_for_any_header() -> None:
    headers = [(b"host", b"localhost/_stcore/metrics?"), (b"x-forwarded-path", b"/_stcore/metrics")]
    closed = (
        "/_stcore/metrics", "/train/_stcore/metrics", "/_stcore/agent/openapi.json", "/_stcore/agent",
        "/_stcore/script-health-check", "/auth/login", "/oauth2callback",
    )  # fmt: skip
    for path in (*closed, "/", "/train", "/_stcore/health", "/_stcore/host-config", "/_stcore/metricsx"):
        status = (await through(HostMiddleware, path=path, headers=headers))[0]["status"]
        assert status == (404 if path in closed else 200), path


# ---- connections


def test_ipv6_network_is_one_address() -> None:
    for address, network in {
        "10.0.0.1": "10.0.0.1", "::ffff:10.0.0.1": "10.0.0.1", "": "", "testclient": "testclient",
        "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2::9": "2001:db8:1:2::/64",
    }.items():  # fmt: skip
        assert client_network(address) == network, address


# ---- without a network and in no time


class Line:
    """A connection to an app behind a gate that sends each message back; what the app received and when.

    `reads`: whether the client takes what is sent to it.
    """

    def __init__(self, gate: SocketMiddleware | None = None, address: str = "10.0.0.1") -> None:
        self.received = list[tuple[float, bytes]]()
        self.sent, self._inbox = list[Message](), asyncio.Queue[Message]()
        self.reads, self.aborted, self.transport = asyncio.Event(), False, self
        self.reads.set()
        scope = {"type": "websocket", "client": (address, 1), "headers": [], "line": self}
        self.task = asyncio.create_task((gate or SocketMiddleware(self.echo))(scope, self.receive, self.send))

    async def echo(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending() -> None:
            while True:
                await send({"type": "websocket.send", "bytes": await outbox.get()})

        outbox = asyncio.Queue[bytes]()
        speaking = asyncio.create_task(sending())
        while (message := await receive())["type"] == "websocket.receive":
            self.received.append((asyncio.get_running_loop().time(), message["bytes"]))
            outbox.put_nowait(message["bytes"])
        speaking.cancel()
        with suppress(asyncio.CancelledError, OSError):
            await speaking

    def say(self, *texts: bytes) -> None:
        for text in texts:
            self._inbox.put_nowait({"type": "websocket.receive", "bytes": text})

    async def receive(self) -> Message:
        return await self._inbox.get()

    async def send(self, message: Message) -> None:
        self.sent.append(message)
        await self.reads.wait()

    def abort(self) -> None:
        self.aborted = True
        self._inbox.put_nowait({"type": "websocket.disconnect"})


@pytest.fixture
def loop_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the gate is that of the loop."""

    def now() -> float:
        return asyncio.get_running_loop().time()

    monkeypatch.setattr(socket_middleware, "time", SimpleNamespace(monotonic=now))
    monkeypatch.setattr(TokenBucket.__init__, "__defaults__", (now,))


def naming(controls: int, text: str = "") -> bytes:
    """A message that names so many controls."""
    message = BackMsg()
    for number in range(controls):
        message.rerun_script.widget_states.widgets.add(id=f"control {number}", string_value=text)
    return bytes(message.SerializeToString())


@pytest.mark.usefixtures("loop_time")
@without_waiting
async def test_all_hasty_connections_share_one_pace_and_a_calm_one_is_answered_at_once() -> None:
    async def to_its_line(scope: Scope, receive: Receive, send: Send) -> None:
        await scope["line"].echo(scope, receive, send)

    gate = SocketMiddleware(to_its_line)
    hasty, calm = [Line(gate) for _ in range(4)], Line(gate, "10.0.0.2")
    for line in hasty:
        line.say(*[b"x"] * 50)
    for number in range(20):
        await asyncio.sleep(0.1)
        calm.say(b"%d" % number)
        await asyncio.sleep(0.0025)
        assert calm.sent[-1]["bytes"] == b"%d" % number
    assert (
        sum(len(line.received) for line in hasty) == 4 * MESSAGE_RATE[1] + OVERFLOW_RATE[1] + 10
    )  # in a little more than 2 s
    for line in (*hasty, calm):
        line.task.cancel()


@pytest.mark.usefixtures("loop_time")
@without_waiting
async def test_large_message_counts_as_several_and_one_that_names_too_many_controls_is_refused() -> None:
    line = Line()
    sent = [naming(MAX_CONTROLS), b"\xff" * 10_000, bytes(2**16 * MESSAGE_RATE[1]), b"x", naming(MAX_CONTROLS + 1)]
    line.say(*sent)
    await line.task
    assert line.aborted
    assert [text for _, text in line.received] == sent[:-1]
    assert line.received[1][0] == 0 < line.received[2][0]


@pytest.mark.usefixtures("loop_time")
@without_waiting
async def test_slow_reader_gets_backpressure() -> None:
    line = Line()
    line.reads.clear()
    line.say(b"first")
    await asyncio.sleep(0)
    line.say(*[b"more"] * 10)
    await asyncio.sleep(100)
    assert len(line.received) == 1
    line.reads.set()
    await asyncio.sleep(1)
    assert len(line.received) == 11
    line.task.cancel()


@without_waiting
async def test_connections_are_bounded_by_address_and_in_all_until_they_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def opened(gate: SocketMiddleware, address: str) -> Line | None:
        """The connection; None where it is refused."""
        line = Line(gate, address)
        await asyncio.sleep(0.01)
        assert line.sent in ([], [{"type": "websocket.close", "code": 1013}])
        return None if line.sent else line

    async def stays(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.Event().wait()

    for name, addresses, admitted in (
        ("MAX_CONNECTIONS_PER_CLIENT", "aabab", [True, True, True, False, True]),
        ("MAX_SOCKETS", "aabc", [True, True, False, False]),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(socket_middleware, name, 2)
            gate = SocketMiddleware(stays)
            lines = [await opened(gate, address) for address in addresses]
            assert [line is not None for line in lines] == admitted, name
            assert lines[0]
            lines[0].task.cancel()
            await asyncio.wait([lines[0].task])
            assert await opened(gate, "a"), name


# ---- on a real connection


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with what its socket does."""
    connection = get_transport(receive).get_extra_info("socket")
    delays = not connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    await PlainTextResponse("delays" if delays else "leaves at once")(scope, receive, send)


def test_answer_leaves_at_once() -> None:
    """On a socket that was opened without naming its protocol, as Streamlit's is."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(NoDelay(app), log_level="critical", lifespan="off"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        with socket.create_connection(listening.getsockname()) as visitor:
            visitor.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert b"".join(iter(lambda: visitor.recv(2**16), b"")).endswith(b"leaves at once")
        server.should_exit = server.force_exit = True
        thread.join()


# ---- answers


async def test_every_security_header_is_set_once_and_a_websocket_is_left_alone() -> None:
    start, body = await through(SecurityHeaders)
    for name, value in HEADERS.items():
        assert [text for key, text in start["headers"] if key.decode().lower() == name.lower()] == [value.encode()]
    assert (start["status"], body["body"]) == (200, b"x")
    (accepted,) = await through(SecurityHeaders, type="websocket")
    assert accepted["headers"] == [(b"x-frame-options", b"ALLOW")]


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(routes=[Mount(web.PREFIX, MemoryFiles(web.FILES))]))


def test_every_own_file_is_served_packed_or_not_and_may_be_kept(client: TestClient) -> None:
    for at, (name, content) in enumerate(web.FILES.items()):
        accepted, encoding = (("gzip", "gzip"), ("identity", None), ("gzip;q=0", None))[at % 3]
        answer = client.get(f"{web.PREFIX}/{name}", headers={"Accept-Encoding": accepted})
        assert answer.content == content, name
        assert answer.headers.get("content-encoding") == encoding, name
        assert answer.headers["content-type"].startswith(TYPES.get(name.rpartition(".")[2], "text/plain")), name
        assert answer.headers["cache-control"] == IMMUTABLE, name
    assert {name.rpartition(".")[2] for name in web.FILES} == TYPES.keys()


def test_no_other_file_is_served_and_own_files_are_only_read(client: TestClient) -> None:
    for path in (
        "nothing.js", "", "../app.py", "%2e%2e/app.py", "wire/dom.js", "dom.js", "base/dom.js/", "base",
    ):  # fmt: skip
        assert client.get(f"{web.PREFIX}/{path}").status_code == 404, path
    assert client.head(f"{web.PREFIX}/base/dom.js").status_code == 200
    refused = client.post(f"{web.PREFIX}/base/dom.js")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
