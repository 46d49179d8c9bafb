"""deploy/: the container and its copies in compose fit the project, and each other."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import yaml

import make

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
DOCKERFILE = (DEPLOY / "Dockerfile").read_text("utf-8")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
# What is called in the place of uv: writes down what it was told, and what it was told to leave out.
UV = """#!/bin/sh
echo "$@" >>"$LOG"
case $1 in venv) for folder; do :; done; mkdir -p "$folder/lib/python3/site-packages";; esac
while [ $# -gt 0 ]; do case $1 in --excludes) cat "$2" >>"$LOG";; esac; shift; done
"""


def libraries(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs that step of deploy/build.sh; its output is what uv was told."""
    (folder / "uv").write_text(UV, "utf-8")
    (folder / "uv").chmod(0o700)
    log = folder / "log"
    log.touch()
    where = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "LOG": str(log)}
    command = ["sh", str(DEPLOY / "build.sh"), "libraries", str(folder / "tree"), *arguments]
    done = subprocess.run(command, env=where, capture_output=True, text=True)
    return subprocess.CompletedProcess(command, done.returncode, log.read_text("utf-8"), done.stderr)


def test_container_gets_what_is_locked(tmp_path: Path) -> None:
    for torch, models in (("cpu", "all"), ("cu130", "none")):
        (tmp_path / torch).mkdir()
        done = libraries(tmp_path / torch, torch, models)
        assert done.returncode == 0, done.stderr
        _, locked, *left_out, last = done.stdout.splitlines()
        assert "--require-hashes" in locked
        assert locked.endswith(f"-r {ROOT / 'requirements.lock'}")
        extra = PROJECT["project"]["optional-dependencies"]["models"]
        assert left_out == ([] if models == "all" else [spec.partition("==")[0] for spec in extra]), models
        assert last.endswith(f"--torch-backend {torch} {make.TORCH}")
    assert libraries(tmp_path, "cpu", "some").returncode == 2
    assert subprocess.run(["sh", DEPLOY / "build.sh", "all", tmp_path], capture_output=True).returncode == 2


def test_container_leaves_nothing_to_its_user() -> None:
    assert DOCKERFILE.count("\nFROM ") == 2
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    entry = '["tini", "--", "headlight", "--host", "0.0.0.0"'
    assert [line for line in ("USER 10001:10001", "STOPSIGNAL SIGTERM", "/readyz", entry) if line not in last] == []
    assert {"TORCH=cpu", "MODELS=all"} <= set(re.findall(r"^ARG (\S+)$", DOCKERFILE, re.M))
    copied = {word for line in re.findall(r"^COPY (?!--)(.+) \S+$", DOCKERFILE, re.M) for word in line.split()} - {"."}
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = copied | {*wheel["packages"], *wheel["force-include"], *PROJECT["project"]["license-files"], "README.md"}
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    seen = [line[1:] for line in ignored if line.startswith("!")]
    assert "*" in ignored
    assert not [path for path in needed if not any(path == one or path.startswith(f"{one}/") for one in seen)]
    assert all((ROOT / path).exists() for path in seen)


def test_copies_in_compose_are_reached_by_nginx_alone() -> None:
    app, nginx = COMPOSE["services"]["app"], COMPOSE["services"]["nginx"]
    for service in (app, nginx):
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    assert "ports" not in app
    assert app["networks"] == ["inside"]
    inside = COMPOSE["networks"]["inside"]
    assert inside["internal"] is True
    assert app["environment"]["FORWARDED_ALLOW_IPS"] == inside["ipam"]["config"][0]["subnet"]
    config = (DEPLOY / "nginx.conf").read_text("utf-8")
    variables = {*nginx["environment"], "NGINX_LOCAL_RESOLVERS"}
    assert set(re.findall(r"\$\{(\w+)\}", re.sub("#.*", "", config))) <= variables
    copies = re.findall(r"server (\S+):8501 resolve [^;]+;", nginx["environment"]["COPIES"])
    assert copies == [f"{COMPOSE['name']}-app-{number}" for number in range(1, len(copies) + 1)]
    assert len(copies) >= app["scale"] > 1, "visitors are spread by these names"
    assert not re.search(r"\$(?![${])", (DEPLOY / "compose.yaml").read_text("utf-8").replace("$$", ""))
    assert config.count("access_log /dev/stdout without_words;") == config.count("\nserver {") == 2
    assert nginx["ports"] == ["${HEADLIGHT_PORT:-8080}:8080"]
    assert set(app["build"]["args"]) == {"TORCH", "MODELS"}
