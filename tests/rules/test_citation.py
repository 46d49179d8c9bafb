"""How Headlight is cited: CITATION.cff has what the format asks for, and says what pyproject and the changelog say."""

from __future__ import annotations

import datetime
import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_the_citation_is_whole_and_agrees_with_the_project() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    released = re.search(
        rf"^## {re.escape(project['version'])} – (\S+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert released
    assert cited["cff-version"] == "1.2.0"
    assert cited["type"] == "software"
    assert all(isinstance(cited[key], str) and cited[key] for key in ("message", "title", "abstract"))
    assert project["name"].startswith(cited["title"].lower().partition(":")[0])
    assert cited["authors"] == project["authors"]
    assert str(cited["version"]) == project["version"]
    assert cited["license"] == project["license"]
    assert cited["keywords"] == project["keywords"]
    assert cited["date-released"] == datetime.date.fromisoformat(released[1])
