"""The gate of the connections: numbers, speed, and answers that nobody reads."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from types import SimpleNamespace

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from pages.kit.server import sockets
from pages.kit.server.sockets import (
    FLOOD,
    HASTY,
    MESSAGES,
    MOST_CONTROLS,
    UNREAD_SECONDS,
    Bucket,
    NoDelay,
    SocketGate,
    allow_open_files,
    client_network,
    transport_of,
)

from .looped import through, without_waiting
from .waiting import wait

MANY, LARGE = 6, 2**23  # bytes: more than the buffers between two sockets of one machine hold


def test_a_bucket_holds_so_many_and_fills_in_time() -> None:
    now = [0.0]
    bucket = Bucket(2.0, 3, lambda: now[0])
    assert [bucket.take() for _ in range(5)] == [0, 0, 0, 0.5, 1.0]
    now[0] = 1.0  # two have come
    assert bucket.take() == 0.5
    now[0] = 100.0
    assert [bucket.take() for _ in range(4)] == [0, 0, 0, 0.5]
    bucket = Bucket(2.0, 3, lambda: now[0])
    assert [bucket.allows() for _ in range(1_000)] == [True] * 3 + [False] * 997
    now[0] += 0.5  # a refusal takes nothing
    assert [bucket.allows() for _ in range(2)] == [True, False]


def test_an_ipv6_network_is_one_address() -> None:
    for address, network in {
        "10.0.0.1": "10.0.0.1", "::ffff:10.0.0.1": "10.0.0.1", "": "", "testclient": "testclient",
        "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2::9": "2001:db8:1:2::/64",
    }.items():  # fmt: skip
        assert client_network(address) == network, address


def test_this_process_may_have_many_connections() -> None:
    allow_open_files()
    held = [socket.socket() for _ in range(600)]
    for each in held:
        each.close()


# ---- without a network and in no time


class Line:
    """A connection to an app behind a gate that sends each message back; what the app received and when.

    Attributes:
        reads: whether the client takes what is sent to it; `unread` is the size of what it has not taken.
    """

    def __init__(self, gate: SocketGate | None = None, address: str = "10.0.0.1") -> None:
        self.received = list[tuple[float, bytes]]()
        self.sent, self._inbox = list[Message](), asyncio.Queue[Message]()
        self.reads, self.unread, self.aborted, self.transport = asyncio.Event(), 0, False, self
        self.reads.set()
        scope = {"type": "websocket", "client": (address, 1), "headers": [], "line": self}
        self.task = asyncio.create_task((gate or SocketGate(self.echo))(scope, self.receive, self.send))

    async def echo(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending() -> None:
            while True:
                await send({"type": "websocket.send", "bytes": await answers.get()})

        answers = asyncio.Queue[bytes]()
        speaking = asyncio.create_task(sending())
        while (message := await receive())["type"] == "websocket.receive":
            self.received.append((asyncio.get_running_loop().time(), message["bytes"]))
            answers.put_nowait(message["bytes"])
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

    def get_write_buffer_size(self) -> int:
        return self.unread

    def abort(self) -> None:
        self.aborted = True
        self._inbox.put_nowait({"type": "websocket.disconnect"})


@pytest.fixture
def loop_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the gate is that of the loop."""

    def now() -> float:
        return asyncio.get_running_loop().time()

    monkeypatch.setattr(sockets, "time", SimpleNamespace(monotonic=now))
    monkeypatch.setattr(Bucket.__init__, "__defaults__", (now,))


def named(controls: int, text: str = "") -> bytes:
    """A message that names so many controls."""
    message = BackMsg()
    for number in range(controls):
        message.rerun_script.widget_states.widgets.add(id=f"control {number}", string_value=text)
    return bytes(message.SerializeToString())


@pytest.mark.usefixtures("loop_time")
@without_waiting
async def test_a_flood_is_slowed_down_and_then_hung_up_on() -> None:
    line = Line()
    line.say(*[b"x"] * (FLOOD[1] + 1))
    await line.task
    assert line.aborted
    times = [at for at, _ in line.received]
    assert len(times) == FLOOD[1]
    assert times[MESSAGES[1]] == 0 < times[MESSAGES[1] + 1]
    assert round(times[-1], 6) == (FLOOD[1] - MESSAGES[1] - HASTY[1]) / HASTY[0]


@pytest.mark.usefixtures("loop_time")
@without_waiting
async def test_all_hasty_connections_share_one_pace_and_a_calm_one_is_answered_at_once() -> None:
    async def to_its_line(scope: Scope, receive: Receive, send: Send) -> None:
        await scope["line"].echo(scope, receive, send)

    gate = SocketGate(to_its_line)
    hasty, calm = [Line(gate) for _ in range(4)], Line(gate, "10.0.0.2")
    for line in hasty:
        line.say(*[b"x"] * 50)
    for number in range(20):
        await asyncio.sleep(0.1)
        calm.say(b"%d" % number)
        await asyncio.sleep(0.0025)
        assert calm.sent[-1]["bytes"] == b"%d" % number
    assert sum(len(line.received) for line in hasty) == 4 * MESSAGES[1] + HASTY[1] + 10  # in a little more than 2 s
    for line in (*hasty, calm):
        line.task.cancel()


@pytest.mark.usefixtures("loop_time")
@without_waiting
async def test_a_large_message_counts_as_several_and_one_that_names_too_many_controls_is_refused() -> None:
    for sent, received in (
        ([named(MOST_CONTROLS), named(1, "x" * 100_000), b"\xff" * 10_000, named(MOST_CONTROLS + 1)], 3),
        ([bytes(2**16 * 300), bytes(2**16 * 298 - 1), b"", b""], 3),
        ([bytes(2**16 * 300), bytes(2**16 * 300)], 1),
    ):
        line = Line()
        line.say(*sent)
        await line.task
        assert line.aborted
        assert [text for _, text in line.received] == sent[:received]


