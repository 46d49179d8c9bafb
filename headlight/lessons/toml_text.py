"""What `tomllib` does not do for a lesson's file: bound its tables before it reads them, and tell where a value stands.

A long key is quadratic there. One walk over the text, which knows what TOML's texts and comments are and nothing more,
looks how many keys there are and how deep they lie.
"""

import re
from typing import Final

from mha_core.errors import HeadlightError

MOST_KEYS: Final = 2_000  # and lists; a lesson of twenty full steps, each part a table of its own, has 1,200
DEEPEST: Final = 8  # names in one key, and brackets within each other; a lesson needs two and four
MOST_DIGITS: Final = 100  # of a number; of thousands Python makes none, and its error is not `tomllib`'s
# What is left open ends with the line or the file: no place is read twice, and `tomllib` reads no further.
_PART = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"{3,5}|\Z)'
    r"|'''.*?(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+"
    r"|(?P<digits>[0-9][0-9_]*+)"
    r"|(?P<sign>[.=\[\]{},\n])",
    re.DOTALL,
)
_HEADER = re.compile(r"\s*\[\[?\s*(\w+)\s*\]\]?")
_KEY = re.compile(r"\s*(\w+)\s*=")
_IN_A_LINE = re.compile(r"""[{,]\s*(\w+)\s*=""")
_LONG = ('"""', "'''")


class TooMuch(HeadlightError):
    """A file beyond the bounds. line: where, from 1."""

    def __init__(self, why: str, text: str, at: int) -> None:
        super().__init__(why)
        self.line = text.count("\n", 0, at) + 1


def check(text: str) -> None:
    """Looks whether a file has few keys, none of them of many names, and few tables within each other.

    Raises:
        TooMuch: it has not.
    """
    keys, names, depth = 0, 1, 0
    for part in _PART.finditer(text):
        sign = part["sign"]
        if sign is not None:
            names = names + 1 if sign == "." else 1
            keys += sign in "=["
            depth += (sign in "[{") - (sign in "]}")
        for there, most, what in (
            (keys, MOST_KEYS, "keys and lists in a lesson"),
            (names, DEEPEST, "names in one key"),
            (depth, DEEPEST, "tables and lists within each other"),
            (len(part["digits"] or ""), MOST_DIGITS, "digits in a number"),
        ):
            if there > most:
                raise TooMuch(f"at most {most:,} {what}, here are more", text, part.start())


def line_of(text: str, *path: str | int) -> int:
    """The line, from 1, of a value: its keys, and of a list of tables or a list the number of the entry.

    `line_of(text, "steps", 1, "ask")` is the line of `ask` in the second `[[steps]]`. Of what is missing it is the
    line of the nearest thing around it, 1 at the least.
    """
    lines = text.splitlines()
    places = _blank_long_texts(lines)
    first, last, found = 0, len(lines), 1
    for at, part in enumerate(path):
        start = _entry(places, first, last, str(path[at - 1]), part) if isinstance(part, int) else None
        if isinstance(part, int):
            if start is None:
                break
            first, last, found = start[0], start[1], start[0] + 1
            continue
        where = _key(places, first, last, part)
        if where is None:
            break
        first, found = where, where + 1
    return found


def _blank_long_texts(lines: list[str]) -> list[str]:
    """The same lines, empty where they stand inside a text of several lines."""
    shown, inside = [], ""
    for line in lines:
        shown.append("" if inside else line)
        for mark in _LONG:
            if line.count(mark) % 2 and inside in ("", mark):
                inside = "" if inside else mark
    return shown


def _key(lines: list[str], first: int, last: int, key: str) -> int | None:
    """The line of a key, or of the first table of that name."""
    for at in range(first, last):
        named = [found[1] for found in (_HEADER.match(lines[at]), _KEY.match(lines[at])) if found]
        if key in named + _IN_A_LINE.findall(lines[at]):
            return at
    return None


def _entry(lines: list[str], first: int, last: int, name: str, number: int) -> tuple[int, int] | None:
    """First line, and the one after the last, of an entry of a list of tables or of a list over several lines."""
    headers = [at for at in range(first, last) if (header := _HEADER.match(lines[at])) and header[1] == name]
    if headers:
        if number >= len(headers):
            return None
        ends = [at for at in range(headers[number] + 1, last) if _HEADER.match(lines[at])]
        return headers[number], ends[0] if ends else last
    if not lines[first].rstrip().endswith("["):  # the whole list on one line
        return first, first + 1
    entries = [at for at in range(first + 1, last) if lines[at].strip()[:1] in ("{", '"', "'", "[")]
    if number >= len(entries):
        return first, first + 1
    return entries[number], entries[number] + 1
