"""Models and computed pictures, shared by all visitors of this process. No streamlit: the app warms this up."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Hashable
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING

from cachetools import LRUCache
from cachetools.keys import hashkey

from mha_core import Model, Run, load_model
from mha_core import device as devices
from mha_core.errors import HeadlightError
from mha_core.measure import compare
from mha_core.measure.timing import prepare_profiler
from pages.kit.draw.packing import ALL_LAYERS_UP_TO, pack_maps

from . import mask_codec, models
from .models import MINILM
from .presets import PRESETS
from .sharing import PASSES_AT_ONCE, alone, looking, shared, threads_for, turn

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "PASSES_AT_ONCE",
    "Picture",
    "Pinned",
    "Settings",
    "alone",
    "difference_to_transformers",
    "forget",
    "mask_of",
    "model_of",
    "model_on",
    "packed",
    "picture",
    "pinned",
    "shared",
    "turn",
    "warm_up",
]

# room for one picture of 511 tokens (77 MiB) or many short ones
CACHE_BYTES = 80 * 2**20
PINNED_BYTES = 8 * 2**20
PACKED_BYTES = 8 * 2**20
TRAINED_BYTES = 48 * 2**20  # a trained model mostly has 0.5 MB, and none has more than `saved.LARGEST` allows


@dataclass(frozen=True)
class Settings:
    """Everything that a picture's numbers depend on.

    Attributes:
        text: the sentence.
        mask: written form, as in `mha_core.masks.parse`.
        position: "trained" or a name of `mha_core.positions.NAMES`.
        temperature: divides the scores.
        heads_off: sorted (layer, head) pairs, counted from 0.
        device: as in `mha_core.device.pick`.
        painted: cells of the mask that are turned round, as in `kit.picture.mask_codec`.
        model: a name that `kit.picture.models` knows.
    """

    text: str
    mask: str = "none"
    position: str = "trained"
    temperature: float = 1.0
    heads_off: tuple[tuple[int, int], ...] = ()
    device: str = "auto"
    painted: str = ""
    model: str = MINILM

    @property
    def unpainted(self) -> Settings:
        """The same with the mask's rule alone."""
        return replace(self, painted="")

    @property
    def untouched(self) -> Settings:
        """The same sentence in the model as it was trained."""
        return Settings(self.text, device=self.device, model=self.model)

    @property
    def digest(self) -> str:
        """A short name for exactly these settings."""
        return hashlib.blake2b(repr(astuple(self)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Picture:
    """One computed run and its figures.

    Attributes:
        settings, run: what was asked and what came of it.
        seconds: time of the pass, device synchronised; threads: that it was given on a CPU.
        cosine: of its sentence vector to the untouched model's.
        worst_row_sum: the row sum farthest from 1, over all maps.
    """

    settings: Settings
    run: Run
    seconds: float
    threads: int
    cosine: float
    worst_row_sum: float

    @property
    def nbytes(self) -> int:
        """Memory that keeping it costs."""
        return self.run.weights.nbytes + self.run.hidden.nbytes


@dataclass(frozen=True)
class Pinned:
    """One map (i, j) of a picture. It is kept by itself: two long pictures would push each other out of the cache."""

    settings: Settings
    tokens: list[str]
    weights: Tensor

    @property
    def nbytes(self) -> int:
        """Memory that keeping it costs."""
        return self.weights.nbytes


_models: dict[Hashable, Model] = {}  # MiniLM; it stays for good
_trained: LRUCache[Hashable, Model] = LRUCache(TRAINED_BYTES, lambda kept: _bytes_of(kept))
_pictures: LRUCache[Hashable, Picture] = LRUCache(CACHE_BYTES, lambda kept: kept.nbytes)
_pinned: LRUCache[Hashable, Pinned] = LRUCache(PINNED_BYTES, lambda kept: kept.nbytes)
_packed: LRUCache[Hashable, bytes] = LRUCache(PACKED_BYTES, len)
_untouched: LRUCache[Hashable, Tensor] = LRUCache(256)
_differences: LRUCache[Hashable, float] = LRUCache(256)


def model_on(device: str, name: str = MINILM) -> Model:
    """A model on a device, loaded once; of the trained ones those used last are kept.

    Raises what `load_model` raises, and a HeadlightError for a name that is not in the list.
    """
    if devices.pick(device).type == "cpu":
        device = "cpu"  # "auto" is another one only where it can fall back
    if name == MINILM:
        return _minilm(device)
    return _trained_on(device, str(models.folder(name)))  # before the cache: a run that was deleted is gone


@shared(_models)
def _minilm(device: str) -> Model:
    return load_model(MINILM, device=device)


@shared(_trained)
def _trained_on(device: str, folder: str) -> Model:
    return models.able(load_model(folder, device=device))


def model_of(settings: Settings) -> Model:
    """The model of these settings. Raises what `model_on` raises."""
    return model_on(settings.device, settings.model)


def mask_of(settings: Settings, model: Model) -> str | Tensor:
    """The mask as `Model.run` takes it: the rule, or with painted cells the tensor of both."""
    if not settings.painted:
        return settings.mask
    return mask_codec.allowed(
        settings.mask, settings.painted, mask_codec.tokens_of(settings.painted), model.sizes.n_heads
    )


@shared(_pictures)
def picture(settings: Settings) -> Picture:
    """The picture of these settings, computed now or kept from an earlier visitor. Raises what `Model.run` raises."""
    model = model_of(settings)
    tokens = len(model.tokenize(settings.text)[1])
    with turn(tokens):
        start = time.perf_counter()
        run = model.run(
            settings.text,
            mask=mask_of(settings, model),
            position=settings.position,
            heads_off=settings.heads_off,
            temperature=settings.temperature,
        )
        worst = compare.worst_row_sum(run.weights)  # reads the result, which waits for the device
        seconds = time.perf_counter() - start
        cosine = compare.cosine(run.sentence, _untouched_sentence(model, settings, run))
    return Picture(settings, run, seconds, threads_for(tokens), cosine, worst)


def _packed_key(picture: Picture, layer: int) -> Hashable:
    return picture.settings, layer if len(picture.run.tokens) > ALL_LAYERS_UP_TO else 0


@shared(_packed, _packed_key)
def packed(picture: Picture, layer: int) -> bytes:
    """The picture's maps as one message, kept: a click that changes only the view packs nothing anew."""
    return pack_maps(picture.run.weights, picture.run.tokens, picture.settings.digest, layer)


@shared(_pinned)
def pinned(settings: Settings, layer: int, head: int) -> Pinned:
    """One map to keep beside the present picture. Raises what `Model.run` raises."""
    run = picture(settings).run
    return Pinned(settings, run.tokens, run.weights[layer, head].clone())


def difference_to_transformers(settings: Settings, *, ask: bool) -> float | None:
    """The largest difference of untouched MiniLM's maps and hidden states to transformers' on the same sentence.

    Only computed with `ask`; otherwise what is known from an earlier time, or None.
    """
    if ask:
        return _difference(settings.text, settings.device)
    with looking:
        return _differences.get(hashkey(settings.text, settings.device))


@shared(_differences)
def _difference(text: str, device: str) -> float:
    model = model_on(device)
    with turn():
        return compare.difference_to_transformers(model, text)


def warm_up() -> None:
    """Loads the model and runs it once, so that the first visitor does not wait for it.

    A model that cannot be loaded is logged; the pages say so in a sentence.
    """
    prepare_profiler()
    try:
        model_on("auto").run(PRESETS[0])  # the first pass is slow and says nothing about the next
        picture(Settings(PRESETS[0]))
    except HeadlightError as error:
        logging.getLogger(__name__).warning("Headlight starts without its model: %s", error)


def forget() -> None:
    """Empties every cache; MiniLM alone stays."""
    with looking:
        for cache in (_trained, _pictures, _pinned, _packed, _untouched, _differences):
            cache.clear()


def _bytes_of(model: Model) -> int:
    """Memory of its weights."""
    return sum(weight.nbytes for weight in model.encoder.parameters())


@shared(_untouched, lambda model, settings, run: settings.untouched)
def _untouched_sentence(model: Model, settings: Settings, run: Run) -> Tensor:
    """The sentence vector of the untouched model, kept without its maps."""
    return run.sentence if settings == settings.untouched else model.run(settings.text).sentence
