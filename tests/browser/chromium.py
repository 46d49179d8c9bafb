"""Find the Chromium that the browser tests drive: ``python -m tests.browser.chromium`` prints its path.

It is what HEADLIGHT_CHROMIUM names, or a Chromium, Chrome or Edge on the PATH, Chromium without windows before all
others: a page costs it two thirds of the work. On Debian, as root, its package is installed; otherwise Playwright's own
is taken, and downloaded if need be. Where none of these starts, the error says what to type. No browser test is skipped
for want of a browser.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "HEADLIGHT_CHROMIUM"
PACKAGE = "chromium-headless-shell"
NAMES = (PACKAGE, "chromium", "chromium-browser", "google-chrome", "chrome", "microsoft-edge", "msedge")
SECONDS = 600
DEBIAN = Path("/etc/debian_version")


class NoChromiumError(RuntimeError):
    """No browser was found or could be installed; the message says what to type."""


def runs(*command: str | Path) -> bool:
    """Tell whether a command succeeds within its time; its output is kept off stdout."""
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(command, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def starts(path: Path) -> bool:
    """Tell whether the browser runs at all: a stub, or one whose system libraries are missing, does not."""
    return path.is_file() if sys.platform == "win32" else runs(path, "--version")  # there it would open a window


def is_root_on_debian() -> bool:
    return DEBIAN.exists() and os.geteuid() == 0


def playwrights_own() -> Path:
    """Where Playwright keeps its own Chromium, whether or not it is there."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path)


def say(text: str) -> None:
    print(f"headlight: {text}", file=sys.stderr, flush=True)


def candidates() -> Iterator[Path]:
    """The browsers to try, from those that are there to those that must be brought."""
    yield from (Path(path) for name in NAMES if (path := shutil.which(name)))
    if is_root_on_debian():
        say("no Chromium on this system; installing Debian's …")
        if runs("apt-get", "update") and runs("apt-get", "install", "-y", PACKAGE):
            yield Path(shutil.which(PACKAGE) or PACKAGE)
    own = playwrights_own()
    if not own.exists():
        say("no Chromium on this system; downloading Playwright's …")
        runs(sys.executable, "-m", "playwright", "install", "chromium")
    yield own


def find_chromium() -> Path:
    """The browser to test with; raises NoChromiumError with the remedy when there is none."""
    if named := os.environ.get(VARIABLE):
        if not Path(named).is_file():
            raise NoChromiumError(f"{VARIABLE} names {named}, which is not a file; unset it or correct it.")
        return Path(named)
    for path in candidates():
        if starts(path):
            return path
    install = (
        f"sudo apt-get install {PACKAGE}" if DEBIAN.exists() else f"{sys.executable} -m playwright install --with-deps"
    )
    raise NoChromiumError(
        f"the browser tests need Chromium, Chrome or Edge, and none was found. Type\n    {install}\n"
        f"or name the browser's file in {VARIABLE}."
    )


if __name__ == "__main__":
    try:
        print(find_chromium())
    except NoChromiumError as error:
        sys.exit(f"headlight: {error}")
