"""Pictures of texts too long to keep the maps of all layers.

A pass is computed in portions of layers. Thumbnails of all maps and some hidden states are cached; the map in focus is
computed again from these and sent in tiles.
"""

import threading
import time
from dataclasses import dataclass, field, replace
from typing import TypedDict
from urllib.parse import parse_qs

import torch
from cachetools import Cache, LRUCache
from torch import Tensor
from torch.nn import functional as F

from headlight.link import mask_codec
from headlight.link.cursor import Cursor
from headlight.link.limits import MAX_TOKENS
from headlight.picture import pictures, word_pairs
from headlight.picture.link_query import LinkQuery
from headlight.picture.pictures import Picture
from headlight.picture.settings import Settings
from headlight.queue.executor import QUEUE
from headlight.queue.policy import QueueFull
from headlight.queue.single_flight import peek, put, single_flight
from headlight.queue.slots import pass_slot, threads_for
from headlight.registry import models
from headlight.ui.packing import THUMBNAIL, thumbnails
from mha_core import Model, Run
from mha_core.errors import HeadlightError
from mha_core.heads.word_pairs import WordPair
from mha_core.heads.word_pairs import word_pairs as find_pairs
from mha_core.measure import measures
from mha_core.models.layer_pass import LayerPass, is_single_stack
from mha_core.models.run import Extras
from mha_core.pretrained import memory
from mha_core.show.packing import Maps, pack, pack_focus

TILE = 256  # rows and columns of a tile
STATE_STRIDE = 2  # every second hidden state is cached: half the bytes, and at most one layer more to compute for a map
LONG_BYTES = 324 * 2**20  # of states and thumbnails: four pictures of 2,048 tokens by SmolLM2 (80.8 MiB each)
HEAD_BYTES = 64 * 2**20  # of single maps
PORTION = 30_000_000  # weights for each answer, during which tiles wait: three layers of SmolLM2 at 1,024 tokens
IDLE_SECONDS = 30.0  # seconds without a request after which an unfinished pass may be evicted

VisibleMap = tuple[int, int | None]  # layer, and head or None for the mean of the layer's heads


class LongMaps(Maps):
    """The header of thumbnails, layer by layer; no map is sent at full size."""

    first: int  # the first layer in this message
    done: int  # the number of layers up to the last one in this message


class Tile(TypedDict):
    """The header of a tile of the map in focus; its weights follow, with NaN for masked cells."""

    row: int  # of its first cell
    column: int
    step: int  # each value is the maximum of step × step cells
    rows: int  # of values
    columns: int


@dataclass
class LongPicture:
    """A forward pass that is running or complete."""

    settings: Settings
    model: Model
    layers: LayerPass  # the pass, computed layer by layer
    # for each computed layer the thumbnails of its maps, uint8 (h, i, j)
    small: list[Tensor] = field(default_factory=list)
    logits: Tensor | None = None  # as in `Run`, once the pass is complete
    seconds: float = 0.0  # the duration of the pass so far
    worst_row_sum: float = 1.0  # the row sum farthest from 1 so far
    last_request: float = 0.0  # the time of the last request for it
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def done(self) -> int:
        """The number of computed layers."""
        return len(self.small)

    @property
    def is_complete(self) -> bool:
        """Return whether all layers are computed."""
        return self.done == self.model.sizes.n_layers

    @property
    def nbytes(self) -> int:
        """The bytes that the complete pass will occupy, known from its beginning."""
        sizes = self.model.sizes
        states = len({*range(0, sizes.n_layers, STATE_STRIDE), sizes.n_layers}) + 1  # as of `LayerPass`
        state_bytes = len(self.layers.ids) * sizes.d_model * self.model.dtype.itemsize
        return states * state_bytes + models.count_heads(self.model) * THUMBNAIL**2

    def to_picture(self) -> Picture:
        """Return a picture without maps: `weights` is (layers, h, 0, 0), `hidden` (layers + 1, 0, d_model)."""
        layers, sizes = self.layers, self.model.sizes
        run = Run(
            tokens=layers.tokens,
            ids=layers.ids,
            weights=torch.empty(sizes.n_layers, sizes.n_heads, 0, 0),
            hidden=torch.empty(sizes.n_layers + 1, 0, sizes.d_model),
            sentence=torch.empty(0),
            steps=(),
            device=self.model.device,
            notices=layers.notices,
            logits=self.logits,
            ends=self.model.ends,
            extras=Extras(kv_heads=self.model.stack.block(0).attention.n_kv_heads),
        )
        threads = threads_for(len(layers.ids), models.count_heads(self.model))
        return Picture(self.settings, run, self.seconds, threads, self.worst_row_sum, self.model)


