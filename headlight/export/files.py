"""Which pages have routes for files to take along.

`files.py` of the page has a function of the kind's name, or `tables`, which are written as that kind. The kinds of
`OF_SETTINGS` are made of its `sides_of_link`, if not of the one picture of the link: the settings of each side by its
name, and the place.
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
