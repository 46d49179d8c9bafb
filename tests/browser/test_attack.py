"""Names and paths that nobody needs are refused by the real server; longer attacks: `make attack`."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from contextlib import nullcontext

import pytest
from websockets.exceptions import InvalidStatus

from tests.bench.visitors import open_socket

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
