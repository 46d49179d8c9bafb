"""Which pages have routes for files to take along: `files.py` of the page has a function of each kind's name."""

from __future__ import annotations

FILES: dict[str, tuple[str, ...]] = {
    "explore": ("csv", "npz", "html"),
    "compare": ("csv", "npz"),
    "masks": ("csv", "npz"),
    "shapes": ("csv", "npz"),
}

# Routes for files that belong to no page: the package whose `files` has a function of the kind's name.
OTHERS = {"lesson.handout": "kit.lessons"}


def kinds(page: str) -> tuple[str, ...]:
    """The kinds of files that the server makes of a page; none of most, whose numbers the browser has already."""
    return FILES.get(page, ())
