"""Files of Explore's picture: what the link says, computed as one picture."""

from __future__ import annotations

from mha_core.show import standalone
from pages.kit.draw import tables
from pages.kit.picture import fitting, models, pictures
from pages.kit.picture.pictures import Picture
from pages.kit.picture.place import At
from pages.kit.picture.query import Query


def csv(raw: bytes) -> bytes:
    """The map in focus. Raises a HeadlightError."""
    picture, at = _picture(raw)
    return tables.csv_of(picture.run, at.layer, at.head)


def npz(raw: bytes) -> bytes:
    """All maps, hidden states and the sentence vector. Raises a HeadlightError."""
    return tables.npz_of(_picture(raw)[0].run)


def html(raw: bytes) -> bytes:
    """A page that shows the run without a server. Raises a HeadlightError."""
    picture, at = _picture(raw)
    model, text = models.title(picture.settings.model), picture.settings.text
    page = standalone(picture.run, layer=at.layer, head=at.head, row=at.row or 0, title=f"{text} · {model}")
    return page.encode("utf-8", "replace")


def _picture(raw: bytes) -> tuple[Picture, At]:
    query = Query(raw)
    settings, _ = fitting.within(query.settings())
    picture = pictures.picture(settings)
    return picture, query.at.on(picture.run.tokens)
