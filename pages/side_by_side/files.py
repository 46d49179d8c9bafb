"""What Share tells of Side by side, from its link."""

from pages.kit.picture.asked import Asked
from pages.kit.picture.models import MINILM
from pages.kit.picture.place import At
from pages.kit.picture.settings import Settings

from . import beside


def shown(raw: bytes) -> tuple[dict[str, Settings], At]:
    """The first of the pictures, and the place looked at. Raises a HeadlightError."""
    query = Asked(raw)
    usual = beside.TWICE if query.name == MINILM else query["s"]
    settings = Settings(dict(query.pairs).get("s", usual), model=query.name)
    others = beside.siblings(query.name)
    sides = beside.of_task(settings, others) if query["kin"] and others else beside.under(settings, query["three"])
    return {"run": (sides or beside.under(settings, beside.USUAL))[0].settings}, query.at