@pytest.mark.usefixtures("loop_time")
@without_waiting
async def test_a_client_that_does_not_read_is_not_listened_to_and_is_hung_up_on_unless_it_reads_slowly() -> None:
    line = Line()
    line.reads.clear()
    line.unread = 1000
    line.say(b"first")
    await asyncio.sleep(0)
    for _ in range(10):  # a little is taken every time
        await asyncio.sleep(0.9 * UNREAD_SECONDS)
        line.say(b"more")
        line.unread -= 10
        assert len(line.received) == 1
    line.reads.set()
    await asyncio.sleep(1)
    assert len(line.received) == 11
    line.reads.clear()
    line.say(b"last")
    before = asyncio.get_running_loop().time()
    await line.task
    assert line.aborted
    assert UNREAD_SECONDS <= asyncio.get_running_loop().time() - before < UNREAD_SECONDS + 1


@without_waiting
async def test_connections_are_bounded_by_address_in_all_and_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def stays(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.Event().wait()

    async def opened(gate: SocketGate, address: str) -> asyncio.Task[None] | None:
        """The connection; None where it is refused."""
        sent = list[Message]()

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "websocket", "client": (address, 1), "headers": []}
        task = asyncio.create_task(gate(scope, asyncio.Queue[Message]().get, send))
        await asyncio.sleep(0.01)
        assert sent in ([], [{"type": "websocket.close", "code": 1013}])
        return None if sent else task

    for bounds, addresses, admitted in (
        ({"MOST_OF_ONE": 2}, "aabab", [True, True, True, False, True]),
        ({"MOST_SOCKETS": 2}, "aabc", [True, True, False, False]),
        ({"CONNECTS": (0.001, 2)}, "aaab", [True, True, False, True]),
    ):
        with monkeypatch.context() as patched:
            for name, bound in bounds.items():
                patched.setattr(sockets, name, bound)
            gate = SocketGate(stays)
            tasks = [await opened(gate, address) for address in addresses]
            assert [task is not None for task in tasks] == admitted, bounds
            assert tasks[0]
            tasks[0].cancel()
            await asyncio.wait([tasks[0]])
            freed = await opened(gate, "a")
            assert (freed is not None) is ("CONNECTS" not in bounds), bounds
            for task in (*tasks, freed):
                if task:
                    task.cancel()
    monkeypatch.setattr(sockets, "MOST_SOCKETS", 0)
    assert [message.get("status") for message in await through(SocketGate)] == [200, None]  # no websocket


# ---- on a real connection


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """A message is sent back, b"much" as `MANY` messages; a request is answered with what its socket does."""
    if scope["type"] == "http":
        connection = transport_of(receive).get_extra_info("socket")
        delays = not connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        await PlainTextResponse("delays" if delays else "leaves at once")(scope, receive, send)
        return
    assert (await receive())["type"] == "websocket.connect"
    await send({"type": "websocket.accept"})
    with suppress(OSError):
        while (message := await receive())["type"] == "websocket.receive":
            for answer in [bytes(LARGE)] * MANY if message["bytes"] == b"much" else [message["bytes"]]:
                await send({"type": "websocket.send", "bytes": answer})


@pytest.fixture
def port() -> Iterator[int]:
    """Of the app behind the gates: as Streamlit's, on a socket that was opened without naming its protocol."""
    listening = socket.create_server(("127.0.0.1", 0))
    options = uvicorn.Config(NoDelay(SocketGate(app)), ws="websockets-sansio", log_level="critical", lifespan="off")
    server = uvicorn.Server(options)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = server.force_exit = True
    thread.join()
    listening.close()


def opened(port: int) -> ClientConnection:
    return connect(f"ws://127.0.0.1:{port}", max_size=None)


def test_a_connection_counts_until_it_is_closed_and_messages_pass_as_they_are(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "MOST_OF_ONE", 1)
    with opened(port) as first:
        for text in (b"one", b"two"):
            first.send(text)
            assert first.recv(60) == text
        with pytest.raises(InvalidStatus):
            opened(port)

    def is_free() -> bool:
        with suppress(InvalidStatus), opened(port):
            return True
        return False

    wait(is_free)
    with socket.create_connection(("127.0.0.1", port)) as visitor:
        visitor.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b"".join(iter(lambda: visitor.recv(2**16), b"")).endswith(b"leaves at once")


@pytest.mark.faults
def test_a_client_that_reads_nothing_frees_its_place_though_it_is_still_there(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "UNREAD_SECONDS", 0.1)
    monkeypatch.setattr(sockets, "MOST_OF_ONE", 1)
    with closing(socket.create_connection(("127.0.0.1", port), 60)) as deaf:
        deaf.sendall(
            b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        while deaf.recv(1) != b"\n" or deaf.recv(2) != b"\r\n":
            pass
        deaf.sendall(bytes([0x82, 0x84, 0, 0, 0, 0]) + b"much")  # one frame, whose mask changes nothing

        def is_answered() -> bool:
            with suppress(InvalidStatus, ConnectionClosed), opened(port) as other:
                other.send(b"here")
                return other.recv(60) == b"here"
            return False

        wait(is_answered)


async def test_without_a_connection_no_delay_is_switched_off() -> None:
    assert (await through(NoDelay))[0]["status"] == 200
