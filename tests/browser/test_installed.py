"""The wheel in an environment of its own, started by its command from another folder: nothing of a checkout is near."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from playwright.sync_api import expect

from headlight.ui.pages import PAGES

from .conftest import NewPage
from .server import ROOT, OwnServer
from .tab import Tab

BIN = "Scripts" if os.name == "nt" else "bin"


def borrow_libraries(environment: Path) -> Path:
    """Let an environment find the libraries of this one, among which Headlight is not; return its Python."""
    (site,) = environment.glob("Lib/site-packages" if os.name == "nt" else "lib/python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return environment / BIN / "python"


def installed(folder: Path) -> str:
    """The command of a wheel that is built and installed in a new environment."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)
    (wheel,) = folder.glob("*.whl")
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = borrow_libraries(environment)
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", wheel], check=True
    )
    return str(environment / BIN / "headlight")


@pytest.mark.thorough("builds a wheel, installs it and starts it")
def test_pages_of_the_installed_command_open(tmp_path: Path, new_page: NewPage) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "pages.py").write_text("raise RuntimeError('somebody else\\'s')", encoding="utf-8")
    command = [installed(tmp_path), "--no-open"]
    server = OwnServer(tmp_path / "log", command=command, folder=elsewhere, environment={"PYTHONPATH": ""})
    try:
        tab = new_page(Tab, url=server.url)
        for name in ("explore", "train", "lessons"):
            if name == "explore":
                tab.page.goto(f"{server.url}/{name.replace('_', '-')}")
            else:
                tab.go(PAGES[name].title)
            expect(tab.page.get_by_role("heading", name=PAGES[name].question).first).to_be_visible()
        tab.page.close()
        log = server.log.read_text("utf-8")
        assert str(ROOT) not in log
        assert "Traceback" not in log
    finally:
        server.stop()


@pytest.mark.thorough("builds the folder that the container's build makes")
def test_the_build_of_the_container_makes_the_command(tmp_path: Path) -> None:
    """But for its libraries, which are those of here."""
    tree = tmp_path / "headlight"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tree], check=True)
    borrow_libraries(tree)
    path = {"PATH": f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}", "VIRTUAL_ENV": sys.prefix}
    offline = {"UV_OFFLINE": "1", "UV_NO_BUILD_ISOLATION": "1", "UV_CACHE_DIR": str(tmp_path / "cache")}
    build: list[str | Path] = ["sh", ROOT / "deploy" / "build.sh", "headlight", tree.name]
    subprocess.run(build, cwd=tmp_path, env=os.environ | path | offline, check=True)
    (package,) = tree.glob("[Ll]ib/**/site-packages/headlight")
    assert (package / "site" / "app.py").is_file()
    ran = subprocess.run(
        [tree / BIN / "headlight", "--help"], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True
    )
    assert "--public" in ran.stdout
