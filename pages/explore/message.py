"""What the map view is told of a picture, by the wire: the answer to a link."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypedDict

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.link.fields import SIDE_KEYS
from headlight.link.limits import MAX_TOKENS
from headlight.link.place import Cursor, DisplayOptions, parse_view
from headlight.picture import means, pictures, traces, words
from headlight.picture.link_query import LinkQuery, PictureAnswer, picture_payload
from headlight.picture.pictures import Picture, Pinned
from headlight.picture.settings import Settings
from headlight.picture.words import Figure
from headlight.queue.single_flight import single_flight
from headlight.registry import models, source_of
from headlight.ui import numbers
from headlight.ui.packing import pack_maps
from mha_core.errors import HeadlightError
from mha_core.measure import measures
from mha_core.show.cells import write_cells
from mha_core.show.packing import pack_focus, pack_parts

from . import given, goes_on, kinds, long_pictures, notes, pins, reading
from .given import HeardSound, SeenPatches
from .goes_on import GoesOn
from .kinds import Kind
from .long_pictures import LongPicture
from .reading import ReadMap

KEYS = ("s", *SIDE_KEYS, "model", "dev", "at", "look", "pin", "view", "temp", "dice", "word")  # of the link, its own
ALL_AT_FIRST = 32  # tokens of a picture that the first page holds whole


class ChangeEffect(TypedDict):
    """The largest change of a weight between two words in each layer, where it is largest, and that weight."""

    layers: list[float]
    at: tuple[int, int, int, int] | None
    moved: tuple[float, float]  # before and now


class EffectHere(ChangeEffect):
    here: float  # the largest change in the map in focus


class MapBefore(TypedDict):
    forbidden: list[str]
    distances: list[float]


class PinnedMap(TypedDict):
    tokens: list[str]
    columns: list[str] | None  # what they look at, where that is others than themselves
    ends: tuple[int, int]
    at: str
    label: str
    forbidden: list[str]


class OfMaps(TypedDict):
    """What is told of the maps."""

    forbidden: list[str]  # cells as text, one for all heads or one a head
    mean: str | None  # what is said of the mean over the heads, where the map is that
    reading: ReadMap | None  # what stands in it, where that is not every token
    values: list[float] | None  # how long each value of the head is; None where it was not asked for
    columns: str  # what is said of the columns that are taken out
    figures: list[Figure]
    status: str
    kinds: list[list[Kind]]  # of each head of a layer its name, and the number that made it so; of layers in sight
    effect: EffectHere | None  # of the changes
    before: MapBefore | None  # the map before them
    pinTail: str  # what the link says of this picture behind the head
    pin: PinnedMap | None
    done: int  # layers that are there; of all but long texts all
    tile: int  # cells of a piece, each way, of a map that does not come whole; the row in focus follows; 0 of others


class ExplorePicture(PictureAnswer, GoesOn, OfMaps):
    compared: str  # what is known of the comparison with transformers
    look: str  # how the map in focus is read, as in the link
    label: str
    origin: str
    places: Mapping[str, str]  # preset -> the head that shows it, as `at` of a link
    typed: str  # the sentence of the picture
    pieces: list[str]  # what must be explained of the tokens
    patches: SeenPatches | None  # of a picture
    heard: HeardSound | None  # of a sound
    kv: int  # key and value heads of a layer; query heads that follow each other share one


@dataclass(frozen=True)
class Request:
    """What is shown.

    Attributes:
        before: the picture without its changes, None while nothing is changed.
    """

    query: LinkQuery
    picture: Picture
    before: Picture | None
    at: Cursor
    pinned: tuple[Pinned, Cursor] | None
    notices: list[str]

    @property
    def look(self) -> DisplayOptions:
        return self.query.look

    @cached_property
    def heads(self) -> means.Heads | None:
        """Heads whose mean is shown, None for the head in focus."""
        return means.heads_of(self.look, self.at, *self.query.sizes)

    @cached_property
    def reading(self) -> reading.Reading | None:
        """Reading of the map in focus, None when it is shown unchanged."""
        return reading.reading_of(self.picture, self.look)

    def maps(self) -> bytes:
        return pictures.packed(self.picture, self.at.layer)

    def focus(self) -> bytes:
        surprised = "surprise" in self.look.switches
        told = goes_on.continuation(self.picture, self.before, self.query, is_long=False, surprised=surprised)
        header = _header(self.query, self.picture, self.at, self.notices, told, self._of_maps())
        shown = [self.picture] if self.before is None else [self.picture, self.before]
        pinned = [] if self.pinned is None else [self.pinned[0].weights]
        return pack_focus(header, *map(self._map, shown), *pinned)

    def _of_maps(self) -> OfMaps:
        picture, layers = self.picture, range(len(self.picture.run.weights))
        in_sight = layers if "all" in self.look.switches else [self.at.layer]
        of_tokens = means.map_of(picture.run.weights, self.at, self.heads)
        return {
            "forbidden": self._forbidden(picture),
            "mean": None if self.heads is None else notes.of_mean(picture, self.heads),
            "reading": None if self.reading is None else self.reading.in_words(of_tokens),
            "values": self._value_lengths(),
            "columns": notes.of_columns(picture),
            "figures": words.figures(picture),
            "status": words.status(picture, len(self.maps())),
            "kinds": [kinds.of_layer(picture, layer) if layer in in_sight else [] for layer in layers],
            **self._changes(),
            "pinTail": pins.pin_tail(picture.settings),
            "pin": self._pin(),
            "done": len(layers),
            "tile": 0,
        }

    def _value_lengths(self) -> list[float] | None:
        """Those of every key in the head in focus, (j,); None where they are not wanted, or nothing records them."""
        if "values" not in self.look.switches or "lengths" in self.picture.model.reasons:
            return None
        lengths: list[float] = traces.value_lengths(self.picture.settings, self.at.layer)[self.at.head].tolist()
        return lengths

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

    def _changes(self) -> "_Changes":
        did = effect(self.picture)
        if did is None or self.before is None:
            return {"effect": None, "before": None}
        now, before = self._map(self.picture), self._map(self.before)
        distances = measures.row_distances(before, now).tolist()
        return {
            "effect": {**did, "here": float((now - before).abs().max())},
            "before": {"forbidden": self._forbidden(self.before), "distances": distances},
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


class _Changes(TypedDict):
    effect: EffectHere | None
    before: MapBefore | None


@single_flight(LRUCache(64), lambda picture: picture.settings)
def effect(picture: Picture) -> ChangeEffect | None:
    """What a picture's changes did; None while nothing is changed.

    The model's own tokens do not count where there are two words: most heads put what they have no use for there.

    Raises what `pictures.picture` raises.
    """
    settings = picture.settings
    if settings == settings.baseline:
        return None
    before, tokens = pictures.picture(settings.baseline).run.weights, picture.run.tokens
    words, after = kinds.words_of(len(tokens), picture.run.ends), picture.run.weights
    counted = torch.ones(after.shape[2:], dtype=before.dtype)
    if words.sum() > 1 and picture.run.columns is None:
        counted = (words[:, None] & words).to(before.dtype)
    largest = [float(_change(after[layer], before[layer], counted).max()) for layer in range(len(after))]
    layer = max(range(len(largest)), key=largest.__getitem__)
    if largest[layer] == 0:
        return {"layers": largest, "at": None, "moved": (0.0, 0.0)}
    # of this layer once more: to keep the changes of all takes as long as to compute them
    head, rest = divmod(int(_change(after[layer], before[layer], counted).argmax()), counted.numel())
    row, key = divmod(rest, counted.shape[1])
    moved = float(before[layer, head, row, key]), float(after[layer, head, row, key])
    return {"layers": largest, "at": (layer, head, row, key), "moved": moved}


def _change(after: Tensor, before: Tensor, counted: Tensor) -> Tensor:
    """Return the change of each weight (h, i, j) of a layer; 0 where `counted` (i, j) is 0."""
    return (after - before).abs_().mul_(counted)


def _header(
    query: LinkQuery, picture: Picture, at: Cursor, notices: list[str], continued: GoesOn, of_maps: OfMaps
) -> ExplorePicture:
    settings = picture.settings
    return {
        **picture_payload(query, KEYS, at, settings.digest, notices, s=settings.text),
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
    """The answer to a query: state and maps in focus, then all maps; of a long text as `_long`.

    Raises a HeadlightError.
    """
    return _answered(raw, with_maps=True)


def focus(raw: bytes) -> bytes:
    """The answer to a query that asks for another head of the same picture. Raises a HeadlightError."""
    return _answered(raw, with_maps=False)


def _answered(raw: bytes, *, with_maps: bool) -> bytes:
    query = LinkQuery(raw)
    settings, left_out = query.fitted_settings(most=long_pictures.most_tokens(query.model))
    if long_pictures.is_long(settings):
        return _long(query, settings, left_out, long_pictures.done(raw), with_maps=with_maps)
    shown = _request(query, settings, left_out)
    return pack_parts(shown.focus(), *([shown.maps()] if with_maps else []))


def first(raw: bytes) -> bytes:
    """What a page begins with, kept small: of longer sentences the layer in sight. Raises a HeadlightError."""
    query = LinkQuery(raw)
    settings, left_out = query.fitted_settings()
    pictures.fits_at_first(settings)
    if not settings.text.strip():
        raise HeadlightError("an empty box keeps the previous picture")
    shown = _request(query, settings, left_out)
    run, digest = shown.picture.run, settings.digest
    if len(run.tokens) <= ALL_AT_FIRST:
        return pack_parts(shown.focus(), shown.maps())
    layer = pack_maps(run.weights, run.tokens, digest, shown.at.layer, run.ends, run.columns, alone=True)
    return pack_parts(shown.focus(), layer)


def _request(query: LinkQuery, settings: Settings, left_out: list[str]) -> Request:
    untouched, picture = pictures.compute_pair(settings.baseline, settings)
    before = untouched if settings != settings.baseline else None
    at = kinds.first_row(query.place(picture.run.tokens, picture.run.columns), query.at, untouched)
    pinned = pins.pinned(query["pin"], settings.device) if query["pin"] else None
    if query["pin"] and pinned is None:
        query.ignore("pin")
    if query["view"] and not parse_view(query["view"])[0]:
        query.ignore("view")
    of_runs = dict.fromkeys(said for one in (picture, before) if one for said in one.run.notices)
    notices = [*left_out, *of_runs, *models.unknown(picture.model, settings.text)]
    return Request(query, picture, before, at, pinned, notices)


def _long(query: LinkQuery, settings: Settings, left_out: list[str], done: int, *, with_maps: bool) -> bytes:
    """The answer to a query whose text is long and of which so many layers are there: the thumbnails that come next,
    and before them state and row in focus once the layer in sight is there, nothing until then.
    """
    layer, sight = query.at.layer, long_pictures.sight_of(query)
    there = long_pictures.begun(settings).done  # fewer, where it had to make room for others
    done, with_maps = min(done, there), with_maps or there <= layer
    wanted = long_pictures.next_stop(settings, done, layer) if with_maps else layer + 1
    reached = long_pictures.advanced(settings, wanted, sight)
    maps = [long_pictures.packed(reached, done)] if with_maps else []
    if layer >= reached.done:
        return pack_parts(b"", *maps)
    picture = reached.shown()
    run, at = picture.run, query.place(picture.run.tokens)
    unknown, said = models.unknown(reached.model, settings.text), _of_long(len(run.tokens))
    continued = goes_on.continuation(picture, None, query, is_long=True, surprised=False)
    of_maps = _of_long_maps(reached, is_mean=sight[1] is None)
    header = _header(query, picture, at, [*left_out, *run.notices, said, *unknown], continued, of_maps)
    return pack_parts(pack_focus(header, long_pictures.head_map(settings, *sight)[at.row or 0]), *maps)


def _of_long_maps(picture: LongPicture, *, is_mean: bool) -> OfMaps:
    n, sizes = len(picture.layers.ids), picture.model.sizes
    far = "" if picture.is_whole else f"{picture.done} of {sizes.n_layers} layers "
    took = f"{picture.model.device} · {far}computed in {picture.seconds:.1f} s, one layer at a time"
    sent = sum(one.nbytes for one in picture.small) / 1e6
    which = "all maps" if picture.is_whole else f"the maps of the first {numbers.count(picture.done, 'layer')}"
    label = f"row sum farthest from 1, over all rows of {which}"
    return {
        "forbidden": [""], "mean": "" if is_mean else None, "reading": None, "values": None, "columns": "",
        "figures": [{"value": f"{picture.worst_row_sum:.6f}", "label": label}],
        "status": f"{took} · {sent:.1f} MB of thumbnails · {n:,} of at most {sizes.max_len:,} tokens",
        "kinds": [[] for _ in range(sizes.n_layers)], "effect": None, "before": None, "pinTail": "",
        "pin": None, "done": picture.done, "tile": long_pictures.TILE,
    }  # fmt: skip


def _of_long(n: int) -> str:
    """Say what is left out for a long text."""
    return (
        f"A long text of {numbers.count(n, 'token')} is shown one map at a time. Zoomed out, each pixel is the largest "
        f"weight of its block; zoom in for exact weights. Comparison with the unchanged model, kinds of heads, pins, "
        f"merged words, value norms, means over several layers and other views need at most {MAX_TOKENS} tokens."
    )


def compared(raw: bytes) -> bytes:
    """What the comparison of the sentence with transformers says, in the untouched model. Raises a HeadlightError."""
    settings, _ = LinkQuery(raw).fitted_settings()
    return words.compared(pictures.difference_to_transformers(settings, ask=True)).encode()
