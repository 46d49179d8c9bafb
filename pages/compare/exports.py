"""The tables that Compare exports."""

from headlight.link.cursor import Cursor
from headlight.picture import pictures
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.ui.tables import Table, map_table

from . import multiple_maps, right_side
from .suggestions import DEFAULT_CURSOR


def sides_from_link(raw: bytes) -> tuple[dict[str, Settings], Cursor]:
    """Return the settings of both sides, and the cursor."""
    sides, (cursor, _) = _sides(raw)
    return sides, cursor


def _sides(raw: bytes) -> tuple[dict[str, Settings], tuple[Cursor, Cursor]]:
    query = LinkQuery(raw, minilm_cursor=DEFAULT_CURSOR)
    left, _ = query.fitted_settings()
    right = right_side.from_query(query, left)
    return {"left": left, "right": right.settings}, (query.cursor, right.cursor or query.cursor)


def tables(raw: bytes) -> list[Table]:
    """Return the map in focus of both sides, then the further maps of the link if it has any."""
    sides, cursors = _sides(raw)
    maps = [
        map_table(name, pictures.picture(settings).run, cursor.layer, cursor.head)
        for (name, settings), cursor in zip(sides.items(), cursors, strict=True)
    ]
    return maps + multiple_maps.tables(LinkQuery(raw, minilm_cursor=DEFAULT_CURSOR))
