"""What `tomllib` does not do for a lesson's file: bound its tables before it reads them, and tell where a value stands.

A long key is quadratic there. One walk over the text, which knows what TOML's texts and comments are and nothing more,
looks how many keys there are and how deep they lie.
"""

import re
from typing import Final

MAX_KEYS: Final = 2_000  # and lists; a lesson of twenty full steps, each part a table of its own, has 1,200
DEEPEST: Final = 8  # names in one key, and brackets within each other; a lesson needs two and four
MAX_DIGITS: Final = 100  # of a number; of thousands Python makes none, and its error is not `tomllib`'s
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
_LONG_TEXT = re.compile(r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'', re.DOTALL)


def excess(text: str) -> tuple[int, str] | None:
    """The line, from 1, at which a file has too many keys, too long ones or too deep tables, and which."""
    keys, names, depth = 0, 1, 0
    for part in _PART.finditer(text):
        sign = part["sign"]
        if sign is not None:
            names = names + 1 if sign == "." else 1
            keys += sign in "=["
            depth += (sign in "[{") - (sign in "]}")
        for there, most, what in (
            (keys, MAX_KEYS, "keys and lists in a lesson"),
            (names, DEEPEST, "names in one key"),
            (depth, DEEPEST, "tables and lists within each other"),
            (len(part["digits"] or ""), MAX_DIGITS, "digits in a number"),
        ):
            if there > most:
                return text.count("\n", 0, part.start()) + 1, f"at most {most:,} {what}, here are more"
    return None


def line_of(text: str, *path: str | int) -> int:
    """The line, from 1, of a value: its keys, and of a list of tables or a list the number of the entry.

    `line_of(text, "steps", 1, "ask")` is the line of `ask` in the second `[[steps]]`. Of what is missing it is the
    line of the nearest thing around it, 1 at the least.
    """
    lines = _LONG_TEXT.sub(lambda found: "\n" * found[0].count("\n"), text).splitlines()
    first, last = 0, len(lines)
    for part, name in zip(path, ("", *path), strict=False):
        if isinstance(part, str):
            key = re.escape(part)
            found = _matching(rf"\s*\[\[?\s*{key}\s*\]|\s*{key}\s*=|.*[{{,]\s*{key}\s*=", lines, first, last)
        elif headers := _matching(rf"\s*\[\[?\s*{name}\s*\]", lines, first, last):
            found = headers[part:]
            last = next(iter(_matching(r"\s*\[\[?\s*\w", lines, found[0] + 1, last)), last) if found else last
        else:  # entries on lines of their own, or the whole list on one
            found = (
                _matching(r"\s*[{\"'\[]", lines, first + 1, last) if lines[first].rstrip().endswith("[") else [first]
            )
            found = found[part:]
            last = found[0] + 1 if found else last
        if not found:
            break
        first = found[0]
    return first + 1


def _matching(pattern: str, lines: list[str], first: int, last: int) -> list[int]:
    """Of the lines from the first to before the last those that begin like this."""
    return [at for at in range(first, last) if re.match(pattern, lines[at])]
