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


def test_a_release_tests_before_it_publishes_holds_no_secret_and_pins_its_actions() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    workflow = yaml.safe_load(text)
    jobs = workflow["jobs"]
    assert "secrets." not in text
    assert workflow["permissions"] == {"contents": "read"}
    writers = {name: set(job["needs"]) for name, job in jobs.items() if "write" in job.get("permissions", {}).values()}
    assert writers == {"publish": {"test", "wheel"}, "container": {"test"}, "site": {"test"}}
    runs = " ".join(step.get("run", "") + "\n" for job in jobs.values() for step in job["steps"])
    assert {*re.findall(r"python make\.py (\S+)", runs)} == {"lint", "test", "docs"} <= set(make.COMMANDS)
    assert {*re.findall(r"\.venv/bin/headlight (\S+)", runs)} == {"export"} <= command.COMMANDS.keys()
    (dockerfile,) = re.findall(r"--file (\S+)", runs)
    assert re.findall(r"uv==\S+", runs)[0] in (ROOT / dockerfile).read_text("utf-8")
    for file in WORKFLOWS:
        actions = re.findall(r"uses: (\S+)", file.read_text("utf-8"))
        assert [action for action in actions if not re.fullmatch(r"[\w./-]+@v\d+(\.\d+)*", action)] == []


def test_decisions_are_listed_and_link_to_files() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\((\d-[\w-]+\.md)\)", (folder / "README.md").read_text("utf-8"))
    assert listed == sorted(file.name for file in folder.glob("[0-9]*.md"))
