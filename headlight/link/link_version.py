"""The version of the link format, `v=2` and so on; links of version 1 have no `v`.

A link of another version opens as far as it is understood, with a warning. When the meaning of a key must change,
increase `CURRENT`, write it into links, and convert the keys of older versions where links are parsed;
tests/pages/test_old_links.py has links of each earlier version.
"""

from headlight.ui.numbers import cut

KEY = "v"
CURRENT = 1
MAX_LENGTH = 20  # characters of a version in the warning


def version_warning(values: list[str]) -> str:
    """Return the warning for the values of a link's `v`; "" for a link of this version."""
    if values in ([], [str(CURRENT)]):
        return ""
    number = int(values[0]) if len(values) == 1 and values[0].isdecimal() and len(values[0]) < MAX_LENGTH else 0
    if number > CURRENT:
        return (
            f"This link is of version {number}, newer than version {CURRENT}, which this Headlight reads: "
            f"unknown parts of it are ignored."
        )
    text = cut(", ".join(values), MAX_LENGTH)
    return f"The link says {KEY}={text}, which is not a version of links; it is read as version {CURRENT}."
