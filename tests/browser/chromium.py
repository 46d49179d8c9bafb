"""Finds the Chromium the browser tests drive: ``python -m tests.browser.chromium`` prints its path.

Looked for in this order: what HEADLIGHT_CHROMIUM names, a Chromium, Chrome or Edge of this system, Playwright's own
(downloaded if need be), and on Debian, as root, the package ``chromium``. Where none of these gives a browser that
starts, the error says what to type. No browser test is skipped for want of a browser.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

VARIABLE = "HEADLIGHT_CHROMIUM"
NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "microsoft-edge-stable",
    "msedge",
)
# Where installers put a browser that they do not put on the PATH.
MAC_APPS = ("Chromium", "Google Chrome", "Microsoft Edge")
WINDOWS_APPS = ("Google/Chrome/Application/chrome.exe", "Microsoft/Edge/Application/msedge.exe")
WINDOWS_FOLDERS = ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")
DOWNLOAD_SECONDS = 240
APT_SECONDS = 600


class NoChromiumError(RuntimeError):
    """No browser was found or could be installed; the message says what to type."""


def starts(path: Path) -> bool:
    """Whether the browser runs at all: a stub, or one whose system libraries are missing, does not."""
    if sys.platform == "win32":  # there, --version would open a window
        return path.is_file()
    try:
        command = [str(path), "--version"]
        return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=30).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def run_quietly(command: list[str], seconds: int) -> bool:
    """Run a command to its end or its time limit, its output kept off stdout; whether it succeeded."""
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def say(text: str) -> None:
    print(f"headlight: {text}", file=sys.stderr, flush=True)


def on_this_system() -> Iterator[Path]:
    """Browsers on the PATH, then those in the usual places of macOS and Windows."""
    for name in NAMES:
        if found := shutil.which(name):
            yield Path(found)
    if sys.platform == "darwin":
        for app in MAC_APPS:
            yield Path(f"/Applications/{app}.app/Contents/MacOS/{app}")
    if sys.platform == "win32":
        for folder in WINDOWS_FOLDERS:
            for app in WINDOWS_APPS:
                if base := os.environ.get(folder):
                    yield Path(base, app)


def playwright_path() -> Path:
    """Where Playwright keeps its own Chromium, whether or not it is there."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path)


def from_playwright() -> Iterator[Path]:
    path = playwright_path()
    if not path.exists():
        say(f"no Chromium on this system; downloading Playwright's (at most {DOWNLOAD_SECONDS} s) …")
        run_quietly([sys.executable, "-m", "playwright", "install", "chromium"], DOWNLOAD_SECONDS)
    yield path


def is_debian() -> bool:
    return Path("/etc/debian_version").exists()


def is_root_on_debian() -> bool:
    return sys.platform == "linux" and os.geteuid() == 0 and is_debian()


def from_apt() -> Iterator[Path]:
    if is_root_on_debian():
        say("installing Debian's package chromium …")
        run_quietly(["apt-get", "update"], APT_SECONDS)
        if run_quietly(["apt-get", "install", "-y", "chromium"], APT_SECONDS) and (found := shutil.which("chromium")):
            yield Path(found)


def what_to_type() -> str:
    if is_debian():
        return "sudo apt-get install chromium"
    if sys.platform == "darwin":
        return "brew install --cask chromium"
    if sys.platform == "win32":
        return "winget install Google.Chrome"
    return f"{sys.executable} -m playwright install --with-deps chromium"


def find_chromium() -> Path:
    """The browser to test with; raises NoChromiumError with the remedy when there is none."""
    if named := os.environ.get(VARIABLE):
        if not Path(named).is_file():
            raise NoChromiumError(f"{VARIABLE} names {named}, which is not a file; unset it or correct it.")
        return Path(named)
    sources: tuple[Callable[[], Iterator[Path]], ...] = (on_this_system, from_playwright, from_apt)
    for source in sources:
        for path in source():
            if starts(path):
                return path
    raise NoChromiumError(
        f"the browser tests need Chromium, Chrome or Edge, and none was found. Type\n    {what_to_type()}\n"
        f"or name the browser's file in {VARIABLE}."
    )


if __name__ == "__main__":
    try:
        print(find_chromium())
    except NoChromiumError as error:
        sys.exit(f"headlight: {error}")
