"""The README's reading order of the core: every file of attention, masks and positions once, with its true length."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ROOT / "mha_core"
ENTRY = re.compile(r"`([\w/]+\.py)`(?: \| |\s\()(\d+)(?: \||\))")  # a row of the table, or a file in the sentence below


def section() -> str:
    readme = (ROOT / "README.md").read_text("utf-8")
    return readme[readme.index("In `mha_core`, attention") : readme.index("```text\napp.py")]


def length(file: Path) -> int:
    return len(file.read_text("utf-8").splitlines())


def test_every_file_stands_there_once_with_its_length() -> None:
    entries = ENTRY.findall(section())
    rooms = (CORE / room for room in ("attention", "masks", "positions"))
    files = [CORE / "trace.py", *(file for room in rooms for file in room.glob("*.py"))]
    assert sorted(name for name, _ in entries) == sorted(file.relative_to(CORE).as_posix() for file in files)
    assert {name: int(lines) for name, lines in entries} == {name: length(CORE / name) for name, _ in entries}


def test_the_sums_are_those_of_the_files() -> None:
    table, _, others = section().partition("The other ")
    first, after = (sum(int(lines) for _, lines in ENTRY.findall(part)) for part in (table, others))
    assert f"positions are {first + after:,} lines" in table
    assert f"read these {first:,}," in table
    assert others.startswith(f"{after:,} are there to look up")
