"""Table of the files that a page can export: page -> kinds.

The page's module for exports has a function named after the kind, or `tables`, which are written as that kind. The
kinds of `SETTINGS_KINDS` need only the settings of each side and the cursor, which a page with one picture has from
its link and others return themselves.
"""

SETTINGS_KINDS = ("about", "ipynb")
FILES: dict[str, tuple[str, ...]] = {
    "explore": ("csv", "npz", "html", *SETTINGS_KINDS),
    **dict.fromkeys(("compare", "masks", "shapes", "positions", "by_hand"), ("csv", "npz", *SETTINGS_KINDS)),
    **dict.fromkeys(("model_map", "implementations"), SETTINGS_KINDS),
}
