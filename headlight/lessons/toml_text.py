"""Bounds and line numbers of TOML, which `tomllib` lacks.

`tomllib` needs quadratic time for a long key. One pass over the text, which knows only TOML's strings and comments,
counts the keys and their depth first.
"""

import re
from typing import Final

MAX_KEYS: Final = 2_000  # and lists; a lesson of twenty full steps with a table for each part has 1,200
MAX_DEPTH: Final = 8  # names in a key, and nested brackets; a lesson needs two and four
MAX_DIGITS: Final = 100  # of a number; Python rejects thousands with an error other than that of `tomllib`
# An unclosed string ends with the line or the file, where `tomllib` stops too: no character is read twice.
PART = re.compile(
    r"(?P<quote>[\"'])(?P<quoted>\w+)(?P=quote)(?=[ \t]*=)"  # a quoted key
    r'|"""(?:[^\\]|\\.)*?(?:"{3,5}|\Z)'
    r"|'''.*?(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+"
    r"|(?P<digits>[0-9][0-9_]*+)"
    r"|(?P<sign>[.=\[\]{},\n])"
    r"|(?P<bare>[\w-]++)",
    re.DOTALL,
)
_LONG_TEXT = re.compile(r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'', re.DOTALL)


def find_excess(text: str) -> tuple[int, str] | None:
    """Return the line, from 1, of the first exceeded bound and a message on it; None without one."""
    keys, names, depth = 0, 1, 0
    for part in PART.finditer(text):
        sign = part["sign"]
        if sign is not None:
            names = names + 1 if sign == "." else 1
            keys += sign in "=["
            depth += (sign in "[{") - (sign in "]}")
        for count, maximum, noun in (
            (keys, MAX_KEYS, "keys and lists in a lesson"),
            (names, MAX_DEPTH, "names in one key"),
            (depth, MAX_DEPTH, "nested tables and lists"),
            (len(part["digits"] or ""), MAX_DIGITS, "digits in a number"),
        ):
            if count > maximum:
                return text.count("\n", 0, part.start()) + 1, f"at most {maximum:,} {noun} are allowed"
    return None


def find_line(text: str, *path: str | int) -> int:
    """Return the line, from 1, of the value at a path of keys and indices.

    `find_line(text, "steps", 1, "question")` is the line of `question` in the second `[[steps]]`; for a missing value
    it is the line of the innermost table or list around it.
    """
    lines = _LONG_TEXT.sub(lambda hits: "\n" * hits[0].count("\n"), text).splitlines()
    first, last = 0, len(lines)
    for part, name in zip(path, ("", *path), strict=False):
        if isinstance(part, str):
            key = re.escape(part)
            hits = _matching(rf"\s*\[\[?\s*{key}\s*\]|\s*{key}\s*=|.*[{{,]\s*{key}\s*=", lines, first, last)
        elif headers := _matching(rf"\s*\[\[?\s*{name}\s*\]", lines, first, last):
            hits = headers[part:]
            last = next(iter(_matching(r"\s*\[\[?\s*\w", lines, hits[0] + 1, last)), last) if hits else last
        else:  # entries on lines of their own, or the whole list on one
            hits = _matching(r"\s*[{\"'\[]", lines, first + 1, last) if lines[first].rstrip().endswith("[") else [first]
            hits = hits[part:]
            last = hits[0] + 1 if hits else last
        if not hits:
            break
        first = hits[0]
    return first + 1


def _matching(pattern: str, lines: list[str], first: int, last: int) -> list[int]:
    """Return the numbers of the lines in a range that match a pattern at their start."""
    return [number for number in range(first, last) if re.match(pattern, lines[number])]
