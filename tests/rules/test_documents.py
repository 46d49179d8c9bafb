"""The documents agree with the project: the length of README, the reading order of the core, the walk through one
request, the screenshots of every page in both themes, and the test that shows each line of the texts.
"""

from __future__ import annotations

import re
from pathlib import Path

from PIL import Image

import mha_core
from headlight.ui.pages import DEFAULT, PAGES
from mha_core import masks, positions
from tests.browser.screenshots import FOLDER, SIZE, THEMES, file_of
from tests.rules.test_exports import NAMES

ROOT = Path(__file__).parents[2]
CORE = ROOT / "mha_core"
README = (ROOT / "README.md").read_text("utf-8")
TOUR = (ROOT / "docs" / "pages.md").read_text("utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
WRITTEN = (ROOT / "docs" / "texts.md").read_text("utf-8")
SECTION = (ROOT / "docs" / "core.md").read_text("utf-8")
ENTRY = re.compile(r"`([\w/]+\.py)`(?: \| |\s\()(\d+)(?: \||\))")  # a row of the table, or a file in the sentence below
MAX_BYTES = 3_000_000  # of all screenshots
MAX_WORDS = 900  # of README


def test_readme_is_short() -> None:
    assert len(README.split()) <= MAX_WORDS


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
    assert others.startswith(f"{after:,} are reference")


def test_every_link_of_the_top_level_documents_leads_to_a_file() -> None:
    """`make docs` checks those of docs/, and all anchors."""
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
        prose = re.sub(r"^```.*?^```$", "", (ROOT / name).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", prose)
        assert [target for target in targets if not (ROOT / target).exists()] == [], name


def test_reference_has_every_name_of_the_contract() -> None:
    pages = {mha_core: "mha_core", masks: "masks", positions: "positions"}
    elsewhere = {"IMPLEMENTATIONS", "MultiHeadAttention", "attention", "masks", "positions", "errors"}
    for module, names in NAMES.items():
        text = (ROOT / "docs" / "api" / f"{pages[module]}.md").read_text("utf-8")
        members = re.search(r"members: \[(.*)\]", text)
        assert members
        assert set(names.split()) - elsewhere <= set(members[1].split(", ")), module


def test_every_page_has_a_picture_in_both_themes() -> None:
    """After a new page: `make screenshots`, and its line in the README."""
    wanted = {file_of(page, theme) for page in PAGES for theme in THEMES}
    assert set(FOLDER.iterdir()) == wanted
    assert sum(file.stat().st_size for file in wanted) <= MAX_BYTES
    for file in wanted:
        with Image.open(file) as image:
            assert image.size == SIZE


def test_readme_and_the_tour_show_them_in_the_readers_theme() -> None:
    """README has the default page, the tour all pages in the order of the navigation bar."""
    picture = r'<picture><source media="\(prefers-color-scheme: dark\)" srcset="(\S+)"><img src="(\S+)" .* alt="(.+)">'
    for text, folder, pages in ((README, ROOT, [DEFAULT]), (TOUR, ROOT / "docs", list(PAGES))):
        shown = re.findall(picture, text)
        assert [(dark, light) for dark, light, _ in shown] == [
            tuple(file_of(page, theme).relative_to(folder).as_posix() for theme in ("dark", "light")) for page in pages
        ]
        assert [alt.partition(":")[0] for *_, alt in shown] == [PAGES[page].title for page in pages]


def test_every_file_that_contributing_names_exists() -> None:
    """Those that a recipe adds stand in its diff."""
    prose = re.sub(r"^```diff.*?^```$", "", CONTRIBUTING, flags=re.MULTILINE | re.DOTALL)
    files = re.findall(r"\b(?:mha_core|headlight|pages|assets|tests|docs|deploy)/[\w/.]+\.\w+", prose)
    assert len(files) > 40
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_tour_has_a_section_for_every_page_in_order() -> None:
    headings = [f"{page.title}: {page.question[0].lower()}{page.question[1:]}" for page in PAGES.values()]
    assert re.findall(r"^### (.+: .+\?)$", TOUR, re.MULTILINE) == headings


def test_every_name_of_the_walk_stands_in_its_file() -> None:
    """CONTRIBUTING follows one request through the files."""
    steps = re.findall(r"^\| (\d+) \| (\S+) \| `(\w+)` \|", CONTRIBUTING, re.MULTILINE)
    assert [int(number) for number, *_ in steps] == list(range(1, len(steps) + 1))
    assert len(steps) >= 15
    for _, file, name in steps:
        assert re.search(rf"\b{name}\b", (ROOT / file).read_text("utf-8")), (file, name)


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
