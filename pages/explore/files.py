"""Files of Explore's picture: what the link says, computed as one picture."""

from __future__ import annotations

from mha_core.show import standalone
from mha_core.show.html import check_size
from pages.kit.draw import tables
from pages.kit.picture import fitting, models, pictures, words
from pages.kit.picture.pictures import Picture
from pages.kit.picture.place import At
from pages.kit.picture.query import Query
from pages.kit.picture.settings import Settings


def csv(raw: bytes) -> bytes:
    """The map in focus. Raises a HeadlightError."""
    picture, at = _picture(raw)
    return tables.csv_of(picture.run, at.layer, at.head)


def npz(raw: bytes) -> bytes:
    """All maps, hidden states and the sentence vector. Raises a HeadlightError."""
    return tables.npz_of(_picture(raw)[0].run)


def html(raw: bytes) -> bytes:
    """A page that shows the run without a server. Raises a HeadlightError."""
    settings, _ = _asked(raw)
    model = pictures.model_of(settings)
    check_size(models.heads(model), len(pictures.tokens(settings)))  # before a pass whose maps no file holds
    picture, at = _picture(raw)
    title, changed = f"{settings.text} · {models.title(settings.model)}", words.label(settings, model)
    page = standalone(picture.run, layer=at.layer, head=at.head, row=at.row or 0, title=title, changed=changed)
    return page.encode("utf-8", "replace")


def _asked(raw: bytes) -> tuple[Settings, At]:
    query = Query(raw)
    return fitting.within(query.settings())[0], query.at


def _picture(raw: bytes) -> tuple[Picture, At]:
    settings, at = _asked(raw)
    picture = pictures.picture(settings)
    return picture, at.on(picture.run.tokens)
