"""Pictures of texts whose maps of all layers are not kept: one pass in portions, thumbnails of its maps, the maps of a
layer again, and pieces of the one in focus.
"""

import threading
import time
from dataclasses import dataclass, field
from typing import TypedDict
from urllib.parse import parse_qs

import torch
from cachetools import Cache, LRUCache
from torch import Tensor
from torch.nn import functional as F

from headlight.link import mask_codec
from headlight.link.limits import MAX_TOKENS
from headlight.picture import pictures
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
from mha_core.measure import measures
from mha_core.models.layer_pass import LayerPass, goes_by_layer
from mha_core.models.run import Extras
from mha_core.pretrained import memory
from mha_core.show.packing import Maps, pack, pack_focus

TILE = 256  # cells of a piece, each way
EVERY = 2  # of so many states one is kept: every other layer costs one more at first, a picture half the bytes
LONG_BYTES = 324 * 2**20  # of states and thumbnails: four pictures of 2,048 tokens by SmolLM2 (80.8 MiB each)
HEAD_BYTES = 64 * 2**20  # of single maps: one for each of these
PORTION = 30_000_000  # weights until the next answer, for which pieces wait: of SmolLM2 three layers of 1,024 tokens
GIVEN_UP = 30.0  # seconds in which nobody asks for a picture under way

Sight = tuple[int, int | None]  # layer and head of the map that is looked at; None = the mean of the layer's heads


class LongMaps(Maps):
    """The header of thumbnails of a layer after the other; none is whole."""

    first: int  # layer of which thumbnails follow
    done: int  # layers that are there with these


class Tile(TypedDict):
    """The header of a piece of the map in focus; its weights follow, NaN where nobody may look."""

    row: int  # where it begins
    column: int
    step: int  # cells each way of which one that follows is the largest
    rows: int  # that follow
    columns: int


@dataclass
class LongPicture:
    """A pass under way, or at its end.

    Attributes:
        settings: what was asked.
        layers: the pass, by layers.
        small: of each layer that is done its maps as thumbnails, uint8 (h, i, j).
        logits: as in `Run`, at its end.
        seconds: time of the pass so far.
        worst_row_sum: the row sum farthest from 1 so far.
        asked: when somebody last asked for it.
    """

    settings: Settings
    model: Model
    layers: LayerPass
    small: list[Tensor] = field(default_factory=list)
    logits: Tensor | None = None
    seconds: float = 0.0
    worst_row_sum: float = 1.0
    asked: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def done(self) -> int:
        """How many layers are there."""
        return len(self.small)

    @property
    def is_whole(self) -> bool:
        return self.done == self.model.sizes.n_layers

    @property
    def nbytes(self) -> int:
        """Of all that is kept of the whole pass, from its beginning on."""
        sizes = self.model.sizes
        states = len({*range(0, sizes.n_layers, EVERY), sizes.n_layers}) + 1  # as of `LayerPass`
        of_state = len(self.layers.ids) * sizes.d_model * self.model.dtype.itemsize
        return states * of_state + models.heads(self.model) * THUMBNAIL**2

    def shown(self) -> Picture:
        """What is known of the whole; `weights` is (layers, h, 0, 0), `hidden` (layers + 1, 0, d_model)."""
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
        threads = threads_for(len(layers.ids), models.heads(self.model))
        return Picture(self.settings, run, self.seconds, threads, self.worst_row_sum, self.model)


class Passes(Cache[object, LongPicture]):
    """Passes by bytes. One that somebody waits for is not pushed out: two that do it to each other would never end."""

    def popitem(self) -> tuple[object, LongPicture]:
        """The one that nobody asks for the longest. Where all are under way: ValueError, as of one too large."""
        now = QUEUE.clock()
        free = [key for key, one in self.items() if one.is_whole or one.asked < now - GIVEN_UP]
        if self and not free:
            raise ValueError("somebody waits for each of them")
        oldest = min(free, key=lambda key: self[key].asked, default=None)
        return oldest, self.pop(oldest)


def most_tokens(model: Model) -> int | None:
    """As `LinkQuery.within` takes it: what goes by layer is bound by its model alone."""
    return None if goes_by_layer(model) else MAX_TOKENS


def is_long(settings: Settings) -> bool:
    """Tells whether a sentence has more tokens than those whose maps are all kept."""
    model = pictures.model_of(settings)
    return goes_by_layer(model) and len(model.tokenize(settings.text)[1]) > MAX_TOKENS


def begun(settings: Settings) -> LongPicture:
    """The picture as far as it is. Raises as `advanced`."""
    picture = _begun(settings)
    if peek(_begun, settings) is not picture:
        raise QueueFull("other long texts are being computed; try again later")
    picture.asked = QUEUE.clock()
    return picture


@single_flight(Passes(LONG_BYTES, lambda picture: picture.nbytes))
def _begun(settings: Settings) -> LongPicture:
    model = pictures.model_of(settings)
    picture = LongPicture(settings, model, LayerPass(model, settings.text, every=EVERY, **settings.switches(model)))
    picture.asked = QUEUE.clock()
    n, size = len(picture.layers.ids), model.dtype.itemsize
    # three of a layer's maps are there at once: the scores, the weights, and what is made of them
    needed = picture.nbytes + 3 * model.sizes.n_heads * n * n * size
    memory.require(needed, f"a text of {n:,} tokens", "shorten it")
    return picture


