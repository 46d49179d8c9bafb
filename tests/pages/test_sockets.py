"""The gate of the connections: numbers, speed, and answers that nobody reads."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from pages.kit.server import sockets
from pages.kit.server.sockets import (
    MOST_CONTROLS,
    Bucket,
    NoDelay,
    SocketGate,
    allow_open_files,
    client_network,
    transport_of,
)

from .looped import through
from .waiting import wait

MANY, LARGE = 6, 8 * 2**20  # bytes: more than the buffers between two sockets of one machine hold


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """An app that answers a message with its own bytes, b"many" with `MANY` times `LARGE` bytes, b"" not at all.

    As in Streamlit, it goes on listening while its answers wait to be sent.
    """
    assert (await receive())["type"] == "websocket.connect"
    await send({"type": "websocket.accept"})
    answers: asyncio.Queue[bytes] = asyncio.Queue()

    async def speak() -> None:
        while True:
            await send({"type": "websocket.send", "bytes": await answers.get()})

    speaking = asyncio.create_task(speak())
    while (message := await receive())["type"] == "websocket.receive":
        text = message["bytes"]
        for answer in [bytes(LARGE)] * MANY if text == b"many" else [text][: len(text)]:
            answers.put_nowait(answer)
    speaking.cancel()
    with suppress(asyncio.CancelledError, OSError):
        await speaking


class Serving:
    """An app behind the gates, on a free port: as Streamlit's, on a socket that was opened without naming its protocol.

    A plain question it answers with what the socket does. heard: what the app was given by connections.
    """

    def __init__(self) -> None:
        self.heard: list[Message] = []

        async def listening(scope: Scope, receive: Receive, send: Send) -> None:
            async def noted() -> Message:
                message = await receive()
                self.heard.append(message)
                return message

            if scope["type"] == "http":
                connection = transport_of(receive).get_extra_info("socket")
                delays = not connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                await PlainTextResponse("delays" if delays else "leaves at once")(scope, receive, send)
            else:
                await echo(scope, noted, send)

        self._socket = socket.create_server(("127.0.0.1", 0))
        options = uvicorn.Config(
            NoDelay(SocketGate(listening)), ws="websockets-sansio", log_level="critical", lifespan="off"
        )
        self._server = uvicorn.Server(options)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self._thread.start()
        self.port = self._socket.getsockname()[1]

    def open(self) -> ClientConnection:
        return connect(f"ws://127.0.0.1:{self.port}", max_size=None)

    def stop(self) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join()
        self._socket.close()


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Serving]]:
    """Serves behind a gate of these bounds."""
    started: list[Serving] = []

    def start(**bounds: Any) -> Serving:
        for name, bound in bounds.items():
            monkeypatch.setattr(sockets, name.upper(), bound)
        started.append(Serving())
        return started[-1]

    yield start
    for serving in started:
        serving.stop()


def test_a_bucket_gives_so_much_at_once_and_then_in_time() -> None:
    now = [0.0]
    bucket = Bucket(2.0, 3, lambda: now[0])
    assert [bucket.take() for _ in range(5)] == [0, 0, 0, 0.5, 1.0]
    now[0] = 1.0  # two have come
    assert bucket.take() == 0.5
    now[0] = 100.0
    assert [bucket.take() for _ in range(4)] == [0, 0, 0, 0.5]


def test_who_is_refused_does_not_keep_others_out() -> None:
    now = [0.0]
    bucket = Bucket(2.0, 3, lambda: now[0])
    assert [bucket.allows() for _ in range(1_000)] == [True] * 3 + [False] * 997
    now[0] = 0.5
    assert [bucket.allows() for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    ("address", "whose"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_a_household_is_counted_once(address: str, whose: str) -> None:
    assert client_network(address) == whose


def test_this_process_may_have_many_connections() -> None:
    allow_open_files()
    held = [socket.socket() for _ in range(600)]
    for each in held:
        each.close()


def test_what_is_said_goes_through(serve: Callable[..., Serving]) -> None:
    with serve().open() as visitor:
        for text in (b"one", b"two"):
            visitor.send(text)
            assert visitor.recv(10) == text


def test_connections_have_a_number(serve: Callable[..., Serving]) -> None:
    serving = serve(most_of_one=2)
    with serving.open() as first, serving.open():
        with pytest.raises(InvalidStatus), serving.open():
            pass
        first.send(b"still here")
        assert first.recv(10) == b"still here"
    for _ in range(50):  # a place is free again, moments after the connection has ended
        with suppress(InvalidStatus), serving.open():
            break
        time.sleep(0.01)
    else:
        pytest.fail("no place came free")


def test_connections_have_a_number_in_all(serve: Callable[..., Serving]) -> None:
    serving = serve(most_sockets=1)
    with serving.open(), pytest.raises(InvalidStatus), serving.open():
        pass


def test_an_address_comes_so_often(serve: Callable[..., Serving]) -> None:
    serving = serve(connects=(0.001, 2))
    for _ in range(2):
        with serving.open():
            pass
    with pytest.raises(InvalidStatus), serving.open():
        pass


def test_a_flood_waits_and_is_then_hung_up_on(serve: Callable[..., Serving]) -> None:
    serving = serve(messages=(0.0, 1), hasty=(2_000.0, 1), flood=(20.0, 100))
    with serving.open() as flood:
        try:
            for _ in range(100_000):
                flood.send(b"")
        except ConnectionClosed:
            pass
        else:
            pytest.fail("nobody hung up")
    received = [message for message in serving.heard if message["type"] == "websocket.receive"]
    assert len(received) < 200


def test_who_is_hasty_shares_one_pace_with_all_who_are_and_keeps_nobody_else_waiting(
    serve: Callable[..., Serving],
) -> None:
    serving = serve(messages=(1_000.0, 5), hasty=(0.001, 1))
    hasty = [Deaf(serving) for _ in range(4)]
    with serving.open() as calm:
        for flood in hasty:
            for _ in range(50):
                flood.say(b"x")
        for number in range(20):  # far more than five, each after the answer to the one before
            time.sleep(0.02)
            calm.send(b"%d" % number)
            assert calm.recv(10) == b"%d" % number
        heard = [message.get("bytes") for message in serving.heard]
        assert 4 * 5 <= heard.count(b"x") < 4 * 10, "what each may say at once, and of all together one or two more"
    for flood in hasty:
        flood.close()


class Deaf:
    """A visitor who reads his answers only when told to."""

    def __init__(self, serving: Serving) -> None:
        self._socket = socket.create_connection(("127.0.0.1", serving.port), 20)
        self._socket.sendall(
            b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += self._socket.recv(1)

    def say(self, text: bytes) -> None:
        """Sends a message, in one frame whose mask changes nothing."""
        self._socket.sendall(bytes([0x82, 0x80 | len(text), 0, 0, 0, 0]) + text)

    def read(self, count: int) -> None:
        """Takes so many bytes."""
        while count:
            taken = len(self._socket.recv(min(count, 2**20)))
            assert taken, "the connection has ended"
            count -= taken

    def close(self) -> None:
        self._socket.close()


def naming(controls: int, text: str = "") -> bytes:
    """A message that names so many controls."""
    message = BackMsg()
    for number in range(controls):
        message.rerun_script.widget_states.widgets.add(id=f"control {number}", string_value=text)
    return bytes(message.SerializeToString())


def test_a_message_names_no_more_controls_than_a_page_has(serve: Callable[..., Serving]) -> None:
    serving = serve()
    with serving.open() as visitor:
        for known in (naming(MOST_CONTROLS), naming(1, "x" * 100_000), b"\xff" * 10_000):
            visitor.send(known)
            assert visitor.recv(10) == known
        visitor.send(naming(MOST_CONTROLS + 1))
        with pytest.raises(ConnectionClosed):
            visitor.recv(10)


def test_a_large_message_counts_as_several(serve: Callable[..., Serving]) -> None:
    serving = serve(flood=(0.001, 10))
    with serving.open() as visitor:
        visitor.send(bytes(500_000))
        assert len(visitor.recv(10)) == 500_000
        visitor.send(bytes(500_000))
        with pytest.raises(ConnectionClosed):
            visitor.recv(10)
        assert len([message for message in serving.heard if message["type"] == "websocket.receive"]) == 1


def test_who_does_not_read_is_not_heard(serve: Callable[..., Serving]) -> None:
    serving = serve(unread_seconds=60)
    with closing(Deaf(serving)) as reader:
        reader.say(b"many")
        time.sleep(0.2)
        for number in range(10):
            reader.say(b"%d" % number)
        time.sleep(0.5)
        assert [message.get("bytes") for message in serving.heard[1:]] == [b"many"]
        reader.read(MANY * LARGE)
        wait(lambda: len(serving.heard) == 12)


@pytest.mark.faults
def test_who_reads_nothing_is_hung_up_on(serve: Callable[..., Serving]) -> None:
    serving = serve(unread_seconds=0.1, most_of_one=1)
    with closing(Deaf(serving)) as reader:
        reader.say(b"many")
        wait(lambda: serving.heard[-1]["type"] == "websocket.disconnect")
        with serving.open() as other:  # his place is free, though he is still there
            other.send(b"here")
            assert other.recv(10) == b"here"


def test_who_reads_slowly_is_not(serve: Callable[..., Serving]) -> None:
    serving = serve(unread_seconds=0.6)
    with closing(Deaf(serving)) as reader:
        reader.say(b"many")
        for _ in range(20):
            time.sleep(0.1)
            reader.read(MANY * LARGE // 20)


async def test_what_is_no_websocket_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "MOST_SOCKETS", 0)
    assert [message.get("status") for message in await through(SocketGate)] == [200, None]


async def test_no_answer_waits_to_be_acknowledged(serve: Callable[..., Serving]) -> None:
    assert (await through(NoDelay))[0]["status"] == 200
    serving = serve()
    with socket.create_connection(("127.0.0.1", serving.port)) as visitor:
        visitor.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b"".join(iter(lambda: visitor.recv(2**16), b"")).endswith(b"leaves at once")
