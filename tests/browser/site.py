"""An exported site: written once for a test run, and served by `python -m http.server` below a path."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

from filelock import FileLock

from headlight.lessons.schema import Lesson
from headlight.ui import pages

from .explore_page import Explore
from .lessons_page import Beside
from .server import ROOT

__all__ = ["BELOW", "LESSONS", "Host", "SiteLesson", "SiteMaps", "address", "exported"]

BELOW = "courses/attention"  # where the site is, below the host's root
LESSONS = ("it", "whole")  # one of each course
# The page objects wait for the end of Streamlit's script, of which a site has none.
NO_SCRIPT_RUNS = """addEventListener("DOMContentLoaded", () => {
  const mark = document.createElement("i");
  Object.assign(mark.dataset, { testid: "stApp", testScriptState: "notRunning" });
  document.body.append(mark);
})"""
# The weights of the head in focus as the view has them, once they are those of this sentence.
WEIGHTS = """async ([script, sentence]) => {
  const { open } = await import(script);
  const [view] = [...open("base/view_base.js").views].filter(({ isHere }) => isHere);
  const { picture, matching, weights, maps, at } = view;
  const isOfHead = view.element.dataset.numbers === `${at.layer}.${at.head}`;
  if (!weights || !matching || picture.sentence !== sentence || !isOfHead) return null;
  return { tokens: maps.tokens, head: [at.layer, at.head], weights: [...weights] };
}"""


def address(path: str, **query: str) -> str:
    """The file of a page and its query, below the site's folder."""
    return f"/{path or 'index'}.html" + (f"?{urlencode(query)}" if query else "")


def exported(folder: Path, lessons: Sequence[str] = LESSONS) -> Path:
    """The site with these lessons, written by the first process that asks for it."""
    site = folder / f"site of {len(lessons)}" / BELOW
    with FileLock(f"{site.parents[1]}.lock"):
        if not site.exists():
            chosen = [part for name in lessons for part in ("--lesson", name)]
            command = [sys.executable, "-m", "headlight", "export", "--site", str(site), *chosen]
            subprocess.run(command, cwd=ROOT, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return site


class Host:
    """A host of static files, which may close and start again under the same address."""

    def __init__(self, root: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/{BELOW}"
        self.root = root
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-u", "-m", "http.server", str(self.port), "--bind", "127.0.0.1"]
        own = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([*command, "--directory", str(self.root)], **own)  # type: ignore[call-overload]
        assert self.process.stdout.readline(), "the host has ended"

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate()


class SiteLesson(Beside):
    """A lesson beside the page of its step."""

    def begin(self, lesson: Lesson, at: int = 1, **values: str) -> Self:
        step = lesson.steps[at - 1]
        more = urlencode({"learn": f"{lesson.id}.{at}", **values})
        self.page.goto(f"{self.url}{address(pages.path(step.page))}?{step.query}&{more}")
        return self.at(lesson, at)


class SiteMaps(Explore):
    """Maps, with the numbers that this browser has computed."""

    PATH = "/index.html"

    def weights(self, sentence: str) -> dict[str, Any]:
        """Wait for the weights of the head in focus on a sentence."""
        script = f"{urlsplit(self.url).path}/app/app.js"
        found: list[dict[str, Any]] = []

        def is_here() -> bool:
            found[:] = filter(None, [self.page.evaluate(WEIGHTS, [script, sentence])])
            return bool(found)

        self.until(is_here, f"the weights of “{sentence}”")
        return found[0]
