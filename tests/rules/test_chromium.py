"""The order in which the browser is looked for, with every look and every installation replaced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser import chromium


class System:
    """A pretended system: which browsers are there and start, which installations work, and what was run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.on_path: dict[str, Path] = {}
        self.installs: dict[str, Callable[[], object]] = {}
        self.ran: list[str] = []

    def browser(self, name: str, *, starts: bool = True) -> Path:
        path = self.folder / name
        path.write_text("starts" if starts else "stub", "utf-8")
        return path

    def runs(self, *command: str | Path) -> bool:
        if command[-1] == "--version":
            path = Path(command[0])
            return path.exists() and path.read_text("utf-8") == "starts"
        self.ran.append(" ".join(map(str, command[-2:])))
        return bool(self.installs.get(self.ran[-1], lambda: command[-1] == "update")())


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> System:
    system = System(tmp_path)
    monkeypatch.delenv(chromium.VARIABLE, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("shutil.which", lambda name: system.on_path.get(name))
    monkeypatch.setattr(chromium, "runs", system.runs)
    monkeypatch.setattr(chromium, "playwrights_own", lambda: tmp_path / "own")
    monkeypatch.setattr(chromium, "is_root_on_debian", lambda: False)
    return system


def test_variable_comes_first_and_must_name_a_file(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    system.on_path["chromium"] = system.browser("on-path")
    monkeypatch.setenv(chromium.VARIABLE, str(system.browser("named")))
    assert chromium.find_chromium().name == "named"
    monkeypatch.setenv(chromium.VARIABLE, str(system.folder / "gone"))
    with pytest.raises(chromium.NoChromiumError, match=chromium.VARIABLE):
        chromium.find_chromium()


def test_installed_chromium_is_preferred(system: System) -> None:
    system.browser("own")
    system.on_path = {"chrome": system.browser("chrome"), "chromium": system.browser("stub", starts=False)}
    assert chromium.find_chromium().name == "chrome"
    system.on_path = {}
    assert chromium.find_chromium().name == "own"
    assert system.ran == []


def test_debians_is_installed_and_playwrights_downloaded(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    system.installs["install chromium"] = lambda: system.browser("own")
    assert chromium.find_chromium().name == "own"
    (system.folder / "own").unlink()

    monkeypatch.setattr(chromium, "is_root_on_debian", lambda: True)
    own = chromium.PACKAGE
    system.installs[f"-y {own}"] = lambda: system.on_path.setdefault(own, system.browser("debians"))
    assert chromium.find_chromium().name == "debians"
    assert system.ran == ["install chromium", "apt-get update", f"-y {own}"]


def test_error_says_what_to_type(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    system.browser("there")
    for debian, remedy in (("there", "apt-get install"), ("not-there", "playwright install")):
        monkeypatch.setattr(chromium, "DEBIAN", system.folder / debian)
        with pytest.raises(chromium.NoChromiumError, match=remedy) as caught:
            chromium.find_chromium()
        assert chromium.VARIABLE in str(caught.value)
