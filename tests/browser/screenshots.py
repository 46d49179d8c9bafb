"""The pictures of the README, each page in both themes: `python -m tests.browser.screenshots` draws them anew."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from headlight.link.presets import PRESETS
from headlight.ui.pages import PAGES

from .chromium import find_chromium
from .conftest import FLAGS, OPTIONS
from .server import ROOT, OwnServer
from .test_every_page import KINDS

FOLDER = ROOT / "docs" / "screenshots"
SIZE = (1280, 720)
COLOURS = 160  # of the palette: a picture is then a fifth as large, and nobody sees it
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
# A link of each page that shows what the page is for; the others as they open.
LINKS: Mapping[str, dict[str, Any]] = {
    "explore": {"at": "3.1.10"},
    "compare": {
        "at": "3.1.10",
        "pos2": "as trained",
        "s2": "The animal didn't cross the street because it was too wide",
    },
    "masks": {"mask": "causal", "at": "3.1.10", "s": PRESETS[0]},
    "shapes": {"step": "q.transpose"},
    "by_hand": {"ex": "a real cell", "at": "3.1.10.2"},
}


def file_of(page: str, theme: str) -> Path:
    """Where the picture of a page in a theme lies."""
    return FOLDER / f"{page}-{theme}.png"


def pictures(browser: Browser, url: str, names: Sequence[str]) -> Iterator[tuple[Path, bytes]]:
    """These pages in every theme, as PNG with all its colours, and where it goes."""
    for theme in THEMES:
        viewport = {"width": SIZE[0], "height": SIZE[1]}
        context = browser.new_context(**{**OPTIONS, "viewport": viewport, "color_scheme": theme})
        for page in names:
            tab = KINDS[page](context.new_page(), url)
            tab.page.set_default_timeout(60_000)
            tab.open(**LINKS.get(page, {}))
            tab.page.wait_for_load_state("networkidle")  # charts come by themselves
            refused = [said for said in tab.page.locator(".notices").all_inner_texts() if "The link says" in said]
            assert not refused, f"{page}: {refused}"
            yield file_of(page, theme), tab.page.screenshot()
            tab.page.close()
        context.close()


def small(png: bytes) -> bytes:
    """The picture with a palette of its own."""
    out = io.BytesIO()
    with Image.open(io.BytesIO(png)) as image:
        image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def main(*names: str) -> None:
    """Draws these pages, or all of them, and takes the pictures of pages that are gone away."""
    FOLDER.mkdir(exist_ok=True)
    for old in set(FOLDER.glob("*.png")) - {file_of(page, theme) for page in PAGES for theme in THEMES}:
        old.unlink()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        server = OwnServer(Path(folder) / "log")
        try:
            for file, png in pictures(browser, server.url, names or list(PAGES)):
                file.write_bytes(small(png))
                print(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1000:.0f} kB", flush=True)
        finally:
            server.stop()
            browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
