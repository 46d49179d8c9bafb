"""Pictures of texts whose maps of all layers are not kept: one pass in portions, and the maps of a layer again."""

import threading
import time
from dataclasses import dataclass, field

import torch
from cachetools import LRUCache
from torch import Tensor

from mha_core import Model, Run
from mha_core.measure import measures
from mha_core.models.layer_pass import LayerPass, goes_by_layer
from mha_core.pretrained import memory
from pages.kit.draw.packing import THUMBNAIL, thumbnails
from pages.kit.picture import models, pictures
from pages.kit.picture.limits import MOST_TOKENS
from pages.kit.picture.settings import Settings
from pages.kit.picture.sharing import shared, threads_for, turn

LONG_BYTES = 304 * 2**20  # of states and thumbnails: two pictures of 2,048 tokens by SmolLM2 (144 MiB each)
HEAD_BYTES = 48 * 2**20  # of single maps: two of 2,048 tokens
PORTION = 60_000_000  # weights that are computed until the next word of progress: two layers of 2,048 tokens


@dataclass
class LongPicture:
    """A pass under way, or at its end.

    Attributes:
        settings: what was asked.
        layers: the pass, by layers.
        small: of each layer that is done its maps as thumbnails, uint8 (h, i, j).
        seconds: time of the pass so far; threads: that it was given on a CPU.
        worst_row_sum: the row sum farthest from 1 so far.
    """

    settings: Settings
    model: Model
    layers: LayerPass
    small: list[Tensor] = field(default_factory=list)
    seconds: float = 0.0
    worst_row_sum: float = 1.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_whole(self) -> bool:
        return self.layers.done == self.model.sizes.n_layers

    @property
    def threads(self) -> int:
        return threads_for(len(self.layers.ids), models.heads(self.model))

    @property
    def nbytes(self) -> int:
        """Of the whole pass, from its beginning on."""
        sizes = self.model.sizes
        states = (sizes.n_layers + 1) * len(self.layers.ids) * sizes.d_model * self.model.dtype.itemsize
        return states + models.heads(self.model) * THUMBNAIL**2

    def run(self) -> Run:
        """What is known of the whole, its maps left out: `weights` is (layers, h, 0, 0)."""
        layers, sizes = self.layers, self.model.sizes
        hidden = torch.stack(layers.hidden).cpu()
        logits = layers.logits()
        return Run(
            tokens=layers.tokens,
            ids=layers.ids,
            weights=torch.empty(sizes.n_layers, sizes.n_heads, 0, 0),
            hidden=hidden,
            sentence=torch.nn.functional.normalize(hidden[-1].mean(dim=0), dim=0),
            steps=(),
            device=self.model.device,
            notices=layers.notices,
            logits=None if logits is None else logits.cpu(),
            kv_heads=self.model.encoder.block(0).attention.n_kv_heads,
            ends=self.model.ends,
        )


def is_long(settings: Settings) -> bool:
    """Tells whether a sentence has more tokens than those whose maps are all kept."""
    model = pictures.model_of(settings)
    return goes_by_layer(model) and len(model.tokenize(settings.text)[1]) > MOST_TOKENS


@shared(LRUCache(LONG_BYTES, lambda picture: picture.nbytes))
def _begun(settings: Settings) -> LongPicture:
    model = pictures.model_of(settings)
    picture = LongPicture(settings, model, LayerPass(model, settings.text, **settings.switches(model)))
    n, size = len(picture.layers.ids), model.dtype.itemsize
    # three of a layer's maps are there at once: the scores, the weights, and what is made of them
    needed = picture.nbytes + 3 * model.sizes.n_heads * n * n * size
    memory.require(needed, f"a text of {n:,} tokens", "shorten it")
    return picture


def advanced(settings: Settings, done: int) -> LongPicture:
    """The picture with a portion of layers computed beyond so many that are done already.

    Raises:
        HeadlightError: as `Model.run`, and where there is not the memory for it.
        Unwanted: nobody waits for it any more.
    """
    picture = _begun(settings)
    n, sizes = len(picture.layers.ids), picture.model.sizes
    portion = max(1, PORTION // (sizes.n_heads * n * n))
    wanted = min(sizes.n_layers, done + portion)
    with picture.lock:
        while picture.layers.done < wanted:
            _advance(picture)
    return picture


def _advance(picture: LongPicture) -> None:
    with turn(len(picture.layers.ids), models.heads(picture.model)):
        start = time.perf_counter()
        maps = picture.layers.advance().cpu()
        picture.seconds += time.perf_counter() - start
        worst = measures.worst_row_sum(maps[None])
        picture.worst_row_sum = max(picture.worst_row_sum, worst, key=lambda one: abs(one - 1))
        picture.small.append((thumbnails(maps[None])[0] * 255).round_().to(torch.uint8))


def whole(settings: Settings) -> LongPicture:
    """The picture at its end. Raises as `advanced`."""
    return advanced(settings, pictures.model_of(settings).sizes.n_layers)


@shared(LRUCache(HEAD_BYTES, lambda one: one.nbytes))
def head_map(settings: Settings, layer: int, head: int | None) -> Tensor:
    """One head's map (i, j), computed from the state that enters its layer; None = the mean of the layer's heads.

    Raises as `advanced`.
    """
    picture = whole(settings)
    with turn(len(picture.layers.ids), models.heads(picture.model)):
        maps = picture.layers.maps(layer).cpu()
        return maps.mean(0) if head is None else maps[head].clone()
