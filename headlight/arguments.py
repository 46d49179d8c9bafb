"""Argument parsing that all commands share."""

import argparse
from pathlib import Path
from tempfile import TemporaryFile
from typing import NoReturn


class UsageError(Exception):
    """A command cannot run; the message tells the user why."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence without the usage."""

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with status 2."""
        self.exit(2, f"headlight: {message}; {self.prog} --help lists the options.\n")


def check_folder(option: str, folder: Path) -> Path:
    """Create a folder if need be, and return its absolute path. Raises UsageError if it is not writable."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as probe:
            probe.write(b".")
    except OSError as error:
        raise UsageError(f"{option}: the folder “{folder}” is not writable ({error.strerror})") from None
    return folder.resolve()
