"""Files of Compare's pair: the map in focus of both sides."""

from __future__ import annotations

from pages.kit.draw.tables import Table, csv_of_tables, npz_of_tables
from pages.kit.picture import pictures
from pages.kit.picture.asked import Asked
from pages.kit.picture.place import At
from pages.kit.picture.settings import Settings

from .tries import FIRST_AT


def csv(raw: bytes) -> bytes:
    """Both maps, the left one first. Raises a HeadlightError."""
    return csv_of_tables(_tables(raw))


def npz(raw: bytes) -> bytes:
    """Both maps as arrays. Raises a HeadlightError."""
    return npz_of_tables(_tables(raw))


def shown(raw: bytes) -> tuple[dict[str, Settings], At]:
    """Both sides, and the place looked at. Raises a HeadlightError."""
    query = Asked(raw, minilm_at=FIRST_AT)
    left, _ = query.within()
    return {"left": left, "right": query.within("2", left.text)[0]}, query.at


def _tables(raw: bytes) -> list[Table]:
    sides, at = shown(raw)
    runs = {name: pictures.picture(settings).run for name, settings in sides.items()}
    return [Table(name, run.tokens, run.tokens, run.weights[at.layer, at.head]) for name, run in runs.items()]
