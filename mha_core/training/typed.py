"""Whether values that came from a file, which may be a stranger's, are of the types of their fields."""

import math
import re
from typing import Any, get_args, get_origin

LARGEST = 2**53  # of a whole number: beyond, not every one is a float
_HALF = re.compile("[\ud800-\udfff]")  # half a surrogate pair: no character


def fits(value: Any, hint: Any) -> bool:
    """True when a value that came from a file is of the type of its field."""
    if hint is int or hint is float:  # first, as nearly every value is a number
        number = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST
        return number or (hint is float and isinstance(value, float) and math.isfinite(value))
    if hint is str:
        return isinstance(value, str) and not _HALF.search(value)
    kind, within = get_origin(hint), get_args(hint)
    if kind is list:
        return isinstance(value, list) and all(fits(item, within[0]) for item in value)
    if kind is dict:
        return isinstance(value, dict) and all(fits(part, str) for item in value.items() for part in item)
    if within:  # a union
        return any(fits(value, alternative) for alternative in within)
    return isinstance(value, hint)