def next_stop(settings: Settings, done: int, layer: int) -> int:
    """How many layers the answer is of that follows the one of so many: a portion more, to the layer in sight at most.

    Raises as `advanced`.
    """
    picture = begun(settings)
    n, sizes = len(picture.layers.ids), picture.model.sizes
    portion = max(1, PORTION // (sizes.n_heads * n * n))
    return min(done + portion, layer + 1 if done <= layer else sizes.n_layers, sizes.n_layers)


def advanced(settings: Settings, wanted: int, sight: Sight | None = None) -> LongPicture:
    """The picture with so many layers, or more; `sight`: as of `Sight`, is kept on the way.

    Raises:
        HeadlightError: as `Model.run`, and where there is not the memory for it.
        QueueFull: there is no room beside the texts that others wait for.
        Cancelled: no client waits for it any more.
    """
    picture = begun(settings)
    with picture.lock:
        while picture.done < min(wanted, picture.model.sizes.n_layers):
            _advance(picture, sight)
    return picture


def _advance(picture: LongPicture, sight: Sight | None) -> None:
    layers = picture.layers
    with pass_slot(len(layers.ids), models.heads(picture.model)):
        start = time.perf_counter()
        maps = layers.advance().cpu()
        if layers.done == picture.model.sizes.n_layers:
            logits = layers.logits()
            picture.logits = None if logits is None else logits.cpu()
        picture.seconds += time.perf_counter() - start
        if sight is not None and sight[0] == layers.done - 1:
            put(head_map, _of(maps, sight[1]), picture.settings, *sight)
        worst = measures.worst_row_sum(maps[None])
        picture.worst_row_sum = max(picture.worst_row_sum, worst, key=lambda one: abs(one - 1))
        picture.small.append((thumbnails(maps[None])[0] * 255).round_().to(torch.uint8))


@single_flight(LRUCache(HEAD_BYTES, lambda one: one.nbytes))
def head_map(settings: Settings, layer: int, head: int | None) -> Tensor:
    """The map (i, j) in sight, as of `Sight`, computed from the state that is kept before its layer.

    Raises as `advanced`.
    """
    picture = advanced(settings, layer + 1)
    with pass_slot(len(picture.layers.ids), models.heads(picture.model)):
        return _of(picture.layers.maps(layer).cpu(), head)


def _of(maps: Tensor, head: int | None) -> Tensor:
    return maps.mean(0) if head is None else maps[head].clone()


def sight_of(query: LinkQuery) -> Sight:
    """Place that a query looks at."""
    return query.at.layer, None if "mean" in query.look.switches else query.at.head


def packed(picture: LongPicture, first: int) -> bytes:
    """All maps of the layers from one on, as far as they are there, as thumbnails."""
    small, sizes = picture.small[first:], picture.model.sizes
    header: LongMaps = {
        "digest": picture.settings.digest, "tokens": picture.layers.tokens, "columns": None, "ends": picture.model.ends,
        "layers": sizes.n_layers, "heads": sizes.n_heads, "whole": [], "thumbnail": len(picture.small[0][0]),
        "first": first, "done": first + len(small),
    }  # fmt: skip
    return pack(header, *(maps.numpy().tobytes() for maps in small))


def done(raw: bytes) -> int:
    """Return how many layers the query has already. Raises a HeadlightError for what is no number."""
    return _number(_piece(raw, "part") or "0")


def tile(raw: bytes) -> bytes:
    """A piece of the map in focus; `tile` names it: row.column.step, counted in tokens. Raises a HeadlightError."""
    query = LinkQuery(raw)
    (settings, _), at = query.fitted_settings(most=None), query.at
    row, column, step = (_number(one) for one in [*_piece(raw, "tile").split("."), "", "", ""][:3])
    if not is_long(settings):
        raise HeadlightError("this text is not shown in pieces")
    whole = head_map(settings, *sight_of(query))
    if not (0 <= row < len(whole) and 0 <= column < len(whole) and 0 < step <= len(whole)):
        raise HeadlightError(f"the map has {len(whole)} rows and columns, and a piece must begin within them")
    side = TILE * step
    cells = whole[row : row + side, column : column + side]
    if step == 1:
        allow = mask_codec.of_head(settings.allowed_cells(query.model, len(whole)), at.head)
        cells = torch.where(allow[row : row + side, column : column + side], cells, torch.nan)
    else:
        cells = F.max_pool2d(cells[None], step, ceil_mode=True)[0]
    header: Tile = {
        "row": row, "column": column, "step": step, "rows": cells.shape[0], "columns": cells.shape[1],
    }  # fmt: skip
    return pack_focus(header, cells)


def _piece(raw: bytes, key: str) -> str:
    return parse_qs(raw.decode("ascii")).get(key, [""])[0]


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        raise HeadlightError("a piece is given by whole numbers")
    return int(text)
