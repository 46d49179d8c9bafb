"""The documents build as a site without warnings, and its pages load nothing from another host."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOADS = re.compile(r"""<(?:script|img|iframe|source)\b[^>]*\b(?:src|srcset)=["']?(?:https?:)?//|"""
                   r"""<link\b[^>]*\bhref=["']?(?:https?:)?//|(?:@import|url\()\s*["']?(?:https?:)?//""")  # fmt: skip


def build(root: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Build as `make docs` does; `--quiet` would hide warnings from the strict mode too."""
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--config-file",
        "docs/site/mkdocs.yml",
        "--site-dir",
        str(target),
    ]
    return subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_site_builds_and_is_local(tmp_path: Path) -> None:
    done = build(ROOT, tmp_path)
    assert not done.returncode, done.stdout
    files = [file for file in tmp_path.rglob("*") if file.suffix in (".html", ".css")]
    assert len(files) > 30
    assert [file.name for file in files if LOADS.search(file.read_text("utf-8"))] == []


def test_broken_link_or_anchor_is_an_error(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copytree(ROOT / "mha_core", tmp_path / "mha_core", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
        shutil.copy(ROOT / name, tmp_path)
    with (tmp_path / "docs" / "core.md").open("a", encoding="utf-8") as page:
        page.write("[a page](no_such_page.md), [an anchor](links.md#no-such-heading)\n")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode
    assert "no_such_page.md" in done.stdout
    assert "#no-such-heading" in done.stdout


def test_wheel_has_nothing_of_the_site() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert [path for path in (*wheel["packages"], *wheel["force-include"]) if path.startswith("docs/")] == [
        "docs/tutorial.ipynb",
        "docs/long-post.md",
    ]
