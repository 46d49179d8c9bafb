"""What the commands share in reading their arguments: errors in one sentence."""

import argparse
from pathlib import Path
from tempfile import TemporaryFile
from typing import NoReturn


class UsageError(Exception):
    """The command cannot be carried out; the message is a sentence for whoever typed it."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, without the whole usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"headlight: {message}; {self.prog} --help lists the options.\n")


def check_folder(option: str, folder: Path) -> Path:
    """The folder, made if need be. Raises Refused where nothing can be written into it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as trial:
            trial.write(b".")
    except OSError as error:
        raise UsageError(f"{option}: the folder “{folder}” is not writable ({error.strerror})") from None
    return folder.resolve()
