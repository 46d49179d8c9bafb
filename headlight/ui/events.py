"""Readers of the fields of a browser event, which return None for any invalid value.

A callback that raised would show its exception, and an invalid value in a control would break the session for good.
"""

from collections.abc import Mapping
from typing import Any

MAX_LENGTH = 3000  # characters: no view sends a longer text than a painted mask (`limits.MAX_PAINTED_LENGTH`)
MAX_INTEGER = 2**53 - 1  # the largest integer that JavaScript represents exactly


def text(event: Mapping[str, Any], name: str, max_length: int = MAX_LENGTH) -> str | None:
    """Return a string of an event; None if it is no string, too long or not encodable."""
    value = event.get(name)
    if not isinstance(value, str) or len(value) > max_length:
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return value


def integer(event: Mapping[str, Any], name: str) -> int | None:
    """Return an integer of an event that JavaScript represents exactly; None for anything else, including booleans."""
    value = event.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if -MAX_INTEGER <= value <= MAX_INTEGER else None
