"""What the map view is told of a picture, by the wire: the answer to a link."""

from dataclasses import dataclass

from torch import Tensor

from headlight.link.fields import SIDE
from headlight.link.place import At, Look, parse_view
from headlight.picture import fitting, means, pictures, recorded, words
from headlight.picture.link_query import LinkQuery, answer_of
from headlight.picture.pictures import Picture, Pinned
from headlight.picture.settings import Settings
from headlight.registry import models, source_of
from headlight.ui.packing import pack_maps
from mha_core.errors import HeadlightError
from mha_core.measure import measures
from mha_core.show.cells import write_cells
from mha_core.show.packing import pack_focus, pack_parts

from . import (
    first_row,
    given,
    goes_on,
    heads_overview,
    kinds,
    layer_flow,
    long_message,
    long_pictures,
    notes,
    pair_channels,
    pins,
    reading,
)
from .effect import ChangeEffect, effect
from .goes_on import GoesOn
from .kinds import Kind
from .long_message import tile
from .picture_fields import EffectHere, ExplorePicture, MapBefore, OfMaps, PinnedMap
from .reading import Reading

__all__ = ["compared", "first", "focus", "maps", "part", "tile"]

KEYS = ("s", *SIDE, "model", "dev", "at", "look", "pin", "view", "temp", "dice", "word")  # of the link, its own
ALL_AT_FIRST = 32  # tokens of a picture that the first page holds whole


@dataclass(frozen=True)
class Request:
    """What is shown.

    Attributes:
        effect: what its changes did, None while nothing is changed.
        before: the picture without them, None while nothing is changed.
        look: how the maps are drawn.
        heads: whose mean is looked at, None of the head in focus.
        reading: how the map in focus is read, None = as it is.
    """

    query: LinkQuery
    picture: Picture
    at: At
    pinned: tuple[Pinned, At] | None
    notices: list[str]
    effect: ChangeEffect | None
    before: Picture | None
    goes_on: GoesOn
    look: Look
    heads: means.Heads | None
    reading: Reading | None

    def maps(self) -> bytes:
        return pictures.packed(self.picture, self.at.layer)

    def focus(self) -> bytes:
        shown = [self.picture] if self.before is None else [self.picture, self.before]
        pinned = [] if self.pinned is None else [self.pinned[0].weights]
        header = _header(self.query, self.picture, self.at, self.notices, self.goes_on, self._of_maps())
        return pack_focus(header, *map(self._map, shown), *pinned)

    def _of_maps(self) -> OfMaps:
        picture, settings = self.picture, self.picture.settings
        of_tokens = means.map_of(picture.run.weights, self.at, self.heads)
        return {
            "forbidden": self._forbidden(picture),
            "mean": None if self.heads is None else notes.of_mean(picture, self.heads),
            "reading": None if self.reading is None else self.reading.in_words(of_tokens),
            "values": self._value_lengths(),
            "columns": notes.of_columns(picture),
            "figures": words.figures(picture),
            "status": words.status(picture, len(self.maps())),
            "kinds": self._kinds(),
            "effect": self._effect(),
            "before": self._before(),
            "pinTail": pins.pin_tail(settings),
            "pin": self._pin(),
            "done": len(picture.run.weights),
            "tile": 0,
        }

    def _value_lengths(self) -> list[float] | None:
        """Those of every key in the head in focus, (j,); None where they are not wanted, or nothing records them."""
        if "values" not in self.look.switches or "lengths" in self.picture.model.reasons:
            return None
        lengths: list[float] = recorded.value_lengths(self.picture.settings, self.at.layer)[self.at.head].tolist()
        return lengths

    def _kinds(self) -> list[list[Kind]]:
        layers = range(len(self.picture.run.weights))
        in_sight = layers if "all" in self.look.switches else [self.at.layer]
        return [kinds.of_layer(self.picture, layer) if layer in in_sight else [] for layer in layers]

    def _map(self, picture: Picture) -> Tensor:
        """The map (i, j) in focus as it is read."""
        weights = means.map_of(picture.run.weights, self.at, self.heads)
        return weights if self.reading is None else self.reading.of(weights)

    def _forbidden(self, picture: Picture) -> list[str]:
        n, keys = picture.run.weights.shape[2:]
        if self.heads is None and self.reading is None:
            return picture.settings.forbidden_cells(picture.model, n, keys)
        allow = means.allowed(picture.settings.allowed_cells(picture.model, n, keys), self.at.head, self.heads)
        return [write_cells(~(allow if self.reading is None else self.reading.allowed(allow)))]

    def _effect(self) -> EffectHere | None:
        if self.effect is None or self.before is None:
            return None
        change = self._map(self.picture) - self._map(self.before)
        return {**self.effect, "here": float(change.abs().max())}

    def _before(self) -> MapBefore | None:
        if self.before is None:
            return None
        now, before = self._map(self.picture), self._map(self.before)
        return {
            "forbidden": self._forbidden(self.before),
            "distances": measures.row_distances(before, now).tolist(),
        }

    def _pin(self) -> PinnedMap | None:
        if self.pinned is None:
            return None
        other, where = self.pinned
        own = other.settings.model
        whose = "" if own == self.picture.settings.model else f"; {source_of(own).title}"
        return {
            "tokens": other.tokens,
            "columns": other.columns,
            "ends": other.model.ends,
            "at": str(where),
            "label": words.label(other.settings, other.model) + whose,
            "forbidden": other.settings.forbidden_cells(other.model, *other.weights.shape),
        }


