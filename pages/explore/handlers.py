"""The request handlers of the map view: the answer to a link."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypedDict

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.link.cursor import Cursor, parse_view
from headlight.link.fields import SIDE_KEYS
from headlight.link.limits import MAX_TOKENS
from headlight.picture import pictures, selected_map, traces, word_pairs, words
from headlight.picture.link_query import LinkQuery, PictureAnswer, picture_payload
from headlight.picture.pictures import CachedMap, Picture
from headlight.picture.settings import Settings
from headlight.picture.word_pairs import TellingHead
from headlight.picture.words import Figure
from headlight.queue.single_flight import peek, run_heavy, single_flight
from headlight.registry import get_source, models
from headlight.ui import numbers
from headlight.ui.packing import pack_maps
from mha_core.errors import HeadlightError
from mha_core.measure import measures
from mha_core.show.cells import write_cells
from mha_core.show.packing import pack_focus, pack_parts

from . import head_kinds, language_model, long_pictures, map_transform, media, notes, pins
from .head_kinds import Kind
from .language_model import LanguageModelPart
from .long_pictures import LongPicture
from .map_transform import TransformedMap
from .media import PatchGrid, SoundWave

_SAMPLING = ("temp", "topk", "topp", "dice", "word")
KEYS = ("s", *SIDE_KEYS, "model", "dev", "at", "look", "pin", "view", *_SAMPLING)  # of the link
LONG_TEXT_NOTE = (
    "zoomed out, a pixel is the largest weight of its block; zoom in for exact weights.\n\nThe maps are shown one at a "
    "time. Comparison with the unchanged model, kinds of heads, pins, merged words, value norms, means over several "
    f"layers and other views need at most {MAX_TOKENS} tokens."
)
ALL_AT_FIRST = 32  # the most tokens whose maps the first page contains completely


class ChangeEffect(TypedDict):
    """The largest change of a weight between two words: in each layer, its cell, and its values before and after."""

    layers: list[float]
    cell: tuple[int, int, int, int] | None
    weights: tuple[float, float]  # of the cell: before and now


class FocusEffect(ChangeEffect):
    """The effect of the changes, with the largest change in the map in focus."""

    focusMaximum: float  # the largest change in the map in focus


class BaselineMap(TypedDict):
    """The map in focus before the changes."""

    forbidden: list[str]
    distances: list[float]


class PinnedMap(TypedDict):
    """A map that is pinned for comparison."""

    tokens: list[str]
    columns: list[str] | None  # the keys' tokens, if they differ from the queries'
    ends: tuple[int, int]
    cursor: str
    label: str
    forbidden: list[str]


class MapsPart(TypedDict):
    """The part of the answer on the maps."""

    forbidden: list[str]  # cells as text, one for all heads or one for each
    mean: str | None  # a sentence on the mean over heads, if the map is one
    reading: TransformedMap | None  # the rows and columns, if they are not the tokens
    values: list[float] | None  # the length of each value of the head; None if not requested
    columns: str  # a sentence on the hidden columns
    figures: list[Figure]
    status: str
    kinds: list[list[Kind]]  # of each head of the visible layers; empty for others
    effect: FocusEffect | None  # of the changes
    baseline: BaselineMap | None
    pinTail: str  # this picture in the link, after the cursor
    pin: PinnedMap | None
    done: int  # computed layers; fewer than all only for long texts
    telling: list[TellingHead]
    tile: int  # rows and columns of a tile if the map is sent in tiles and the row in focus follows; otherwise 0


class ExplorePicture(PictureAnswer, LanguageModelPart, MapsPart):
    """The header of the answer of Maps."""

    compared: str  # the comparison with transformers, if known
    look: str  # the display options, as in the link
    label: str
    origin: str
    sentence: str  # the sentence of the picture
    pieces: list[str]  # explanations of the tokens
    patches: PatchGrid | None  # of a picture
    sound: SoundWave | None  # of a sound
    kv: int  # key and value heads of a layer; consecutive query heads share one


@dataclass(frozen=True)
class PictureView:
    """The picture of a query with all that is displayed with it."""

    query: LinkQuery
    picture: Picture
    baseline: Picture | None  # the picture without the changes; None if nothing is changed
    cursor: Cursor
    pinned: tuple[CachedMap, Cursor] | None
    notices: list[str]

    @cached_property
    def heads(self) -> selected_map.Heads | None:
        """The heads whose mean is displayed; None for a single head."""
        return selected_map.heads_to_average(self.query.look, self.cursor, *self.query.sizes)

    @cached_property
    def transform(self) -> map_transform.MapTransform:
        """The transform of the map in focus."""
        return map_transform.map_transform(self.picture, self.query.look)

    def maps(self) -> bytes:
        """Return all maps, packed for the browser."""
        return pictures.packed_maps(self.picture, self.cursor.layer)

    def focus(self) -> bytes:
        """Return the header, then the map in focus, the same map before the changes, and the pinned map."""
        header = _header(self.query, self.picture, self.baseline, self.cursor, self.notices, self._maps_part())
        both_pictures = [self.picture] if self.baseline is None else [self.picture, self.baseline]
        pinned = [] if self.pinned is None else [self.pinned[0].weights]
        return pack_focus(header, *map(self._map, both_pictures), *pinned)

    def _maps_part(self) -> MapsPart:
        picture, layers = self.picture, range(len(self.picture.run.weights))
        pairs = word_pairs.telling_pairs(self.baseline or picture)
        visible_layers = layers if "all" in self.query.look.switches else [self.cursor.layer]
        weights = selected_map.focus_map(picture.run.weights, self.cursor, self.heads)
        change, baseline = self._changes()
        return {
            "forbidden": self._forbidden(picture),
            "mean": None if self.heads is None else notes.mean_note(picture, self.heads),
            "reading": None if self.transform.is_identity else self.transform.payload(weights),
            "values": self._value_lengths(),
            "columns": notes.column_note(picture),
            "figures": words.figures(picture),
            "status": words.status(picture, len(self.maps())),
            "kinds": [head_kinds.layer_kinds(picture, layer) if layer in visible_layers else [] for layer in layers],
            "effect": change,
            "baseline": baseline,
            "pinTail": pins.pin_tail(picture.settings),
            "pin": self._pin(),
            "done": len(layers),
            "telling": word_pairs.telling_heads(pairs, picture.run.tokens),
            "tile": 0,
        }

    def _value_lengths(self) -> list[float] | None:
        """Return the lengths of the values (j,) in the focused head; None if not requested or not recorded."""
        if "values" not in self.query.look.switches or "lengths" in self.picture.model.reasons:
            return None
        lengths: list[float] = traces.value_norms(self.picture.settings, self.cursor.layer)[self.cursor.head].tolist()
        return lengths

    def _map(self, picture: Picture) -> Tensor:
        """Return the map (i, j) in focus as displayed."""
        return self.transform.apply(selected_map.focus_map(picture.run.weights, self.cursor, self.heads))

    def _forbidden(self, picture: Picture) -> list[str]:
        n, keys = picture.run.weights.shape[2:]
        if self.heads is None and self.transform.is_identity:
            return picture.settings.forbidden_cells(picture.model, n, keys)
        allow = picture.settings.allowed_cells(picture.model, n, keys)
        focus = selected_map.focus_allow(allow, self.cursor.head, self.heads)
        return [write_cells(~self.transform.apply_to_mask(focus))]

    def _changes(self) -> tuple[FocusEffect, BaselineMap] | tuple[None, None]:
        change = effect(self.picture)
        if change is None or self.baseline is None:
            return None, None
        now, baseline = self._map(self.picture), self._map(self.baseline)
        distances = measures.row_distances(baseline, now).tolist()
        focus = FocusEffect(**change, focusMaximum=float((now - baseline).abs().max()))
        return focus, BaselineMap(forbidden=self._forbidden(self.baseline), distances=distances)

    def _pin(self) -> PinnedMap | None:
        if self.pinned is None:
            return None
        other, cursor = self.pinned
        model = other.settings.model
        suffix = "" if model == self.picture.settings.model else f"; {get_source(model).title}"
        return {
            "tokens": other.tokens,
            "columns": other.columns,
            "ends": other.model.ends,
            "cursor": str(cursor),
            "label": words.label(other.settings, other.model) + suffix,
            "forbidden": other.settings.forbidden_cells(other.model, *other.weights.shape),
        }


@single_flight(LRUCache(64), lambda picture: picture.settings)
def effect(picture: Picture) -> ChangeEffect | None:
    """Return the effect of a picture's changes; None if nothing is changed. Raises what `pictures.picture` raises.

    If there are at least two words, special tokens do not count, because most heads put their unused weight there.
    """
    settings = picture.settings
    if settings == settings.baseline:
        return None
    baseline, tokens = pictures.picture(settings.baseline).run.weights, picture.run.tokens
    is_word, current = head_kinds.word_mask(len(tokens), picture.run.ends), picture.run.weights
    mask = torch.ones(current.shape[2:], dtype=baseline.dtype)
    if is_word.sum() > 1 and picture.run.key_tokens is None:
        mask = (is_word[:, None] & is_word).to(baseline.dtype)
    maxima = [float(_change(current[layer], baseline[layer], mask).max()) for layer in range(len(current))]
    layer = max(range(len(maxima)), key=maxima.__getitem__)
    if maxima[layer] == 0:
        return {"layers": maxima, "cell": None, "weights": (0.0, 0.0)}
    # computed again for this layer: keeping the changes of all layers would take as long
    head, rest = divmod(int(_change(current[layer], baseline[layer], mask).argmax()), mask.numel())
    row, key = divmod(rest, mask.shape[1])
    weights = float(baseline[layer, head, row, key]), float(current[layer, head, row, key])
    return {"layers": maxima, "cell": (layer, head, row, key), "weights": weights}


def _change(current: Tensor, baseline: Tensor, mask: Tensor) -> Tensor:
    """Return the change of each weight (h, i, j) of a layer; 0 where `mask` (i, j) is 0."""
    return (current - baseline).abs_().mul_(mask)


def _header(
    query: LinkQuery,
    picture: Picture,
    baseline: Picture | None,
    cursor: Cursor,
    notices: list[str],
    maps_part: MapsPart,
) -> ExplorePicture:
    settings, telling = picture.settings, maps_part["telling"]
    difference = peek(pictures.difference_to_transformers, settings)
    payload = picture_payload(query, KEYS, cursor, settings.digest, notices, s=settings.text)
    head = get_source(settings.model).known_heads.get(settings.text, telling[0]["cursor"] if telling else "")
    payload["defaults"]["at"] = ".".join(head.split(".")[:2]) or payload["defaults"]["at"]
    return {
        **payload,
        "compared": "" if difference is None else numbers.scientific(difference),
        "look": str(query.look),
        "label": words.label(settings, picture.model),
        "origin": picture.model.origin,
        "sentence": settings.text,
        "pieces": notes.token_notes(picture),
        "patches": media.patches(picture.run),
        "sound": media.sound(picture),
        "kv": picture.run.extras.kv_heads,
        **language_model.payload(query, picture, baseline),
        **maps_part,
    }


def maps(raw: bytes, *, with_maps: bool = True) -> bytes:
    """Return the answer to a query: header and maps in focus, then all maps; for long texts see `_long`."""
    query = LinkQuery(raw)
    settings, fit_notices = query.fitted_settings(max_tokens=long_pictures.max_tokens(query.model))
    if long_pictures.is_long(settings):
        return _long(query, settings, fit_notices, long_pictures.layers_done(raw), with_maps=with_maps)
    view = _view(query, settings, fit_notices)
    return pack_parts(view.focus(), *([view.maps()] if with_maps else []))


focus = partial(maps, with_maps=False)  # for another head of the same picture


def first_message(raw: bytes) -> bytes:
    """Return the answer for the first page: as `maps`, for longer sentences with the visible layer alone."""
    query = LinkQuery(raw)
    settings, fit_notices = query.fitted_settings()
    pictures.check_prerender_size(settings)
    if not settings.text.strip():
        raise HeadlightError("an empty box keeps the previous picture")
    view = _view(query, settings, fit_notices)
    run, digest = view.picture.run, settings.digest
    if len(run.tokens) <= ALL_AT_FIRST:
        return pack_parts(view.focus(), view.maps())
    layer = pack_maps(run.weights, run.tokens, digest, view.cursor.layer, run.ends, run.key_tokens, single_layer=True)
    return pack_parts(view.focus(), layer)


def _view(query: LinkQuery, settings: Settings, fit_notices: list[str]) -> PictureView:
    unchanged, picture = pictures.compute_pair(settings.baseline, settings)
    baseline = unchanged if settings != settings.baseline else None
    cursor = word_pairs.place(query, unchanged)
    pinned = pins.pinned_map(query["pin"], settings.device) if query["pin"] else None
    if query["pin"] and pinned is None:
        query.ignore("pin")
    if query["view"] and not parse_view(query["view"])[0]:
        query.ignore("view")
    run_notices = dict.fromkeys(notice for side in (picture, baseline) if side for notice in side.run.notices)
    notices = [*fit_notices, *run_notices, *models.unknown_token_notices(picture.model, settings.text)]
    return PictureView(query, picture, baseline, cursor, pinned, notices)


def _long(query: LinkQuery, settings: Settings, fit_notices: list[str], done: int, *, with_maps: bool) -> bytes:
    """Return the answer for a long text of which the client has `done` layers.

    It contains the next thumbnails and, once the visible layer is computed, the header and the row in focus.
    """
    layer = query.cursor.layer
    computed = long_pictures.get_or_start(settings).done  # fewer than `done` if the pass was evicted
    done, with_maps = min(done, computed), with_maps or computed <= layer
    target = long_pictures.next_stop(settings, done, layer) if with_maps else layer + 1
    long_picture = long_pictures.advance_to(settings, target, long_pictures.visible_map(query, query.cursor))
    maps = [long_pictures.pack_thumbnails(long_picture, done)] if with_maps else []
    if layer >= long_picture.done:
        return pack_parts(b"", *maps)
    picture = long_picture.to_picture()
    run, cursor = picture.run, long_pictures.place(query, settings)
    visible = long_pictures.visible_map(query, cursor)
    unknown = models.unknown_token_notices(long_picture.model, settings.text)
    note = f"Long text of {numbers.count(len(run.tokens), 'token')}: {LONG_TEXT_NOTE}"
    telling = word_pairs.telling_heads(long_pictures.layer_pairs(settings, layer), run.tokens)
    maps_part = _long_maps_part(long_picture, telling, is_mean=visible[1] is None)
    header = _header(query, picture, None, cursor, [*fit_notices, *run.notices, note, *unknown], maps_part)
    return pack_parts(pack_focus(header, long_pictures.head_map(settings, *visible)[cursor.row or 0]), *maps)


def _long_maps_part(picture: LongPicture, telling: list[TellingHead], *, is_mean: bool) -> MapsPart:
    n, sizes = len(picture.layers.ids), picture.model.sizes
    progress = "" if picture.is_complete else f"{picture.done} of {sizes.n_layers} layers "
    timing = f"{picture.model.device} · {progress}computed in {picture.seconds:.1f} s, one layer at a time"
    sent = sum(small.nbytes for small in picture.small) / 1e6
    scope = "all maps" if picture.is_complete else f"the maps of the first {numbers.count(picture.done, 'layer')}"
    label = f"row sum farthest from 1, over all rows of {scope}"
    return {
        "forbidden": [""], "mean": "" if is_mean else None, "reading": None, "values": None, "columns": "",
        "figures": [{"value": f"{picture.worst_row_sum:.6f}", "label": label}],
        "status": f"{timing} · {sent:.1f} MB of thumbnails · {n:,} of at most {sizes.max_len:,} tokens",
        "kinds": [[] for _ in range(sizes.n_layers)], "effect": None, "baseline": None, "pinTail": "",
        "pin": None, "done": picture.done, "telling": telling, "tile": long_pictures.TILE,
    }  # fmt: skip


def comparison_text(raw: bytes) -> bytes:
    """Return a sentence that compares the unmodified model's maps with those of transformers."""
    settings, _ = LinkQuery(raw).fitted_settings()
    return numbers.scientific(run_heavy(pictures.difference_to_transformers, settings)).encode()
