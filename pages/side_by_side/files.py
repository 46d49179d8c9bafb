"""What Share tells of Side by side, from its link."""

from pages.kit.picture.asked import Asked
from pages.kit.picture.models import MINILM
from pages.kit.picture.place import At
from pages.kit.picture.settings import Settings
from pages.kit.picture.words import encodings

from . import beside


def shown(raw: bytes) -> tuple[dict[str, Settings], At]:
    """The first of the pictures, and the place looked at. Raises a HeadlightError."""
    query = Asked(raw)
    usual = beside.TWICE if query.name == MINILM else query["s"]
    settings = Settings(dict(query.pairs).get("s", usual), model=query.name)
    others = beside.siblings(query.name)
    offered = [name for name, _ in encodings(query.model)]
    chosen, usual = ([name for name in names if name in offered] for names in (query["three"], beside.USUAL))
    sides = beside.of_task(settings, others) if query["kin"] and others else beside.under(settings, chosen or usual)
    return {"run": sides[0].settings}, query.at
