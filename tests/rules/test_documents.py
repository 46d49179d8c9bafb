"""What README and docs/texts.md say of the project: the reading order of the core, the pictures of every page in both
themes, and the test that shows each line of the texts.
"""

from __future__ import annotations

import re
from pathlib import Path

from PIL import Image

from headlight.ui.pages import DEFAULT, PAGES
from tests.browser.screenshots import FOLDER, SIZE, THEMES, file_of

ROOT = Path(__file__).parents[2]
CORE = ROOT / "mha_core"
README = (ROOT / "README.md").read_text("utf-8")
WRITTEN = (ROOT / "docs" / "texts.md").read_text("utf-8")
SECTION = README[README.index("In `mha_core`, attention") : README.index("```text\napp.py")]
ENTRY = re.compile(r"`([\w/]+\.py)`(?: \| |\s\()(\d+)(?: \||\))")  # a row of the table, or a file in the sentence below
MAX_BYTES = 3_000_000  # of all pictures


def test_every_file_stands_there_once_with_its_length_and_the_sums_are_theirs() -> None:
    entries = ENTRY.findall(SECTION)
    rooms = (CORE / room for room in ("attention", "masks", "positions"))
    files = [CORE / "trace.py", *(file for room in rooms for file in room.glob("*.py"))]
    assert sorted(name for name, _ in entries) == sorted(file.relative_to(CORE).as_posix() for file in files)
    for name, lines in entries:
        assert int(lines) == len((CORE / name).read_text("utf-8").splitlines()), name
    table, _, others = SECTION.partition("The other ")
    first, after = (sum(int(lines) for _, lines in ENTRY.findall(part)) for part in (table, others))
    assert f"positions are {first + after:,} lines" in table
    assert f"read these {first:,}," in table
    assert others.startswith(f"{after:,} are there to look up")


def test_every_page_has_a_picture_in_both_themes() -> None:
    """After a new page: `make screenshots`, and its line in the README."""
    wanted = {file_of(page, theme) for page in PAGES for theme in THEMES}
    assert set(FOLDER.iterdir()) == wanted
    assert sum(file.stat().st_size for file in wanted) <= MAX_BYTES
    for file in wanted:
        with Image.open(file) as image:
            assert image.size == SIZE


def test_the_readme_shows_each_in_the_readers_theme() -> None:
    """The first page that one meets stands on top, the others in the order of the bar."""
    order = sorted(PAGES, key=lambda page: page != DEFAULT)
    picture = r'<picture><source media="\(prefers-color-scheme: dark\)" srcset="(\S+)"><img src="(\S+)" .* alt="(.+)">'
    shown = re.findall(picture, README)
    assert [(dark, light) for dark, light, _ in shown] == [
        tuple(file_of(page, theme).relative_to(ROOT).as_posix() for theme in ("dark", "light")) for page in order
    ]
    assert [alt.partition(":")[0] for *_, alt in shown] == [PAGES[page].title for page in order]


def test_every_test_that_is_named_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)?::(\w+)`", WRITTEN)
    assert len(named) > 20
    file = ""
    for path, name in named:
        file = path or file  # `::name` is of the file before it
        assert f"def {name}(" in (ROOT / file).read_text("utf-8"), (file, name)
    lines = [line for line in WRITTEN.splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert len(lines) >= 14
    assert [line for line in lines if "::test_" not in line] == []
