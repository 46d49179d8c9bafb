"""Files of Masks' picture."""

from pages.kit.draw.tables import Table, map_of
from pages.kit.picture import pictures
from pages.kit.picture.take_along import of_link

from .message import before


def tables(raw: bytes) -> list[Table]:
    """The map in focus under the mask, and without it. Raises a HeadlightError."""
    sides, at = of_link(raw)
    runs = {"masked": sides["run"], "unmasked": before(sides["run"])}
    return [map_of(name, pictures.picture(settings).run, at.layer, at.head) for name, settings in runs.items()]
