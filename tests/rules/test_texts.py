"""docs/texts.md names the test that shows each line of the texts; all of them exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
WRITTEN = (ROOT / "docs" / "texts.md").read_text("utf-8")


def named() -> list[tuple[str, str]]:
    """Files and names of tests; `::name` is of the file before it."""
    found, file = [], ""
    for path, name in re.findall(r"`(tests/[\w/]+\.py)?::(\w+)`", WRITTEN):
        file = path or file
        found.append((file, name))
    return found


def test_every_test_that_is_named_exists() -> None:
    assert len(named()) > 20
    missing = [(file, name) for file, name in named() if f"def {name}(" not in (ROOT / file).read_text("utf-8")]
    assert not missing


def test_every_line_has_one() -> None:
    lines = [line for line in WRITTEN.splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert len(lines) >= 14
    assert [line for line in lines if "::test_" not in line] == []
