"""The hub: its cache on this machine, and the one way to the network, against a small server of the same answers."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mha_core import load_model
from mha_core.errors import WeightsFileError
from mha_core.pretrained import hub, offline
from tests.hub_cache import REVISION, fill, put

COMMIT = "a" * 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = put("gpt2", tmp_path_factory.mktemp("hub") / "model")
    (place / "pytorch_model.bin").write_bytes(b"not to be brought")
    (place / "modeling_own.py").write_text("raise SystemExit")
    return place


class Hub(BaseHTTPRequestHandler):
    """The model a/b, and no other."""

    files: dict[str, bytes]

    def log_message(self, *_: Any) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        name = path.rpartition("/")[2]
        if path.startswith("/api/models/a/b/revision/main"):
            self._answer(json.dumps({"id": "a/b", "sha": COMMIT, "siblings": []}).encode())
        elif path.startswith("/api/models/a/b/tree/"):
            tree = [
                {"type": "file", "path": one, "size": len(data), "oid": _oid(data)} for one, data in self.files.items()
            ]
            self._answer(json.dumps(tree).encode())
        elif path.startswith("/a/b/resolve/") and name in self.files:
            self._answer(self.files[name], ETag=f'"{_oid(self.files[name])}"')
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.end_headers()

    do_HEAD = do_GET

    def _answer(self, data: bytes, **headers: str) -> None:
        self.send_response(200)
        for key, value in {"Content-Length": str(len(data)), "X-Repo-Commit": COMMIT, **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)


def _oid(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


@pytest.fixture
def cache(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, and a hub with one model for the processes that ask it."""
    Hub.files = {file.name: file.read_bytes() for file in folder.iterdir()}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(offline.hub().constants, "HF_HUB_CACHE", str(tmp_path))
    yield tmp_path
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_cached_model_is_loaded_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offline.transformers()
    monkeypatch.setattr(offline.hub().constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(WeightsFileError, match="no model 'tiny/gpt2' on this machine; check the spelling"):
        load_model("tiny/gpt2", device="cpu")
    fill(tmp_path, "gpt2")
    for revision in (None, REVISION):
        assert load_model("tiny/gpt2", device="cpu", revision=revision).facts["revision"] == REVISION


@pytest.mark.thorough("a server of the hub's answers and processes that import its library")
def test_a_model_is_brought_and_found(cache: Path) -> None:
    done: list[float] = []
    place, commit = hub.download("a/b", on_progress=done.append)
    assert commit == COMMIT
    assert done == sorted(done)
    assert done[-1] == 1
    assert {file.name for file in place.iterdir()} == {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
    }
    model = load_model("a/b", device="cpu")
    assert model.facts["revision"] == COMMIT
    assert model.folder == place
    with pytest.raises(WeightsFileError, match=r"the hub has no model 'no/such', or it is private; check the spelling"):
        hub.download_size("no/such")
    del Hub.files["model.safetensors"]
    with pytest.raises(WeightsFileError, match="only as pickle"):
        hub.download("a/b")
    # a wrong family costs no more than its description
    shutil.rmtree(cache / "models--a--b")
    Hub.files["config.json"] = json.dumps({"model_type": "resnet"}).encode()
    with pytest.raises(WeightsFileError, match="resnet reads pixel_values, not a text"):
        hub.download("a/b")
    assert [file.name for file in cache.rglob("snapshots/*/*")] == ["config.json"]


def test_download_progress_is_forwarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of the process that brings files stands a script that says what one would."""
    script = tmp_path / "python"

    def says(*lines: object) -> None:
        echoes = "".join(f"echo '{json.dumps(line)}'\n" for line in lines)
        script.write_text(f"#!/bin/sh\n{echoes}")
        script.chmod(0o755)

    monkeypatch.setattr(sys, "executable", str(script))
    done: list[float] = []
    says({"done": 0.5}, {"done": 1.0}, {"folder": str(tmp_path / COMMIT)})
    assert hub.download("a/b", "main", done.append) == (tmp_path / COMMIT, COMMIT)
    assert done == [0.5, 1.0]
    says({"size": 7})
    assert hub.download_size("a/b") == 7
    for lines, expected in (
        ([{"error": "it is gated"}], "it is gated"),
        ([{"done": 0.5}], "a/b could not be downloaded completely; try again"),
        ([], "a/b could not be downloaded: the connection ended early; try again"),
    ):
        says(*lines)
        with pytest.raises(WeightsFileError, match=expected):
            hub.download("a/b")

    def give_up(share: float) -> None:
        raise KeyboardInterrupt

    says({"done": 0.5}, {"folder": "never"})
    with pytest.raises(KeyboardInterrupt):
        hub.download("a/b", on_progress=give_up)
