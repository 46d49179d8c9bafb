"""The version of the link format: version 1 says nothing of itself, a later one says `v=2`, and so on.

A link of another version opens as far as it is understood, and one sentence says so. When the meaning of a key must
change, `CURRENT` grows, links say it, and `Query` turns the keys of the versions before into today's; the links of
each version that was are kept in tests/pages/test_old_links.py.
"""

from headlight.ui.numbers import cut

KEY = "v"
CURRENT = 1
MAX_LENGTH = 20  # characters of a version that are repeated


def in_words(said: list[str]) -> str:
    """What a link's `v` means here, given its values; "" where it is of this version."""
    if said in ([], [str(CURRENT)]):
        return ""
    number = int(said[0]) if len(said) == 1 and said[0].isdecimal() and len(said[0]) < MAX_LENGTH else 0
    if number > CURRENT:
        return (
            f"This link has version {number}, newer than version {CURRENT} of this Headlight; only the parts that it "
            "understands are used."
        )
    text = cut(", ".join(said), MAX_LENGTH)
    return f"The link has {KEY}={text}, which is not a link version; it is read as version {CURRENT}."
