"""Files of Explore's picture: what the link says, computed as one picture."""

from cachetools import LRUCache

from headlight.export.take_along import of_link
from headlight.link.place import Cursor, parse_view
from headlight.picture import means, pictures, words
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.queue.single_flight import single_flight
from headlight.registry import models, source_of
from headlight.ui import numbers
from headlight.ui.tables import Table, npz_of
from mha_core.show import standalone
from mha_core.show.html import check_size

from . import heads_overview, kinds, long_pictures, reading

KEPT_BYTES = 8 * 2**20  # of pages that were made last


def tables(raw: bytes) -> list[Table]:
    """The map in focus, of a long text its row, and where they are shown the measures of all heads.

    Raises a HeadlightError.
    """
    query = LinkQuery(raw)
    settings, _ = query.fitted_settings(most=long_pictures.most_tokens(query.model))
    if long_pictures.is_long(settings):
        return [_row(query, settings)]
    name, state = parse_view(query["view"])
    measures = [heads_overview.table(settings, state)] if name == "heads" else []
    return [_map(query, settings), *measures]


def _row(query: LinkQuery, settings: Settings) -> Table:
    """The row in focus of a long text, as a table of one row."""
    tokens, _ = query.model.tokenize(settings.text)
    at = query.place(tokens)
    _, head = sight = long_pictures.sight_of(query)
    row = at.row or 0
    values = long_pictures.head_map(settings, *sight)[row : row + 1]
    name = f"layer {at.layer} {'mean of the heads' if head is None else f'head {head}'}"
    return Table(f"{name}, row {row}: query / key", [tokens[row]], tokens, values)


def _map(query: LinkQuery, settings: Settings) -> Table:
    """The map in focus as it stands on the page: a head's or a mean, of tokens or words."""
    picture, at, look = pictures.picture(settings), query.at, query.look
    weights, rows, columns = picture.run.weights, picture.run.tokens, picture.run.columns
    heads, read = means.heads_of(look, at, *query.sizes), reading.reading_of(picture, look)
    name = f"layer {at.layer} head {at.head}" if heads is None else f"mean of {numbers.count(len(heads), 'head')}"
    values = means.map_of(weights, at, heads)
    if read is not None:
        told = read.in_words(values)
        rows, columns, values = told["rows"] or rows, told["columns"] or columns, read.of(values)
        name += ", rows rescaled to 1 without the hidden tokens" if any(read.hidden) else ""
    return Table(f"{name}: query / key", rows, columns or rows, values)


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


@single_flight(LRUCache(KEPT_BYTES, len))
def _page(settings: Settings, at: Cursor) -> bytes:
    """The page, kept: whoever asks again for the same has nothing packed anew."""
    picture = pictures.picture(settings)
    place = at.on(picture.run.tokens, goes_on=source_of(settings.model).is_generative)
    at = kinds.first_row(place, at, pictures.picture(settings.baseline))
    title, changed = f"{settings.text} · {source_of(settings.model).title}", words.label(settings, picture.model)
    page = standalone(picture.run, layer=at.layer, head=at.head, row=at.row or 0, title=title, changed=changed)
    return page.encode("utf-8", "replace")