class PassCache(Cache[object, LongPicture]):
    """A cache of passes, bounded by bytes, that keeps those with a waiting client.

    If two clients evicted each other's passes, neither pass would ever be complete.
    """

    def popitem(self) -> tuple[object, LongPicture]:
        """Remove the pass with the oldest request.

        Raises:
            ValueError: all passes have waiting clients; the cache then stores nothing, as for too large an entry.
        """
        now = QUEUE.clock()
        idle = [key for key, run in self.items() if run.is_complete or run.last_request < now - IDLE_SECONDS]
        if self and not idle:
            raise ValueError("all passes have waiting clients")
        oldest = min(idle, key=lambda key: self[key].last_request, default=None)
        return oldest, self.pop(oldest)


def max_tokens(model: Model) -> int | None:
    """Return the limit on tokens for `LinkQuery.fitted_settings`; None if the model runs layer by layer."""
    return None if is_single_stack(model) else MAX_TOKENS


def is_long(settings: Settings) -> bool:
    """Check whether a sentence has too many tokens to keep all its maps."""
    model = pictures.model_for(settings)
    return is_single_stack(model) and len(model.tokenize(settings.text)[1]) > MAX_TOKENS


def get_or_start(settings: Settings) -> LongPicture:
    """Return the picture in its current state, and start its pass if necessary. Raises as `advance_to`."""
    picture = _start(settings)
    if peek(_start, settings) is not picture:
        raise QueueFull("too many long texts are being computed; try again later")
    picture.last_request = QUEUE.clock()
    return picture


@single_flight(PassCache(LONG_BYTES, lambda picture: picture.nbytes))
def _start(settings: Settings) -> LongPicture:
    model = pictures.model_for(settings)
    layers = LayerPass(model, settings.text, keep_every=STATE_STRIDE, **settings.switches(model))
    picture = LongPicture(settings, model, layers, last_request=QUEUE.clock())
    n, size = len(picture.layers.ids), model.dtype.itemsize
    # a layer holds up to three tensors of the size of its maps at once: scores, weights and a temporary
    needed = picture.nbytes + 3 * model.sizes.n_heads * n * n * size
    memory.require(needed, f"a text of {n:,} tokens", "shorten it")
    return picture


