"""Short forms of `make attack`: one visitor tries to stop the others, over the real server."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from contextlib import nullcontext, suppress

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.bench.visitors import Visitor, open_socket

from .server import Server

WAIT = 60.0  # seconds, which only a test that fails waits for


def test_foreign_names_and_metrics_are_refused_and_own_names_open(server: Server) -> None:
    """On the real server; which names and paths these are is asked of the gates, in tests/pages/test_gates.py."""
    for path, name, status in (
        ("", "evil.example", 421),
        ("/_stcore/metrics", "localhost", 404),
        ("/train/_stcore/metrics", "localhost", 404),
    ):
        request = urllib.request.Request(server.url + path, headers={"Host": name})
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(request, timeout=WAIT)
        assert error.value.code == status, (path, name)
        error.value.close()
    for name in ("evil.example", "localhost.evil.example", "localhost", "127.0.0.1"):
        own = f"http://{name}:{server.port}"
        line = socket.create_connection(("127.0.0.1", server.port))
        with pytest.raises(InvalidStatus) if "evil" in name else nullcontext(), open_socket(own, own, sock=line):
            pass


@pytest.mark.thorough("visits the shared server several times; its gates and its log are tested without one")
def test_a_huge_message_is_not_taken_and_nothing_typed_is_in_the_log(server: Server) -> None:
    visitor = Visitor(server.url, "by-hand", ex="two sentences")
    visitor.type("how are you", "Words of the queries")
    with pytest.raises(ConnectionClosed):
        visitor.type("x" * 3_000_000, "Words of the queries")
    visitor.close()

    secret, before = "kestrel umbrella quotient", server.log.stat().st_size
    for number in range(4):
        visitor = Visitor(server.url, "positions")
        rerun = BackMsg.FromString(visitor.message({"Sentence": secret}))
        state = rerun.rerun_script.widget_states.widgets[0]
        if number % 2:  # a text for a widget that there is not, and one for a number
            state.id = f"{state.id}{secret}"
        else:
            state.id = f"$$STREAMLIT_INTERNAL_KEY_{visitor.ids['headlight_house']}__events"
            state.json_trigger_value = secret
        visitor.socket.send(rerun.SerializeToString())
        visitor.socket.send(b"\xff" + secret.encode())
        with suppress(ConnectionClosed):
            while True:
                visitor.take(WAIT)
        visitor.close()
    added = server.log.read_bytes()[before:].decode("utf-8", "replace")
    assert "kestrel" not in added
    assert "Traceback" not in added
    assert added
