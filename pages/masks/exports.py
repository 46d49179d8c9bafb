"""Export tables of the Masks page."""

from headlight.export.share import sides_from_link
from headlight.picture import pictures
from headlight.ui.tables import Table, map_table

from .message import comparison_settings


def tables(raw: bytes) -> list[Table]:
    """Return the map in focus with and without the mask. Raises a HeadlightError."""
    sides, cursor = sides_from_link(raw)
    runs = {"masked": sides["run"], "unmasked": comparison_settings(sides["run"])}
    return [
        map_table(name, pictures.picture(settings).run, cursor.layer, cursor.head) for name, settings in runs.items()
    ]