def _header(
    query: LinkQuery, picture: Picture, at: At, notices: list[str], continued: GoesOn, of_maps: OfMaps
) -> ExplorePicture:
    settings = picture.settings
    return {
        **answer_of(query, KEYS, at, settings.digest, notices, s=settings.text),
        "compared": words.compared(pictures.difference_to_transformers(settings, ask=False)),
        "look": str(query.look),
        "label": words.label(settings, picture.model),
        "origin": picture.model.origin,
        "places": source_of(settings.model).places,
        "typed": settings.text,
        "pieces": notes.of_tokens(picture),
        "patches": given.patches(picture.run),
        "heard": given.heard(picture),
        "kv": picture.run.extras.kv_heads,
        **continued,
        **of_maps,
    }


def maps(raw: bytes) -> bytes:
    """The answer to a query: state and maps in focus, then all maps; of a long text see `_long`.

    Raises a HeadlightError.
    """
    query, settings, left_out = _read(raw)
    if long_pictures.is_long(settings):
        return _long(query, settings, left_out, long_message.done(raw))
    shown = _request(query, settings, left_out)
    return pack_parts(shown.focus(), shown.maps())


def part(raw: bytes) -> bytes:
    """The same, of a long text one portion beyond the layers that `part` says are done. Raises a HeadlightError."""
    return maps(raw)


def first(raw: bytes) -> bytes:
    """What a page begins with, kept small: of longer sentences the layer in sight. Raises a HeadlightError."""
    query = LinkQuery(raw)
    settings, left_out = query.within()
    fitting.fits_at_first(pictures.tokens(settings))
    if not settings.text.strip():
        raise HeadlightError("an empty box keeps the picture before")
    shown = _request(query, settings, left_out)
    run, digest = shown.picture.run, settings.digest
    if len(run.tokens) <= ALL_AT_FIRST:
        return pack_parts(shown.focus(), shown.maps())
    layer = pack_maps(run.weights, run.tokens, digest, shown.at.layer, run.ends, run.columns, alone=True)
    return pack_parts(shown.focus(), layer)


def focus(raw: bytes) -> bytes:
    """The answer to a query that asks for another head of the same picture. Raises a HeadlightError."""
    query, settings, left_out = _read(raw)
    if long_pictures.is_long(settings):
        return _long(query, settings, left_out, long_message.done(raw), with_maps=False)
    return pack_parts(_request(query, settings, left_out).focus())


def _read(raw: bytes) -> tuple[LinkQuery, Settings, list[str]]:
    query = LinkQuery(raw)
    return query, *query.within(most=long_pictures.most_tokens(query.model))


