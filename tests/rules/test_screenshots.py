"""The pictures of the README: every page in both themes, and small."""

from __future__ import annotations

import re
from pathlib import Path

from PIL import Image

from pages.kit.draw.pages import DEFAULT, PAGES
from tests.browser.screenshots import FOLDER, SIZE, THEMES, file_of

ROOT = Path(__file__).parents[2]
MOST_BYTES = 3_000_000  # of all


def test_every_page_has_a_picture_in_both_themes() -> None:
    """After a new page: `make screenshots`, and its line in the README."""
    wanted = {file_of(page, theme) for page in PAGES for theme in THEMES}
    assert set(FOLDER.iterdir()) == wanted
    assert sum(file.stat().st_size for file in wanted) <= MOST_BYTES
    for file in wanted:
        with Image.open(file) as image:
            assert image.size == SIZE


def test_the_readme_shows_each_in_the_readers_theme() -> None:
    """The first page that one meets stands on top, the others in the order of the bar."""
    order = sorted(PAGES, key=lambda page: page != DEFAULT)
    text = (ROOT / "README.md").read_text("utf-8")
    picture = r'<picture><source media="\(prefers-color-scheme: dark\)" srcset="(\S+)"><img src="(\S+)" .* alt="(.+)">'
    shown = re.findall(picture, text)
    assert [(dark, light) for dark, light, _ in shown] == [
        tuple(file_of(page, theme).relative_to(ROOT).as_posix() for theme in ("dark", "light")) for page in order
    ]
    assert [alt.partition(":")[0] for *_, alt in shown] == [PAGES[page].title for page in order]
