"""Files of Side by side, from its link."""

from headlight.link.place import At
from headlight.picture import pictures
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.picture.words import encodings
from headlight.registry import MINILM
from headlight.ui.tables import Table

from . import beside
from .beside import Sides


def sides_of_link(raw: bytes) -> tuple[dict[str, Settings], At]:
    """The first of the pictures, and the place looked at. Raises a HeadlightError."""
    query = LinkQuery(raw)
    return {"run": next(iter(_sides(query).values()))}, query.at


def tables(raw: bytes) -> list[Table]:
    """The map of every picture, by its positions. Raises a HeadlightError."""
    query = LinkQuery(raw)
    layer, head = query.at.layer, None if query["mean"] else query.at.head
    found = []
    for name, settings in _sides(query).items():
        picture = pictures.picture(settings)
        found.append(Table(name, picture.run.tokens, picture.run.tokens, beside.map_of(picture, layer, head)))
    return found


def _sides(query: LinkQuery) -> Sides:
    usual = beside.TWICE if query.name == MINILM else query["s"]
    settings = Settings(dict(query.pairs).get("s", usual), model=query.name)
    others = beside.siblings(query.name)
    offered = [name for name, _ in encodings(query.model)]
    chosen, usual = ([name for name in names if name in offered] for names in (query["three"], beside.USUAL))
    return beside.of_task(settings, others) if query["kin"] and others else beside.under(settings, chosen or usual)
