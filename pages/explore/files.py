"""Files of Explore's picture: what the link says, computed as one picture."""

from __future__ import annotations

from cachetools import LRUCache

from mha_core.show import standalone
from mha_core.show.html import check_size
from pages.kit.draw import tables
from pages.kit.picture import models, pictures, words
from pages.kit.picture.asked import Asked
from pages.kit.picture.pictures import Picture
from pages.kit.picture.place import At
from pages.kit.picture.settings import Settings
from pages.kit.picture.sharing import shared

KEPT_BYTES = 8 * 2**20  # of pages that were made last


def csv(raw: bytes) -> bytes:
    """The map in focus. Raises a HeadlightError."""
    picture, at = _picture(raw)
    return tables.csv_of(picture.run, at.layer, at.head)


def npz(raw: bytes) -> bytes:
    """All maps, hidden states and the sentence vector. Raises a HeadlightError."""
    return tables.npz_of(_picture(raw)[0].run)


def html(raw: bytes) -> bytes:
    """A page that shows the run without a server. Raises a HeadlightError."""
    settings, at = _asked(raw)
    model = pictures.model_of(settings)
    check_size(models.heads(model), len(pictures.tokens(settings)))  # before a pass whose maps no file holds
    return _page(settings, at)


@shared(LRUCache(KEPT_BYTES, len))
def _page(settings: Settings, at: At) -> bytes:
    """The page, kept: whoever asks again for the same has nothing packed anew."""
    picture = pictures.picture(settings)
    at = at.on(picture.run.tokens)
    title, changed = f"{settings.text} · {models.title(settings.model)}", words.label(settings, picture.model)
    page = standalone(picture.run, layer=at.layer, head=at.head, row=at.row or 0, title=title, changed=changed)
    return page.encode("utf-8", "replace")


def _asked(raw: bytes) -> tuple[Settings, At]:
    query = Asked(raw)
    return query.within()[0], query.at


def _picture(raw: bytes) -> tuple[Picture, At]:
    settings, at = _asked(raw)
    picture = pictures.picture(settings)
    return picture, at.on(picture.run.tokens)


def shown(raw: bytes) -> tuple[dict[str, Settings], At]:
    """What is shown, by its side, and the place looked at. Raises a HeadlightError."""
    settings, at = _asked(raw)
    return {"run": settings}, at
