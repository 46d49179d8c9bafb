"""Models and computed pictures, shared by all visitors of this process. The app warms this up."""

import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.link.limits import MOST_TOKENS
from headlight.link.presets import PRESETS
from headlight.queue.executor import QUEUE
from headlight.queue.places import threads_for, turn
from headlight.queue.policy import BOUNDS, Work
from headlight.queue.single_flight import heavy, known, shared
from headlight.registry import foreign, models, recordings
from headlight.registry.album import ALBUMS
from headlight.registry.models import MINILM, SMOLLM2
from headlight.ui.packing import goes_whole, pack_maps
from mha_core import Model, Run, load_model
from mha_core import device as devices
from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.measure import measures, reference
from mha_core.measure.timing import prepare_profiler
from mha_core.models.words import Word, words_of
from mha_core.pretrained import memory
from mha_core.pretrained.hf_model import HfModel

from .settings import Settings

# room for two pictures of 511 tokens (77 MiB each), a changed one and the one before its changes, or many short ones
CACHE_BYTES = 160 * 2**20
PINNED_BYTES = 8 * 2**20
PACKED_BYTES = 8 * 2**20
FOREIGN_BYTES = max(2**31, (memory.available() or 0) // 2)  # of models of other makers, those used last
TRAINED_BYTES = 48 * 2**20  # a trained model mostly has 0.5 MB, and none has more than `saved.LARGEST` allows

NOBODY = "no word"  # the column for what of a row goes to no token

PASSES = BOUNDS[Work.PASS].at_once
_beside = ThreadPoolExecutor(PASSES, "beside")  # for the second of two pictures


@dataclass(frozen=True)
class Picture:
    """One computed run and its figures.

    Attributes:
        settings, run: what was asked and what came of it, on the CPU.
        seconds: time of the pass, its way to the CPU in it; threads: that it was given on a CPU.
        worst_row_sum: the row sum farthest from 1, over all maps.
        model: the one that ran.
    """

    settings: Settings
    run: Run
    seconds: float
    threads: int
    worst_row_sum: float
    model: Model

    @cached_property
    def cosine(self) -> float:
        """Of its sentence vector to the untouched model's, whose pass is made for who asks."""
        own = self.run.sentence
        changed = self.settings != self.settings.untouched
        return measures.cosine(own, _untouched_sentence(self.settings) if changed else own)

    def words(self, tokens: Sequence[str]) -> list[Word] | None:
        """Those of tokens that are the text's; None of others, as of a model's own answer.

        Raises Unsupported where the tokenizer does not tell.
        """
        text = self.settings.text
        own = self.model.tokenize(text)[0]
        if list(tokens) not in (own, [*own, NOBODY]):
            return None
        nobody = [Word("", len(text), at, at + 1) for at in range(len(own), len(tokens))]
        return words_of(self.model, text) + nobody

    @property
    def nbytes(self) -> int:
        return self.run.weights.nbytes + self.run.hidden.nbytes + _bytes_held(self.settings, self.model)


@dataclass(frozen=True)
class Pinned:
    """One map (i, j) of a picture. It is kept by itself: two long pictures would push each other out of the cache."""

    settings: Settings
    tokens: list[str]
    weights: Tensor
    columns: list[str] | None
    model: Model

    @property
    def nbytes(self) -> int:
        return self.weights.nbytes + _bytes_held(self.settings, self.model)


def model_on(device: str, name: str = MINILM) -> Model:
    """A model on a device, loaded once; of the trained ones those used last are kept.

    Raises what `load_model` raises, and a HeadlightError for a name that is not in the list.
    """
    if devices.pick(device).type == "cpu":
        device = "cpu"  # "auto" is another one only where it can fall back
    name, group = foreign.split(name)
    found = _whole_on(device, name)
    return found.of(group) if group else found


def _whole_on(device: str, name: str) -> Model:
    if recordings.is_recording(name):
        return recordings.model(name)
    if name not in models.pretrained():
        models.check(name)  # before the cache: what was deleted is gone
        if not foreign.is_foreign(name):
            return _trained_on(device, name)
    loads = foreign_on if foreign.is_foreign(name) else pretrained_on
    found = known(loads, device, name)
    if found is None:
        with QUEUE.place(Work.LONG):  # seconds: no picture waits for it
            found = loads(device, name)
    return found


@shared({}, for_good=True)
def pretrained_on(device: str, name: str) -> Model:
    return load_model(name, device=device)


def is_loaded(name: str) -> bool:
    """Tells whether a model is there, or so small that it comes at once."""
    name, _ = foreign.split(name)
    loads = foreign_on if foreign.is_foreign(name) else pretrained_on if name == SMOLLM2 else None
    return loads is None or any(known(loads, device, name) is not None for device in ("cpu", "auto"))


class _Foreign(LRUCache[object, Model]):
    """Models by bytes; with one that goes, its pictures go, which would hold it."""

    def popitem(self) -> tuple[object, Model]:
        key, gone = super().popitem()
        kept: tuple[Any, ...] = (picture, pinned)
        for cache in (one.cache for one in kept):
            for other in [own for own, one in cache.items() if one.model.name == gone.name]:
                del cache[other]
        return key, gone


@shared(_Foreign(FOREIGN_BYTES, lambda model: model.nbytes))
def foreign_on(device: str, name: str) -> Model:
    folder, title = foreign.folder_of(name), foreign.title(name)
    try:
        model = load_model(str(folder), device)
    except HeadlightError as error:
        said = str(error).replace(str(folder), title)  # whose path nobody asked for
        raise WeightsFileError(said if title in said else f"the model {title} cannot be opened: {said}") from error
    except Exception as error:  # what a library says of files that it cannot read is for its own users
        raise WeightsFileError(f"{title} cannot be read ({type(error).__name__})") from error
    if model.reads == "picture" and model.sizes.max_len > MOST_TOKENS:
        raise WeightsFileError(f"{title} makes {model.sizes.max_len} tokens of a picture; {MOST_TOKENS} are drawn")
    if isinstance(model, HfModel) and model.reads in ALBUMS:
        model.open_album(ALBUMS[model.reads])
    model.name = title
    model.facts |= {"model": title, **foreign.revision_of(name)}
    return model


@shared(LRUCache(TRAINED_BYTES, lambda model: model.nbytes))
def _trained_on(device: str, name: str) -> Model:
    with models.opened(name) as folder:
        return models.able(load_model(str(folder), device=device))


def model_of(settings: Settings) -> Model:
    """The model of these settings. Raises what `model_on` raises."""
    return model_on(settings.device, settings.model)


def sizes_of(name: str) -> tuple[int, int] | None:
    """Layers and heads of a model, None of a name that is not in the list."""
    try:
        sizes = model_on("auto", name).sizes
    except HeadlightError:
        return None
    return sizes.n_layers, sizes.n_heads


def tokens(settings: Settings) -> list[str]:
    """The tokens of the sentence, nothing else computed. Raises what `Model.tokenize` raises."""
    return model_of(settings).tokenize(settings.text)[0]


@shared(LRUCache(CACHE_BYTES, lambda picture: picture.nbytes))
def picture(settings: Settings) -> Picture:
    """The picture of these settings, computed now or kept from an earlier visitor. Raises what `Model.run` raises."""
    model = model_of(settings)
    count = passed(model, settings.text)
    with turn(count, models.heads(model)):
        start = time.perf_counter()
        run = with_nobody(settings.run(model))
        seconds = time.perf_counter() - start
        worst = measures.worst_row_sum(run.weights)
    return Picture(settings, run, seconds, threads_for(count, models.heads(model)), worst, model)


def with_nobody(run: Run) -> Run:
    """The run with a column more for what of each row goes to no token, where there is such."""
    if run.extras.nobody is None:
        return run
    weights = torch.cat((run.weights, run.extras.nobody[..., None]), dim=-1)
    return replace(run, weights=weights, columns=[*(run.columns or run.tokens), NOBODY])


def among_tokens(run: Run) -> Tensor | None:
    """The maps (layers, h, i, i) of the tokens among themselves, None where they look at others."""
    if run.columns is None:
        return run.weights
    return run.weights[..., :-1] if run.columns == [*run.tokens, NOBODY] else None


def both(one: Settings, other: Settings) -> tuple[Picture, Picture]:
    """Two pictures, at the same time where each has one thread of its own. Raises what `Model.run` raises."""
    if one == other or PASSES < 2 or not (_takes_one_thread(one) and _takes_one_thread(other)):
        return picture(one), picture(other)
    coming = _beside.submit(copy_context().run, picture, other)
    return picture(one), coming.result()


def _takes_one_thread(settings: Settings) -> bool:
    model = model_of(settings)
    threads = threads_for(passed(model, settings.text), models.heads(model))
    return model.device.type == "cpu" and threads == 1


def passed(model: Model, text: str) -> int:
    """How many tokens a pass over a text has, the silence behind a sound with them."""
    count = len(model.tokenize(text)[1])
    return model.whole or count if isinstance(model, HfModel) else count


@shared(LRUCache(PACKED_BYTES, len), lambda one, layer: (one.settings, 0 if goes_whole(one.run.weights) else layer))
def packed(picture: Picture, layer: int) -> bytes:
    """The picture's maps as one message, kept: a click that changes only the view packs nothing anew."""
    run = picture.run
    return pack_maps(run.weights, run.tokens, picture.settings.digest, layer, run.ends, run.columns)


@shared(LRUCache(PINNED_BYTES, lambda pinned: pinned.nbytes))
def pinned(settings: Settings, layer: int, head: int) -> Pinned:
    """One map to keep beside the present picture. Raises what `Model.run` raises."""
    whole = picture(settings)
    one = whole.run.weights[layer, head].clone()
    return Pinned(settings, whole.run.tokens, one, whole.run.columns, whole.model)


def difference_to_transformers(settings: Settings, *, ask: bool) -> float | None:
    """The largest difference of untouched MiniLM's maps and hidden states to transformers' on the same sentence.

    Only computed with `ask`; otherwise what is known from an earlier time, or None.
    """
    return (heavy if ask else known)(_difference, settings.text, settings.device)


@shared(LRUCache(256))
def _difference(text: str, device: str) -> float:
    return reference.difference_to_transformers(model_on(device), text)


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


def _bytes_held(settings: Settings, model: Model) -> int:
    """Memory of the model that a picture keeps from being freed: none of one that stays, or takes pictures along."""
    name, _ = foreign.split(settings.model)
    return 0 if name in models.pretrained() or foreign.is_foreign(name) else model.nbytes


@shared(LRUCache(256), lambda settings: settings.untouched)
def _untouched_sentence(settings: Settings) -> Tensor:
    """The sentence vector of the untouched model, which is kept longer than its maps."""
    return picture(settings.untouched).run.sentence
