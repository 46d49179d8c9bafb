"""The documents build as a site without warnings, and its pages load nothing from another host."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOADS = re.compile(r"""<(?:script|img|iframe|source)\b[^>]*\b(?:src|srcset)=["']?(?:https?:)?//|"""
                   r"""<link\b[^>]*\bhref=["']?(?:https?:)?//|(?:@import|url\()\s*["']?(?:https?:)?//""")  # fmt: skip


def test_the_site_builds_and_is_local(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", "docs/site/mkdocs.yml"]
    done = subprocess.run([*command, "--site-dir", str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stdout + done.stderr
    assert done.stdout + done.stderr == ""
    files = [file for file in tmp_path.rglob("*") if file.suffix in (".html", ".css")]
    assert len(files) > 30
    assert [file.name for file in files if LOADS.search(file.read_text("utf-8"))] == []


def test_the_wheel_has_nothing_of_the_site() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert [path for path in (*wheel["packages"], *wheel["force-include"]) if path.startswith("docs/")] == [
        "docs/tutorial.ipynb"
    ]