def _long(query: LinkQuery, settings: Settings, left_out: list[str], done: int, *, with_maps: bool = True) -> bytes:
    """The answer to a query whose text is long and of which so many layers are there: the thumbnails that come next,
    and before them state and row in focus once the layer in sight is there, nothing until then.
    """
    is_mean = "mean" in query.look.switches
    layer = query.at.layer
    sight = layer, None if is_mean else query.at.head
    there = long_pictures.begun(settings).done  # fewer, where it had to make room for others
    done, with_maps = min(done, there), with_maps or there <= layer
    wanted = long_pictures.next_stop(settings, done, layer) if with_maps else layer + 1
    reached = long_pictures.advanced(settings, wanted, sight)
    maps = [long_message.packed(reached, done)] if with_maps else []
    if layer >= reached.done:
        return pack_parts(b"", *maps)
    picture = long_message.shown(reached)
    run, at = picture.run, query.place(picture.run.tokens)
    notices = [
        *left_out,
        *run.notices,
        long_message.notice(len(run.tokens)),
        *models.unknown(reached.model, settings.text),
    ]
    of_maps = long_message.of_maps(reached, is_mean=is_mean, sent=sum(one.nbytes for one in reached.small))
    header = _header(query, picture, at, notices, goes_on.continuation(picture, None, query, None), of_maps)
    row = long_pictures.head_map(settings, *sight)[at.row or 0]
    return pack_parts(pack_focus(header, row), *maps)


def compared(raw: bytes) -> bytes:
    """What the comparison of the sentence with transformers says, in the untouched model. Raises a HeadlightError."""
    settings, _ = LinkQuery(raw).within()
    return words.compared(pictures.difference_to_transformers(settings, ask=True)).encode()


def overview(raw: bytes) -> bytes:
    """All heads of the run of a query by every measure. Raises a HeadlightError."""
    query = LinkQuery(raw)
    return pack_parts(heads_overview.answer(query, parse_view(query["view"])[1]))


def sentences(raw: bytes) -> bytes:
    """Our text collection, a sentence a line; whatever the query says."""
    return heads_overview.SENTENCES.read_bytes()


def flow(raw: bytes) -> bytes:
    """Of which tokens the row of a query is made, layer by layer. Raises a HeadlightError."""
    query = LinkQuery(raw)
    return pack_parts(layer_flow.answer(query, parse_view(query["view"])[1]))


def channels(raw: bytes) -> bytes:
    """The score of the pair of a query, channel by channel. Raises a HeadlightError."""
    return pack_parts(pair_channels.answer(LinkQuery(raw)))


def seen(raw: bytes) -> bytes:
    """The picture of a query as its model sees it, a PNG file. Raises a HeadlightError."""
    return given.png(LinkQuery(raw))


def heard(raw: bytes) -> bytes:
    """The sound of a query as its model hears it, a WAV file. Raises a HeadlightError."""
    return given.wav(LinkQuery(raw))


def pinned_picture(text: str, device: str) -> tuple[Pinned, At] | None:
    """The pinned map and what is looked at in it, None when there is none or the link's cannot be used."""
    try:
        parsed = pins.parse_pin(text, device)
        if parsed is None:
            return None
        settings, at = parsed
        pinned = pictures.pinned(settings, at.layer, at.head)
    except HeadlightError:
        return None
    return pinned, at.on(pinned.tokens, pinned.columns, goes_on=source_of(settings.model).goes_on)


def _request(query: LinkQuery, settings: Settings, left_out: list[str]) -> Request:
    untouched, picture = pictures.both(settings.untouched, settings)
    before = untouched if settings != settings.untouched else None
    place = query.place(picture.run.tokens, picture.run.columns)
    at = first_row.on(place, query.at, untouched)
    pinned = pinned_picture(query["pin"], settings.device) if query["pin"] else None
    if query["pin"] and pinned is None:
        query.leave_out("pin")
    if query["view"] and not parse_view(query["view"])[0]:
        query.leave_out("view")
    of_runs = dict.fromkeys(said for one in (picture, before) if one for said in one.run.notices)
    notices = [*left_out, *of_runs, *models.unknown(picture.model, settings.text)]
    look = query.look
    heads = means.heads_of(look, at, *query.sizes)
    continued, read = goes_on.continuation(picture, before, query, look.switches), reading.reading_of(picture, look)
    return Request(query, picture, at, pinned, notices, effect(picture), before, continued, look, heads, read)
