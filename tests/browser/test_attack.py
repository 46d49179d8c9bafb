"""Short forms of `make attack`: one visitor tries to stop the others, over the real server."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from contextlib import nullcontext, suppress

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.bench.visitors import Visitor, open_socket, sentence

from .server import HEALTH, Server

WAIT = 20.0  # seconds; before it was mended, a thousand messages took 52


def test_a_thousand_messages_stop_nobody(server: Server) -> None:
    attacker, other = Visitor(server.url, "positions"), Visitor(server.url, "positions")
    message = attacker.message()
    for _ in range(1_000):
        attacker.socket.send(message)
    with urllib.request.urlopen(server.url + HEALTH, timeout=WAIT) as answer:
        assert answer.status == 200
    other.send({"Sentence": sentence(16, "under attack")})
    other.wait(WAIT)
    for visitor in (attacker, other):
        visitor.close()


def test_foreign_names_and_what_nobody_needs_are_closed_and_own_names_open(server: Server) -> None:
    """On the real server; which names and paths these are is asked of the gates, in tests/pages/test_gates.py."""
    refused = []
    for path, name in (
        ("", "evil.example"),
        ("/_stcore/metrics", "localhost"),
        ("/train/_stcore/metrics", "localhost"),
    ):
        request = urllib.request.Request(server.url + path, headers={"Host": name})
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(request, timeout=WAIT)
        refused.append(error.value.code)
        error.value.close()
    assert refused == [421, 404, 404]
    for name in ("evil.example", "localhost.evil.example", "localhost", "127.0.0.1"):
        own = f"http://{name}:{server.port}"
        line = socket.create_connection(("127.0.0.1", server.port))
        with pytest.raises(InvalidStatus) if "evil" in name else nullcontext(), open_socket(own, own, sock=line):
            pass


def test_a_message_larger_than_any_control_ends_the_connection(server: Server) -> None:
    visitor = Visitor(server.url, "by-hand", ex="two sentences")
    visitor.type("how are you", "Words of the queries")
    with pytest.raises(ConnectionClosed):
        visitor.type("x" * 3_000_000, "Words of the queries")
    visitor.close()


def test_the_log_is_short_and_says_nothing_that_was_typed(server: Server) -> None:
    secret, before = "kestrel umbrella quotient", server.log.stat().st_size
    for number in range(40):
        visitor = Visitor(server.url, "positions")
        message = BackMsg.FromString(visitor.message({"Sentence": secret}))
        state = message.rerun_script.widget_states.widgets[0]
        if number % 2:  # a text for a widget that there is not, and one for a number
            state.id = f"{state.id}{secret}"
        else:
            state.id, state.json_trigger_value = (
                f"$$STREAMLIT_INTERNAL_KEY_{visitor.ids['headlight_house']}__events",
                secret,
            )
        visitor.socket.send(message.SerializeToString())
        visitor.socket.send(b"\xff" + secret.encode())
        with suppress(ConnectionClosed):
            while True:
                visitor.take(WAIT)
        visitor.close()
    added = server.log.read_bytes()[before:].decode("utf-8", "replace")
    assert "kestrel" not in added
    assert "Traceback" not in added
    assert 0 < added.count("\n") < 40
