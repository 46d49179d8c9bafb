"""Whether visitors are sent to this server, and how it ends: in order, at once, and while somebody does not read."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.websockets import WebSocket

from headlight.jobs import workspace as visits
from headlight.registry.trained import Trained
from headlight.server import readiness
from headlight.server.readiness import BODY, LIVE, READY, STATE, ReadinessMiddleware
from headlight.server.store import VARIABLE

from .waiting import PATIENCE, wait

ROOT = Path(__file__).parents[2]
DOCUMENT = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
# The app's own start and end, around a training that has learnt something; nobody is connected.
TRAINS = """
import socket, sys, time, uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
import app
from headlight.jobs import workspace; from pages.frame import user
from headlight.server import readiness
from mha_core.training.limits import TrainingPlan
from tests.pages.workers import ENDLESS, parent
training = user.start(TrainingPlan((ENDLESS,)))
while not training.record.step: time.sleep(0.01)
pids = [training.pid]
if sys.platform == "linux":  # its server
    pids.append(parent(pids[-1]))
print(user.visit_name(), training.folder.parent, *pids, flush=True)
readiness.WIND_UP_SECONDS = workspace.SHUTDOWN_SECONDS = {patience}  # the tests beside this one take their time
served = Starlette(lifespan=app.lifespan, middleware=[Middleware(readiness.ReadinessMiddleware)])
uvicorn.Server(uvicorn.Config(served, log_level="critical")).run([socket.socket(fileno={fd})])
"""


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """Of a server that is not warm yet."""
    monkeypatch.setattr(STATE, "is_warm", False)
    monkeypatch.setattr(STATE, "is_ending", False)

    async def hear(connection: WebSocket) -> None:
        await connection.accept()
        await connection.close()

    routes = [Route("/{path:path}", lambda request: PlainTextResponse("the app")), WebSocketRoute("/stream", hear)]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(ReadinessMiddleware)]))


def test_server_is_ready_from_warm_up_to_shutdown(client: TestClient) -> None:
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
    assert BODY in refused.text
    assert int(refused.headers["retry-after"]) == readiness.RETRY_AFTER_S
    assert client.get("/headlight/api/maps?s=hi").text == "the app"
    with pytest.raises(WebSocketDenialResponse) as denied, client.websocket_connect("/stream"):
        pass
    assert denied.value.status_code == 503


@pytest.mark.faults
@pytest.mark.thorough("A server of the whole app trains and is ended.")
def test_training_of_a_stopped_server_resumes_on_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its visitor finds the model among his own, with a sentence; no folder and no process is left."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port, fd = listening.getsockname()[1], listening.fileno()
        command = [sys.executable, "-c", TRAINS.format(fd=fd, patience=PATIENCE)]
        server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, pass_fds=[fd])
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{READY}", timeout=PATIENCE) as answer:
            assert answer.status == 200
        assert server.stdout
        name, folder, *pids = server.stdout.readline().split()
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE) == -signal.SIGTERM
    finally:
        server.kill()
        server.communicate()
    assert not Path(folder).exists()
    assert len(set(pids)) == (2 if sys.platform == "linux" else 1)
    for process in (Path(f"/proc/{pid}/cmdline") for pid in pids):
        wait(lambda process=process: not process.exists() or not process.read_bytes())  # type: ignore[misc]
    found = visits.find_workspace(name)
    assert found
    assert found.notices == [visits.RESUMED]
    (run,) = found.runs.values()
    assert run.history.end
    assert run.history.end.reason == "stopped"
    with Trained(run.id).unpack() as place:
        assert (place / "model.safetensors").is_file()
    found.end()
    assert not list(tmp_path.iterdir())
