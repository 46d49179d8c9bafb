"""Export tables of the Masks page."""

from headlight.export.take_along import of_link
from headlight.picture import pictures
from headlight.ui.tables import Table, map_of

from .message import comparison_settings


def tables(raw: bytes) -> list[Table]:
    """Return the map in focus with and without the mask. Raises a HeadlightError."""
    sides, cursor = of_link(raw)
    runs = {"masked": sides["run"], "unmasked": comparison_settings(sides["run"])}
    return [map_of(name, pictures.picture(settings).run, cursor.layer, cursor.head) for name, settings in runs.items()]
