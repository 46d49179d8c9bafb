"""Files of Compare's pair."""

from headlight.link.place import Cursor
from headlight.picture import pictures
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.ui.tables import Table, map_of

from . import right_side, several
from .tries import FIRST_AT


def sides_of_link(raw: bytes) -> tuple[dict[str, Settings], Cursor]:
    """Both sides, and the place looked at. Raises a HeadlightError."""
    sides, (at, _) = _sides(raw)
    return sides, at


def _sides(raw: bytes) -> tuple[dict[str, Settings], tuple[Cursor, Cursor]]:
    query = LinkQuery(raw, minilm_at=FIRST_AT)
    left, _ = query.fitted_settings()
    right = right_side.of(query, left)
    return {"left": left, "right": right.settings}, (query.at, right.at or query.at)


def tables(raw: bytes) -> list[Table]:
    """The map in focus of both sides, the left one first, and more than two where the link has them.

    Raises a HeadlightError.
    """
    sides, places = _sides(raw)
    of_both = [
        map_of(name, pictures.picture(settings).run, at.layer, at.head)
        for (name, settings), at in zip(sides.items(), places, strict=True)
    ]
    return of_both + several.tables(LinkQuery(raw, minilm_at=FIRST_AT))
