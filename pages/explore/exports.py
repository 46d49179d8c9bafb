"""The files that Maps exports: tables, NPZ and HTML of the picture of a link."""

from contextlib import suppress
from functools import partial

from cachetools import LRUCache

from headlight.link.cursor import Cursor, parse_view
from headlight.link.fields import SIDE_KEYS
from headlight.picture import pictures, selected_map, word_pairs, words
from headlight.picture.link_query import LinkQuery, to_param
from headlight.picture.settings import Settings
from headlight.queue.single_flight import single_flight
from headlight.registry import get_source, models
from headlight.registry.trained import Shipped
from headlight.ui import numbers
from headlight.ui.tables import Table, run_to_npz
from mha_core.errors import SizeError, Unsupported
from mha_core.show import standalone
from mha_core.show.html import LiveModel, check_size
from mha_core.show.model_file import pack_model

from . import heads_overview, long_pictures, map_transform

CACHE_BYTES = 8 * 2**20


def tables(raw: bytes) -> list[Table]:
    """Return the map in focus, or a long text's row, and the measures of all heads if they are displayed."""
    query = LinkQuery(raw)
    settings, _ = query.fitted_settings(max_tokens=long_pictures.max_tokens(query.model))
    if long_pictures.is_long(settings):
        return [_row(query, settings)]
    name, state = parse_view(query["view"])
    measures = [heads_overview.table(settings, state)] if name == "heads" else []
    return [focus_table(query, settings), *measures]


def _row(query: LinkQuery, settings: Settings) -> Table:
    """Return the row in focus of a long text as a table of one row."""
    tokens, _ = query.model.tokenize(settings.text)
    cursor = long_pictures.place(query, settings)
    _, head = visible = long_pictures.visible_map(query, cursor)
    row = cursor.row or 0
    values = long_pictures.head_map(settings, *visible)[row : row + 1]
    name = f"layer {cursor.layer} {'mean of the heads' if head is None else f'head {head}'}"
    return Table(f"{name}, row {row}: query / key", [tokens[row]], tokens, values)


def focus_table(query: LinkQuery, settings: Settings) -> Table:
    """Return the map in focus as displayed: of one head or a mean, by tokens or by words."""
    picture, cursor, options = pictures.picture(settings), _cursor(query, settings), query.look
    weights, rows, columns = picture.run.weights, picture.run.tokens, picture.run.key_tokens
    heads = selected_map.heads_to_average(options, cursor, *query.sizes)
    transform = map_transform.map_transform(picture, options)
    name = f"mean of {numbers.count(len(heads), 'head')}" if heads else f"layer {cursor.layer} head {cursor.head}"
    name += ", rows rescaled to 1 without the hidden tokens" if any(transform.hidden) else ""
    values = selected_map.focus_map(weights, cursor, heads)
    labels = transform.payload(values)
    rows, columns = labels["rows"] or rows, labels["columns"] or columns
    return Table(f"{name}: query / key", rows, columns or rows, transform.apply(values))


def sides_from_link(raw: bytes) -> tuple[dict[str, Settings], Cursor, dict[str, float]]:
    """Return the settings, the cursor and the options of sampling of a link."""
    query = LinkQuery(raw)
    settings, _ = query.fitted_settings()
    names = {"temp": "temperature", "topk": "top_k", "topp": "top_p", "dice": "seed"}
    sampling = {name: query[key] for key, name in names.items() if query[key] != query.default(key)}
    return {"run": settings}, _cursor(query, settings), sampling


def _cursor(query: LinkQuery, settings: Settings) -> Cursor:
    return word_pairs.place(query, pictures.picture(settings.baseline))


def npz(raw: bytes) -> bytes:
    """Return all maps, the hidden states and the sentence vector as NPZ."""
    return run_to_npz(pictures.picture(LinkQuery(raw).fitted_settings()[0]).run)


def html(raw: bytes) -> bytes:
    """Return a standalone HTML page of the run."""
    query = LinkQuery(raw)
    settings, _ = query.fitted_settings()
    model = pictures.model_for(settings)
    if model.group != "cross":
        check_size(models.count_heads(model), len(pictures.tokens(settings)))  # before the expensive pass
    return _page(settings, _cursor(query, settings), {key: to_param(query[key]) for key in SIDE_KEYS})


@single_flight(LRUCache(CACHE_BYTES, len), lambda settings, cursor, controls: (settings, cursor))
def _page(settings: Settings, cursor: Cursor, controls: dict[str, str | list[str]]) -> bytes:
    """Return the standalone page from the cache, or build it; of a small shipped model it computes in the browser."""
    picture, source = pictures.picture(settings), get_source(settings.model)
    title, changed = f"{settings.text} · {source.title}", words.label(settings, picture.model)
    page = partial(standalone, picture.run, layer=cursor.layer, head=cursor.head, row=cursor.row or 0)
    page = partial(page, title=title, changed=changed)
    if isinstance(source, Shipped):
        model, fixed = picture.model, dict(models.disabled_controls(picture.model))
        positions = words.encodings(model)
        live = LiveModel(text=settings.text, controls=controls, positions=positions, group=model.group, fixed=fixed)
        with suppress(SizeError, Unsupported):  # then the file shows the picture alone
            return page(live=live, model=pack_model(model, settings.model, source.title)).encode("utf-8", "replace")
    return page().encode("utf-8", "replace")
