"""Files of Masks' picture: the map in focus under the mask and without it."""

from __future__ import annotations

from pages.kit.draw.tables import Table, csv_of_tables, npz_of_tables
from pages.kit.picture import pictures
from pages.kit.picture.asked import Asked
from pages.kit.picture.place import At
from pages.kit.picture.settings import Settings

from .message import before


def csv(raw: bytes) -> bytes:
    """Both maps, the masked one first. Raises a HeadlightError."""
    return csv_of_tables(_tables(raw))


def npz(raw: bytes) -> bytes:
    """Both maps as arrays. Raises a HeadlightError."""
    return npz_of_tables(_tables(raw))


def _tables(raw: bytes) -> list[Table]:
    query = Asked(raw)
    settings, _ = query.within()
    at = query.at
    runs = {"masked": pictures.picture(settings).run, "unmasked": pictures.picture(before(settings)).run}
    return [Table(name, run.tokens, run.tokens, run.weights[at.layer, at.head]) for name, run in runs.items()]


def shown(raw: bytes) -> tuple[dict[str, Settings], At]:
    """What is shown, by its side, and the place looked at. Raises a HeadlightError."""
    query = Asked(raw)
    return {"run": query.within()[0]}, query.at
