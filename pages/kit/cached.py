"""Models and computed pictures, shared by all visitors of this process. No streamlit: the app warms this up."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING

from cachetools import LRUCache

from mha_core import Model, Run, compare, load_model
from mha_core.errors import HeadlightError
from mha_core.timing import prepare_profiler

from . import models, painted
from .models import MINILM
from .packing import ALL_LAYERS_UP_TO, pack_maps
from .presets import PRESETS

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "Picture",
    "Pinned",
    "Settings",
    "difference_to_transformers",
    "mask_of",
    "model_of",
    "model_on",
    "packed",
    "picture",
    "pinned",
    "turn",
    "warm_up",
]

# room for one picture of 511 tokens (77 MiB) or many short ones
CACHE_BYTES = 80 * 2**20
PINNED_BYTES = 8 * 2**20
PACKED_BYTES = 8 * 2**20
PASSES_AT_ONCE = 4
TRAINED_BYTES = 48 * 2**20  # a trained model mostly has 0.5 MB

_models: dict[str, Model] = {}
_trained: LRUCache[tuple[str, str], Model] = LRUCache(TRAINED_BYTES, getsizeof=lambda kept: _bytes_of(kept))
_models_lock = threading.Lock()
_differences: LRUCache[tuple[str, str], float] = LRUCache(256)
_cache_lock = threading.Lock()
_passes = threading.BoundedSemaphore(PASSES_AT_ONCE)


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
        painted: cells of the mask that are turned round, as in `kit.painted`.
        model: a name that `kit.models` knows.
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
        seconds: time of the pass, device synchronised.
        cosine: of its sentence vector to the untouched model's.
        worst_row_sum: the row sum farthest from 1, over all maps.
    """

    settings: Settings
    run: Run
    seconds: float
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


_pictures: LRUCache[Settings, Picture] = LRUCache(CACHE_BYTES, getsizeof=lambda kept: kept.nbytes)
_pinned: LRUCache[tuple[Settings, int, int], Pinned] = LRUCache(PINNED_BYTES, getsizeof=lambda kept: kept.nbytes)
_packed: LRUCache[tuple[Settings, int], bytes] = LRUCache(PACKED_BYTES, getsizeof=len)
_untouched: LRUCache[Settings, Tensor] = LRUCache(256)


def model_on(device: str, name: str = MINILM) -> Model:
    """A model on a device, loaded once; of the trained ones those used last are kept.

    Raises what `load_model` raises, and a HeadlightError for a name that is not in the list.
    """
    with _models_lock:
        if name != MINILM:
            place = models.folder(name)  # before the cache: a run that was deleted is gone
            kept = _trained.get((name, device))
            if kept is None:
                kept = models.able(load_model(str(place), device=device))
                if _bytes_of(kept) <= TRAINED_BYTES:
                    _trained[name, device] = kept
            return kept
        if device not in _models:
            _models[device] = load_model(MINILM, device=device)
        return _models[device]


def model_of(settings: Settings) -> Model:
    """The model of these settings. Raises what `model_on` raises."""
    return model_on(settings.device, settings.model)


def mask_of(settings: Settings, model: Model) -> str | Tensor:
    """The mask as `Model.run` takes it: the rule, or with painted cells the tensor of both."""
    if not settings.painted:
        return settings.mask
    return painted.allowed(settings.mask, settings.painted, painted.tokens_of(settings.painted), model.sizes.n_heads)


def picture(settings: Settings) -> Picture:
    """The picture of these settings, computed now or kept from an earlier visitor. Raises what `Model.run` raises."""
    with _cache_lock:
        kept = _pictures.get(settings)
    if kept is not None:
        return kept
    model = model_of(settings)
    with _passes:
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
    made = Picture(settings, run, seconds, cosine, worst)
    with _cache_lock:
        if made.nbytes <= CACHE_BYTES:
            _pictures[settings] = made
    return made


def packed(picture: Picture, layer: int) -> bytes:
    """The picture's maps as one message, kept: a click that changes only the view packs nothing anew."""
    run = picture.run
    key = (picture.settings, layer if len(run.tokens) > ALL_LAYERS_UP_TO else 0)
    with _cache_lock:
        kept = _packed.get(key)
    if kept is None:
        kept = pack_maps(run.weights, run.tokens, picture.settings.digest, layer)
        with _cache_lock:
            if len(kept) <= PACKED_BYTES:
                _packed[key] = kept
    return kept


def pinned(settings: Settings, layer: int, head: int) -> Pinned:
    """One map to keep beside the present picture. Raises what `Model.run` raises."""
    key = (settings, layer, head)
    with _cache_lock:
        kept = _pinned.get(key)
    if kept is None:
        run = picture(settings).run
        kept = Pinned(settings, run.tokens, run.weights[layer, head].clone())
        with _cache_lock:
            _pinned[key] = kept
    return kept


def difference_to_transformers(settings: Settings, *, ask: bool) -> float | None:
    """The largest difference of untouched MiniLM's maps and hidden states to transformers' on the same sentence.

    Only computed with `ask`; otherwise what is known from an earlier time, or None.
    """
    key = (settings.text, settings.device)
    with _cache_lock:
        known = _differences.get(key)
    if known is None and ask:
        with _passes:
            known = compare.difference_to_transformers(model_of(settings), settings.text)
        with _cache_lock:
            _differences[key] = known
    return known


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


def turn() -> threading.BoundedSemaphore:
    """One of the process's few places for a pass, to be held while something else computes: `with turn(): …`."""
    return _passes


def _bytes_of(model: Model) -> int:
    """Memory of its weights."""
    return sum(weight.nbytes for weight in model.encoder.parameters())


def _untouched_sentence(model: Model, settings: Settings, run: Run) -> Tensor:
    """The sentence vector of the untouched model, kept without its maps."""
    key = settings.untouched
    with _cache_lock:
        kept = _untouched.get(key)
    if kept is None:
        kept = run.sentence if settings == key else model.run(settings.text).sentence
        with _cache_lock:
            _untouched[key] = kept
    return kept
