"""Table of the files that a page can export: page -> kinds.

The page's module for exports has a function named after the kind, or `tables`, which are written as that kind. The
kinds of `OF_SETTINGS` need only the settings of each side and the cursor, which a page with one picture has from
its link and others return themselves.
"""

OF_SETTINGS = ("about", "ipynb")
FILES: dict[str, tuple[str, ...]] = {
    "explore": ("csv", "npz", "html", *OF_SETTINGS),
    "compare": ("csv", "npz", *OF_SETTINGS),
    "masks": ("csv", "npz", *OF_SETTINGS),
    "shapes": ("csv", "npz", *OF_SETTINGS),
    "positions": ("csv", "npz", *OF_SETTINGS),
    "by_hand": ("csv", "npz", *OF_SETTINGS),
    "implementations": OF_SETTINGS,
}
