"""The benchmark of the screen: it runs to its end and says every number."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from .server import ROOT


@pytest.mark.thorough("a benchmark of one round, with servers and a browser of its own")
def test_the_benchmark_of_the_screen_runs_to_its_end(nobody_else_works: None) -> None:
    command = [sys.executable, "-m", "tests.bench.screen", "--rounds", "1", "--tokens", "16"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for page in ("Explore", "Compare", "Masks", "Shapes"):
        for act in ("key", "mask", "position", "temperature"):
            assert re.search(rf"^{page} +16 tokens: {act} .+ ratio \d", done.stdout, re.MULTILINE), (page, act)
        assert re.search(rf"^{page} +link, 16 tokens → first picture +\d", done.stdout, re.MULTILINE), page
        assert page == "Shapes" or re.search(rf"^tab to {page} +16 tokens → picture +\d", done.stdout, re.MULTILINE), (
            page
        )
