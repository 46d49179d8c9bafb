"""The continuous integration of a public repository runs the commands that every machine has."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

import make

ROOT = Path(__file__).parents[2]


def test_every_job_runs_a_command_of_make_on_the_declared_pythons() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    runs = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    commands = re.findall(r"python make\.py (\S+)", "\n".join(runs))
    assert {"lint", "test", "test-quick"} == set(commands) <= set(make.COMMANDS)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pythons = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert f">={min(pythons, key=lambda version: int(version.split('.')[1]))}" == project["requires-python"]


def test_decisions_are_listed_and_link_to_files() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\((\d-[\w-]+\.md)\)", (folder / "README.md").read_text("utf-8"))
    assert listed == sorted(file.name for file in folder.glob("[0-9]*.md"))
