"""Rewrite lesson files of version 1 with the keys of the present one: `python -m headlight.lessons.upgrade FILE…`.

Only keys change; comments, texts and layout stay.
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from .reading import OLD_KEYS, VERSION, LessonError, read
from .toml_text import PART

_VERSION_LINE: Final = re.compile(r"^(\s*version\s*=\s*)1\b", re.MULTILINE)


def upgrade(name: str, text: str) -> str:
    """Return the text of a lesson file with the keys of the present version.

    Args:
        name: name of the file, such as "01-it.toml".
        text: content of the file, of any version.

    Raises:
        LessonError: the file has an error, or keys in a form that is not rewritten.
    """
    lesson = read(name, text)
    version = tomllib.loads(text).get("version")
    if version == VERSION:
        return text
    new_text = PART.sub(_rename, text)
    if version:
        new_text = _VERSION_LINE.sub(rf"\g<1>{VERSION}", new_text, count=1)
    else:
        end = "\r\n" if "\r\n" in text else "\n"
        new_text = f"version = {VERSION}{end}{new_text}"
    try:
        is_same = read(name, new_text) == lesson
    except LessonError:
        is_same = False
    if not is_same:
        raise LessonError(f"{name}, line 1: this file cannot be rewritten; write its keys without quotes or escapes")
    return new_text


def _rename(part: re.Match[str]) -> str:
    if part["quoted"]:
        return f"{part['quote']}{OLD_KEYS.get(part['quoted'], part['quoted'])}{part['quote']}"
    return OLD_KEYS.get(part["bare"], part[0]) if part["bare"] else part[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite files and the files of folders; return 1 if one of them has an error."""
    parser = argparse.ArgumentParser("headlight.lessons.upgrade", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("paths", type=Path, nargs="+", metavar="FILE", help="a lesson file (*.toml), or their folder")
    paths: list[Path] = parser.parse_args(arguments).paths
    errors = 0
    for file in [file for path in paths for file in (sorted(path.glob("*.toml")) if path.is_dir() else [path])]:
        try:
            text = file.read_bytes().decode("utf-8")
            new_text = upgrade(file.name, text)
            if new_text != text:
                file.write_bytes(new_text.encode("utf-8"))
                print(f"{file}: rewritten")
        except LessonError as error:
            errors += 1
            print(f"{error}.", file=sys.stderr)
        except (OSError, UnicodeDecodeError) as error:
            errors += 1
            print(f"{file}: cannot be read or written as UTF-8 ({error}).", file=sys.stderr)
    return min(errors, 1)


if __name__ == "__main__":
    sys.exit(main())