def next_stop(settings: Settings, done: int, layer: int) -> int:
    """Return the number of layers in the next answer: one portion more, at most up to the visible layer.

    Raises as `advance_to`.
    """
    picture = get_or_start(settings)
    n, sizes = len(picture.layers.ids), picture.model.sizes
    portion = max(1, PORTION // (sizes.n_heads * n * n))
    return min(done + portion, layer + 1 if done <= layer else sizes.n_layers, sizes.n_layers)


def advance_to(settings: Settings, n_layers: int, visible: VisibleMap | None = None) -> LongPicture:
    """Return the picture with at least so many layers, and cache the visible map on the way.

    Raises:
        HeadlightError: as `Model.run`, or there is not enough memory.
        QueueFull: the cache is full of passes with waiting clients.
        Cancelled: no client waits for the picture any more.
    """
    picture = get_or_start(settings)
    with picture.lock:
        while picture.done < min(n_layers, picture.model.sizes.n_layers):
            _advance(picture, visible)
    return picture


def _advance(picture: LongPicture, visible: VisibleMap | None) -> None:
    layers = picture.layers
    with pass_slot(len(layers.ids), models.count_heads(picture.model)):
        start = time.perf_counter()
        maps = layers.advance().cpu()
        if layers.done == picture.model.sizes.n_layers:
            logits = layers.logits()
            picture.logits = None if logits is None else logits.cpu()
        picture.seconds += time.perf_counter() - start
        if visible is not None and visible[0] == layers.done - 1:
            put(head_map, _select(maps, visible[1]), picture.settings, *visible)
        worst = measures.worst_row_sum(maps[None])
        picture.worst_row_sum = max(picture.worst_row_sum, worst, key=lambda value: abs(value - 1))
        picture.small.append((thumbnails(maps[None])[0] * 255).round_().to(torch.uint8))


@single_flight(LRUCache(HEAD_BYTES, lambda weights: weights.nbytes))
def head_map(settings: Settings, layer: int, head: int | None) -> Tensor:
    """Return the map (i, j) of a head or of the mean, computed from the cached state before its layer.

    Raises as `advance_to`.
    """
    picture = advance_to(settings, layer + 1)
    with pass_slot(len(picture.layers.ids), models.count_heads(picture.model)):
        return _select(picture.layers.maps(layer).cpu(), head)


@single_flight(LRUCache(64))
def layer_pairs(settings: Settings, layer: int) -> list[WordPair]:
    """Return the telling pairs of a layer, which is computed again. Raises as `advance_to`."""
    picture = advance_to(settings, layer + 1)
    with pass_slot(len(picture.layers.ids), models.count_heads(picture.model)):
        maps = picture.layers.maps(layer).cpu()
    pairs = find_pairs(maps[None], word_pairs.spans(picture.layers.tokens))
    for pair in pairs[:1]:
        put(head_map, maps[pair.head].clone(), settings, layer, pair.head)
    return [replace(pair, layer=layer) for pair in pairs]


def _select(maps: Tensor, head: int | None) -> Tensor:
    return maps.mean(0) if head is None else maps[head].clone()


def place(query: LinkQuery, settings: Settings) -> Cursor:
    """Return the cursor of a query: without one in its link the first telling pair of the default layer."""
    cursor = query.place(pictures.tokens(settings))
    return cursor if "at" in query.parsed.texts else word_pairs.follow(cursor, layer_pairs(settings, cursor.layer))


def visible_map(query: LinkQuery, cursor: Cursor) -> VisibleMap:
    """Return the map that a cursor focuses."""
    return cursor.layer, None if "mean" in query.look.switches else cursor.head


def pack_thumbnails(picture: LongPicture, first: int) -> bytes:
    """Pack the thumbnails of the computed layers from `first` on."""
    small, sizes = picture.small[first:], picture.model.sizes
    header: LongMaps = {
        "digest": picture.settings.digest, "tokens": picture.layers.tokens, "columns": None, "ends": picture.model.ends,
        "layers": sizes.n_layers, "heads": sizes.n_heads, "fullLayers": [], "thumbnail": len(picture.small[0][0]),
        "first": first, "done": first + len(small),
    }  # fmt: skip
    return pack(header, *(maps.numpy().tobytes() for maps in small))


def layers_done(raw: bytes) -> int:
    """Return the number of layers that the client already has.

    Raises:
        HeadlightError: the number is malformed.
    """
    return _number(_parameter(raw, "part") or "0")


def tile(raw: bytes) -> bytes:
    """Return a tile of the map in focus, named by the query's `tile`: row.column.step, in tokens."""
    query = LinkQuery(raw)
    (settings, _), cursor = query.fitted_settings(max_tokens=None), query.cursor
    row, column, step = (_number(part) for part in [*_parameter(raw, "tile").split("."), "", "", ""][:3])
    if not is_long(settings):
        raise HeadlightError("this text is not long enough for tiles")
    weights = head_map(settings, *visible_map(query, cursor))
    if not (0 <= row < len(weights) and 0 <= column < len(weights) and 0 < step <= len(weights)):
        raise HeadlightError(f"a tile starts within the map, which has {len(weights)} rows and columns")
    side = TILE * step
    cells = weights[row : row + side, column : column + side]
    if step == 1:
        allow = mask_codec.head_mask(settings.allowed_cells(query.model, len(weights)), cursor.head)
        cells = torch.where(allow[row : row + side, column : column + side], cells, torch.nan)
    else:
        cells = F.max_pool2d(cells[None], step, ceil_mode=True)[0]
    header: Tile = {
        "row": row, "column": column, "step": step, "rows": cells.shape[0], "columns": cells.shape[1],
    }  # fmt: skip
    return pack_focus(header, cells)


def _parameter(raw: bytes, key: str) -> str:
    return parse_qs(raw.decode("ascii")).get(key, [""])[0]


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        raise HeadlightError("layers and tiles are given by whole numbers of at most four digits")
    return int(text)
