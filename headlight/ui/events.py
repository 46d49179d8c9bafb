"""Readers of an event of a view or a sheet, whose values are the visitor's: anything of another kind is None.

No streamlit. A callback that raised would show its exception, and a value of the wrong kind in a control would break
the session for good.
"""

from collections.abc import Mapping
from typing import Any

MAX_LENGTH = 3000  # characters: no view sends a longer text than a painted mask (`limits.MAX_PAINTED_LENGTH`)
MAX_INTEGER = 2**53 - 1  # JavaScript tells larger whole numbers apart no more


def text(event: Mapping[str, Any], name: str, longest: int = MAX_LENGTH) -> str | None:
    """A text of an event; None for anything else, for a longer one than any view sends, and for half a character."""
    value = event.get(name)
    if not isinstance(value, str) or len(value) > longest:
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return value


def whole(event: Mapping[str, Any], name: str) -> int | None:
    """A whole number of an event, as far as JavaScript counts exactly; None for anything else, True among it."""
    value = event.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if -MAX_INTEGER <= value <= MAX_INTEGER else None
