"""The order in which the browser is looked for, with every look and every installation replaced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser import chromium


class System:
    """A pretended system: which files are there, what starts, and what was run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.on_path: dict[str, Path] = {}
        self.broken: set[Path] = set()
        self.ran: list[str] = []
        self.installs: dict[str, Callable[[], object]] = {}

    def file(self, name: str) -> Path:
        path = self.folder / name
        path.touch()
        return path

    def run_quietly(self, command: list[str], seconds: int) -> bool:
        assert 0 < seconds <= 600
        line = " ".join(command[1:] if command[0].endswith("apt-get") else command[2:])
        self.ran.append(line)
        return bool(self.installs.get(line, lambda: False)())


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> System:
    system = System(tmp_path)
    monkeypatch.delenv(chromium.VARIABLE, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("shutil.which", lambda name: system.on_path.get(name))
    monkeypatch.setattr(chromium, "starts", lambda path: path.exists() and path not in system.broken)
    monkeypatch.setattr(chromium, "run_quietly", system.run_quietly)
    monkeypatch.setattr(chromium, "playwright_path", lambda: tmp_path / "playwright-chrome")
    monkeypatch.setattr(chromium, "is_root_on_debian", lambda: False)
    return system


def test_the_variable_comes_first(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    system.on_path["chromium"] = system.file("on-path")
    named = system.file("named")
    monkeypatch.setenv(chromium.VARIABLE, str(named))
    assert chromium.find_chromium() == named


def test_a_variable_that_names_nothing_is_an_error(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    system.on_path["chromium"] = system.file("on-path")
    monkeypatch.setenv(chromium.VARIABLE, str(system.folder / "gone"))
    with pytest.raises(chromium.NoChromiumError, match=chromium.VARIABLE):
        chromium.find_chromium()


def test_the_path_comes_before_playwright(system: System) -> None:
    system.file("playwright-chrome")
    system.on_path = {"google-chrome": system.file("chrome"), "chromium-browser": system.file("chromium-browser")}
    assert chromium.find_chromium().name == "chromium-browser"
    assert system.ran == []


def test_a_browser_that_does_not_start_is_passed_over(system: System) -> None:
    stub = system.file("stub")
    system.on_path = {"chromium-browser": stub, "chrome": system.file("chrome")}
    system.broken = {stub}
    assert chromium.find_chromium().name == "chrome"


def test_playwrights_own_is_taken_without_a_download(system: System) -> None:
    own = system.file("playwright-chrome")
    assert chromium.find_chromium() == own
    assert system.ran == []


def test_playwrights_own_is_downloaded(system: System) -> None:
    system.installs["playwright install chromium"] = lambda: system.file("playwright-chrome")
    assert chromium.find_chromium().name == "playwright-chrome"
    assert system.ran == ["playwright install chromium"]


def test_debians_package_comes_last(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    def install() -> bool:
        system.on_path["chromium"] = system.file("debian-chromium")
        return True

    monkeypatch.setattr(chromium, "is_root_on_debian", lambda: True)
    system.installs["install -y chromium"] = install
    assert chromium.find_chromium().name == "debian-chromium"
    assert system.ran == ["playwright install chromium", "update", "install -y chromium"]


@pytest.mark.parametrize(
    ("platform", "remedy"),
    [("linux", "install"), ("darwin", "brew install --cask chromium"), ("win32", "winget install Google.Chrome")],
)
def test_the_error_says_what_to_type(
    system: System, monkeypatch: pytest.MonkeyPatch, platform: str, remedy: str
) -> None:
    monkeypatch.setattr(chromium, "on_this_system", lambda: iter(()))
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(chromium, "is_debian", lambda: False)
    with pytest.raises(chromium.NoChromiumError, match=remedy) as caught:
        chromium.find_chromium()
    assert chromium.VARIABLE in str(caught.value)
    assert "install -y chromium" not in system.ran
