"""How large the tables of a lesson's file may be, looked at before `tomllib` reads them: there a long key is quadratic.

One walk over the text, which knows what TOML's texts and comments are and nothing more.
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
