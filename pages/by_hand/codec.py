"""Edited matrices as one value of the link: "x_1.1_1.2_2.1_2.2__s_0.5_0.1…", without those that equal their default.

Each matrix is its name and its numbers row by row, in characters that a URL needs not escape.
"""

import math
import re
from collections.abc import Mapping

from headlight.link.limits import MAX_MATRICES_LENGTH
from headlight.ui.numbers import cut, exact

Matrix = tuple[tuple[float, ...], ...]

MAX_NUMBER = 1e6  # so that exponentials, products and sums stay finite in float64
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_INFINITE = re.compile(r"[+-]?(inf|infinity|∞)", re.IGNORECASE)


def parse_number(text: str) -> float:
    """Parse a number as typed by the user.

    Raises:
        ValueError: it cannot be used; the message is the end of a sentence.
    """
    text = text.strip().replace("−", "-")
    quoted = cut(text, 20)
    if not text:
        raise ValueError("the cell is empty; type a number")
    if _INFINITE.fullmatch(text):
        raise ValueError(f"“{quoted}” is infinite; type a finite number")
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"“{quoted}” is not a number; write it as 0.5 or 5e-1")
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"“{quoted}” is infinite; type a finite number")
    if abs(value) > MAX_NUMBER:
        raise ValueError(f"“{quoted}” is too large; here numbers go from −{MAX_NUMBER:,.0f} to {MAX_NUMBER:,.0f}")
    return value + 0.0  # no negative zero


def parse_switch(text: str) -> float:
    """Parse a cell of a mask: "0" or "1".

    Raises:
        ValueError: it is anything else.
    """
    if text not in ("0", "1"):
        raise ValueError(f"“{text[:20]}” is neither 0 nor 1")
    return float(text)


def parse(text: str, defaults: Mapping[str, Matrix], switches: frozenset[str]) -> dict[str, Matrix] | None:
    """Parse the edited matrices of a link by name; None if any part is invalid.

    Args:
        text: the value of the link.
        defaults: the existing matrices, which determine the sizes.
        switches: the names of the masks, which contain only 0 and 1.
    """
    if len(text) > MAX_MATRICES_LENGTH:
        return None
    edited: dict[str, Matrix] = {}
    for part in text.split("__") if text else []:
        name, *numbers = part.split("_")
        if not defaults.get(name) or name in edited:
            return None
        parse_cell = parse_switch if name in switches else parse_number
        try:
            values = [parse_cell(number) for number in numbers]
        except ValueError:
            return None
        rows, cols = len(defaults[name]), len(defaults[name][0])
        if len(values) != rows * cols:
            return None
        edited[name] = tuple(tuple(values[row * cols : (row + 1) * cols]) for row in range(rows))
    return edited


def write(edited: Mapping[str, Matrix], defaults: Mapping[str, Matrix]) -> str:
    """Return the inverse of `parse`, without matrices that equal their default."""
    return "__".join(
        "_".join((name, *(exact(value) for line in edited[name] for value in line)))
        for name in sorted(edited)
        if edited[name] != defaults[name]
    )
