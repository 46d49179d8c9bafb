"""Files of Masks' picture."""

from headlight.export.take_along import of_link
from headlight.picture import pictures
from headlight.ui.tables import Table, map_of

from .message import before


def tables(raw: bytes) -> list[Table]:
    """The map in focus under the mask, and without it. Raises a HeadlightError."""
    sides, at = of_link(raw)
    runs = {"masked": sides["run"], "unmasked": before(sides["run"])}
    return [map_of(name, pictures.picture(settings).run, at.layer, at.head) for name, settings in runs.items()]
