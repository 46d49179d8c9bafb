"""The continuous integration of a public repository runs the commands that every machine has."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

import make
from headlight import command

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_every_job_runs_a_command_of_make_on_the_declared_pythons() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    runs = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    commands = re.findall(r"python make\.py (\S+)", "\n".join(runs))
    assert {"lint", "test", "test-quick"} == set(commands) <= set(make.COMMANDS)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pythons = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert f">={min(pythons, key=lambda version: int(version.split('.')[1]))}" == project["requires-python"]


def test_a_release_tests_before_it_publishes_and_holds_no_secret() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    workflow = yaml.safe_load(text)
    jobs = workflow["jobs"]
    assert "secrets." not in text
    assert workflow["permissions"] == {"contents": "read"}
    (tag,) = workflow[True]["push"]["tags"]  # YAML reads the key `on` as true
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert re.fullmatch(tag.replace(".", r"\."), f"v{version}")
    writing = {name for name, job in jobs.items() if "write" in job.get("permissions", {}).values()}
    assert writing == {"publish", "container", "site"}
    assert all("test" in jobs[name]["needs"] for name in writing)
    assert "wheel" in jobs["publish"]["needs"]
    assert not [step for step in jobs["publish"]["steps"] if "run" in step]  # what may publish runs no code of ours
    runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    called = [line.split() for line in runs]
    assert {given[2] for given in called if given[:2] == ["python", "make.py"]} == {"lint", "test", "docs"}
    assert {given[1] for given in called if given[0] == ".venv/bin/headlight"} == {"export"} <= command.COMMANDS.keys()
    (image,) = [given for given in called if given[:2] == ["docker", "build"]]
    assert (ROOT / image[image.index("--file") + 1]).is_file()
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
    (uv,) = re.findall(r"uv==\S+", " ".join(runs))
    assert uv in dockerfile


def test_actions_are_pinned_by_a_version() -> None:
    for file in WORKFLOWS:
        workflow = yaml.safe_load(file.read_text("utf-8"))
        actions = [step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
        assert [action for action in actions if not re.fullmatch(r"[\w./-]+@v\d+(\.\d+)*", action)] == [], file.name


def test_decisions_are_listed_and_link_to_files() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\((\d-[\w-]+\.md)\)", (folder / "README.md").read_text("utf-8"))
    assert listed == sorted(file.name for file in folder.glob("[0-9]*.md"))
