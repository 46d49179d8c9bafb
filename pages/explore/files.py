"""Files of Explore's picture: what the link says, computed as one picture."""

from cachetools import LRUCache

from mha_core.show import standalone
from mha_core.show.html import check_size
from pages.kit.draw.tables import Table, map_of, npz_of
from pages.kit.picture import models, pictures, words
from pages.kit.picture.place import At
from pages.kit.picture.query import Query
from pages.kit.picture.settings import Settings
from pages.kit.picture.sharing import shared
from pages.kit.picture.take_along import of_link

from . import first_row, heads_overview
from .other_views import parse_view

KEPT_BYTES = 8 * 2**20  # of pages that were made last


def tables(raw: bytes) -> list[Table]:
    """The map in focus, and where they are shown the measures of all heads. Raises a HeadlightError."""
    sides, at = of_link(raw)
    run = pictures.picture(sides["run"]).run
    name, state = parse_view(Query(raw)["view"])
    measures = [heads_overview.table(sides["run"], state)] if name == "heads" else []
    return [map_of(f"layer {at.layer} head {at.head}: query / key", run, at.layer, at.head), *measures]


def npz(raw: bytes) -> bytes:
    """All maps, hidden states and the sentence vector. Raises a HeadlightError."""
    return npz_of(pictures.picture(of_link(raw)[0]["run"]).run)


def html(raw: bytes) -> bytes:
    """A page that shows the run without a server. Raises a HeadlightError."""
    sides, at = of_link(raw)
    settings = sides["run"]
    model = pictures.model_of(settings)
    if model.group != "cross":
        check_size(models.heads(model), len(pictures.tokens(settings)))  # before a pass whose maps no file holds
    return _page(settings, at)


@shared(LRUCache(KEPT_BYTES, len))
def _page(settings: Settings, at: At) -> bytes:
    """The page, kept: whoever asks again for the same has nothing packed anew."""
    picture = pictures.picture(settings)
    place = at.on(picture.run.tokens, goes_on=models.goes_on(settings.model))
    at = first_row.on(place, at, pictures.picture(settings.untouched))
    title, changed = f"{settings.text} · {models.title(settings.model)}", words.label(settings, picture.model)
    page = standalone(picture.run, layer=at.layer, head=at.head, row=at.row or 0, title=title, changed=changed)
    return page.encode("utf-8", "replace")
