"""On which line of a TOML file a value stands: what `tomllib` does not tell."""

import re

_HEADER = re.compile(r"\s*\[\[?\s*(\w+)\s*\]\]?")
_KEY = re.compile(r"\s*(\w+)\s*=")
_IN_A_LINE = re.compile(r"""[{,]\s*(\w+)\s*=""")
_LONG = ('"""', "'''")


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
