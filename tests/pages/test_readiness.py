"""Whether visitors are sent to this server, and how it ends: in order, at once, and while somebody does not read."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.websockets import WebSocket

from pages.kit.jobs import visit as visits
from pages.kit.picture import models
from pages.kit.server import readiness
from pages.kit.server.readiness import LIVE, READY, STATE, TOLD, ReadinessGate
from pages.kit.server.store import VARIABLE

from .waiting import PATIENCE, wait

ROOT = Path(__file__).parents[2]
DOCUMENT = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
# The app's own start and end, around a training that has learnt something; nobody is connected.
TRAINS = """
import socket, sys, time, uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
import app
from pages.kit.jobs import process, training as trainings, visitor
from pages.kit.server import readiness
from pages.kit.jobs.training import TrainingPlan
from tests.pages.workers import ENDLESS, parent
process.PATIENCE = 1e9  # busy cores: who waits no longer starts it anew, and has no nursery
training = visitor.start(TrainingPlan((ENDLESS,)))
while not training.record.step: time.sleep(0.01)
pids = [training.pid]
for _ in range(2 if sys.platform == "linux" else 0):  # its guard, and the nursery
    pids.append(parent(pids[-1]))
print(visitor.name(), training.folder.parent, *pids, flush=True)
readiness.WIND_UP_SECONDS = trainings.WIND_UP_SECONDS = {patience}  # the tests beside this one take their time
served = Starlette(lifespan=app.lifespan, middleware=[Middleware(readiness.ReadinessGate)])
uvicorn.Server(uvicorn.Config(served, log_level="critical")).run([socket.socket(fileno={fd})])
"""
# A server with much to wind up, or with an answer that has no end.
WAITS = """
import asyncio, socket, time, uvicorn
from contextlib import asynccontextmanager
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import StreamingResponse
from starlette.routing import Route
from pages.kit.server import readiness
readiness.LEAVE_SECONDS = 0.1
readiness.WIND_UP_SECONDS = {patience}
@asynccontextmanager
async def lifespan(_):
    with readiness.ending(lambda seconds: time.sleep({takes}), lambda: print("left", flush=True)):
        yield
async def endless():
    while True:
        yield b"."
        await asyncio.sleep(0.01)
routes = [Route("/endless", lambda request: StreamingResponse(endless()))]
served = Starlette(routes=routes, lifespan=lifespan, middleware=[Middleware(readiness.ReadinessGate)])
uvicorn.Server(uvicorn.Config(served, log_level="critical")).run([socket.socket(fileno={fd})])
"""
Start = Callable[..., tuple[subprocess.Popen[str], int]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a server of such a script, which answers when this returns."""
    begun: list[subprocess.Popen[str]] = []

    def started(script: str, **values: object) -> tuple[subprocess.Popen[str], int]:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port, fd = int(listening.getsockname()[1]), listening.fileno()
            command, environment = [sys.executable, "-c", script.format(fd=fd, **values)], dict(os.environ)
            environment[VARIABLE], pipe = str(tmp_path), subprocess.PIPE
            begun.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, text=True, pass_fds=[fd]))
        wait(lambda: begun[-1].poll() is not None or status(port, LIVE) == 200)
        return begun[-1], port

    yield started
    for process in begun:
        process.kill()
        process.communicate()


def status(port: int, path: str) -> int:
    """The status of an answer; 0 where nobody answers."""
    with suppress(OSError):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE) as answer:
                return int(answer.status)
        except HTTPError as error:
            return error.code
    return 0


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """Of a server that is not warm yet."""
    monkeypatch.setattr(STATE, "is_warm", False)
    monkeypatch.setattr(STATE, "is_ending", False)

    async def hear(connection: WebSocket) -> None:
        await connection.accept()
        await connection.close()

    routes = [Route("/{path:path}", lambda request: PlainTextResponse("the app")), WebSocketRoute("/stream", hear)]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(ReadinessGate)]))


def test_it_is_ready_from_when_it_is_warm_until_it_ends_and_then_answers_only_who_is_here(client: TestClient) -> None:
    assert (client.get(LIVE).status_code, client.get(READY).status_code) == (200, 503)
    assert client.get(READY).text == "warming up\n"
    STATE.is_warm = True
    assert (client.get(READY).status_code, client.get(READY).text) == (200, "ready\n")
    assert client.get("/", headers=DOCUMENT).text == "the app"
    STATE.is_ending = True
    assert (client.get(LIVE).status_code, client.get(READY).text) == (200, "ending\n")
    assert client.get(READY).headers["cache-control"] == "no-store"
    refused = client.get("/masks?s=hi", headers=DOCUMENT)
    assert refused.status_code == 503
    assert TOLD in refused.text
    assert int(refused.headers["retry-after"]) == readiness.BACK_SECONDS
    assert client.get("/headlight/api/maps?s=hi").text == "the app"
    with pytest.raises(WebSocketDenialResponse) as denied, client.websocket_connect("/stream"):
        pass
    assert denied.value.status_code == 503


@pytest.mark.faults
@pytest.mark.thorough("A server of the whole app trains and is ended.")
def test_a_training_ends_with_what_it_has_learnt_and_another_server_takes_it_up(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its visitor sees: the model among his own, with a sentence, on whichever server answers next."""
    process, port = start(TRAINS, patience=PATIENCE)
    assert process.stdout
    name, folder, *pids = process.stdout.readline().split()
    assert status(port, READY) == 200
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == -signal.SIGTERM
    assert not Path(folder).exists()
    assert len(set(pids)) == (3 if sys.platform == "linux" else 1)
    for command in (Path(f"/proc/{pid}/cmdline") for pid in pids):
        wait(lambda command=command: not command.exists() or not command.read_bytes())  # type: ignore[misc]
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    found = visits.find(name)
    assert found
    assert found.notices == [visits.TAKEN_UP]
    (run,) = found.runs.values()
    assert run.history.end
    assert run.history.end.reason == "stopped"
    with models.opened(run.id) as place:
        assert (place / "model.safetensors").is_file()
    found.end()
    assert not list(tmp_path.iterdir())


@pytest.mark.faults
@pytest.mark.thorough("Servers are started and ended; the gate itself is tested without one.")
def test_a_server_ends_at_a_second_signal_or_without_who_does_not_read(start: Start) -> None:
    process, port = start(WAITS, takes=PATIENCE, patience=PATIENCE)
    process.send_signal(signal.SIGTERM)
    wait(lambda: status(port, READY) == 503)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE / 2) == -signal.SIGTERM

    process, port = start(WAITS, takes=0, patience=PATIENCE)
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(b"GET /endless HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert slow.recv(1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == -signal.SIGTERM
    assert process.stdout
    assert process.stdout.read() == "left\n"
