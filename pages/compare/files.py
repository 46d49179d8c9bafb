"""Files of Compare's pair: the map in focus of both sides."""

from __future__ import annotations

from pages.kit.draw.tables import Table, csv_of_tables, npz_of_tables
from pages.kit.picture import pictures
from pages.kit.picture.asked import Asked

from .tries import FIRST_AT


def csv(raw: bytes) -> bytes:
    """Both maps, the left one first. Raises a HeadlightError."""
    return csv_of_tables(_tables(raw))


def npz(raw: bytes) -> bytes:
    """Both maps as arrays. Raises a HeadlightError."""
    return npz_of_tables(_tables(raw))


def _tables(raw: bytes) -> list[Table]:
    query = Asked(raw, minilm_at=FIRST_AT)
    left, _ = query.within()
    right, _ = query.within("2", left.text)
    at = query.at
    runs = {"left": pictures.picture(left).run, "right": pictures.picture(right).run}
    return [Table(name, run.tokens, run.tokens, run.weights[at.layer, at.head]) for name, run in runs.items()]
