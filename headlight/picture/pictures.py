"""Models and computed pictures, shared by all visitors of this process. The app warms this up."""

import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.link import mask_codec
from headlight.link.limits import MAX_TOKENS, check_length
from headlight.link.presets import PRESETS
from headlight.queue.executor import yield_and_check_cancelled
from headlight.queue.policy import BOUNDS, Work
from headlight.queue.single_flight import peek, run_heavy, single_flight
from headlight.queue.slots import pass_slot, threads_for
from headlight.registry import MINILM, foreign, models, source_of
from headlight.ui.packing import goes_whole, pack_maps
from mha_core import Model, Run
from mha_core import device as devices
from mha_core.errors import HeadlightError, TooLong
from mha_core.measure import measures, reference
from mha_core.measure.timing import prepare_profiler
from mha_core.models.words import Word, words_of
from mha_core.pretrained.hf_model import HfModel

from .settings import Settings

# room for two pictures of 511 tokens (77 MiB each), a changed one and the one before its changes, or many short ones
CACHE_BYTES = 160 * 2**20
PINNED_BYTES = 8 * 2**20
PACKED_BYTES = 8 * 2**20

MAX_AT_FIRST = 128  # tokens of a picture that comes with the page itself
UNASSIGNED = "no word"  # the column for what of a row goes to no token

PASSES = BOUNDS[Work.PASS].max_concurrency
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
        changed = self.settings != self.settings.baseline
        return measures.cosine(own, _untouched_sentence(self.settings) if changed else own)

    def words(self, tokens: Sequence[str]) -> list[Word] | None:
        """Those of tokens that are the text's; None of others, as of a model's own answer.

        Raises Unsupported where the tokenizer does not tell.
        """
        text = self.settings.text
        own = self.model.tokenize(text)[0]
        if list(tokens) not in (own, [*own, UNASSIGNED]):
            return None
        nobody = [Word("", len(text), at, at + 1) for at in range(len(own), len(tokens))]
        return words_of(self.model, text) + nobody

    @property
    def nbytes(self) -> int:
        return self.run.weights.nbytes + self.run.hidden.nbytes + _retained_bytes(self.settings, self.model)


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
        return self.weights.nbytes + _retained_bytes(self.settings, self.model)


def model_on(device: str, name: str = MINILM) -> Model:
    """A model on a device, loaded once; of the trained ones those used last are kept.

    Raises what `load_model` raises, and a HeadlightError for a name that is not in the list.
    """
    if devices.pick(device).type == "cpu":
        device = "cpu"  # "auto" is another one only where it can fall back
    source = source_of(name)
    found = source.load(device)
    return found.of(source.group) if source.group else found


def model_of(settings: Settings) -> Model:
    """The model of these settings. Raises what `model_on` raises."""
    return model_on(settings.device, settings.model)


def tokens(settings: Settings) -> list[str]:
    """The tokens of the sentence, nothing else computed. Raises what `Model.tokenize` raises."""
    return model_of(settings).tokenize(settings.text)[0]


def fits_at_first(settings: Settings) -> None:
    """Raise a HeadlightError when a picture is too large to come with the page."""
    if (count := len(tokens(settings))) > MAX_AT_FIRST:
        raise HeadlightError(f"a page begins with at most {MAX_AT_FIRST} tokens, here are {count}")


def fitted(settings: Settings, most: int | None = MAX_TOKENS) -> tuple[Settings, list[str]]:
    """The settings without a painting that was made for a sentence of another length, and a sentence that says so.

    `most`: tokens of the sentence; None = as many as the model reads.

    Raises:
        HeadlightError: a sentence that is too long, or without a token where no special ones stand round it; and what
            `Model.tokenize` raises.
    """
    check_length(settings.text)
    if settings.model == MINILM and not settings.painted:
        return settings, []
    model = model_of(settings)
    count = len(tokens(settings))
    if most is not None and count > most:
        raise TooLong(limit=most, got=count)
    if not count:
        raise HeadlightError("this model adds no [CLS] or [SEP]; type at least one word")
    if settings.painted and isinstance(model, HfModel) and model.whole:
        told = f"{model.name} pads every sound with silence, which has no painted cells; only the mask’s rule applies."
        return settings.without_painting, [told]
    if not settings.painted or mask_codec.tokens_of(settings.painted) == count:
        return settings, []
    sizes = f"for {mask_codec.tokens_of(settings.painted)} tokens; the sentence has {count}"
    applies = f"so only its rule “{settings.mask}” applies. Your painting stays in the link."
    told = f"This mask was painted {sizes}, {applies}"
    return settings.without_painting, [told]


@single_flight(LRUCache(CACHE_BYTES, lambda picture: picture.nbytes))
def picture(settings: Settings) -> Picture:
    """The picture of these settings, computed now or kept from an earlier visitor. Raises what `Model.run` raises."""
    model = model_of(settings)
    count = pass_length(model, settings.text)
    with pass_slot(count, models.heads(model)):
        start = time.perf_counter()
        run = with_unassigned_column(settings.run(model))
        seconds = time.perf_counter() - start
        worst = measures.worst_row_sum(run.weights)
    return Picture(settings, run, seconds, threads_for(count, models.heads(model)), worst, model)


def with_unassigned_column(run: Run) -> Run:
    """The run with a column more for what of each row goes to no token, where there is such."""
    if run.extras.nobody is None:
        return run
    weights = torch.cat((run.weights, run.extras.nobody[..., None]), dim=-1)
    return replace(run, weights=weights, columns=[*(run.columns or run.tokens), UNASSIGNED])


def among_tokens(run: Run) -> Tensor | None:
    """The maps (layers, h, i, i) of the tokens among themselves, None where they look at others."""
    if run.columns is None:
        return run.weights
    return run.weights[..., :-1] if run.columns == [*run.tokens, UNASSIGNED] else None


def compute_pair(one: Settings, other: Settings) -> tuple[Picture, Picture]:
    """Two pictures, at the same time where each has one thread of its own. Raises what `Model.run` raises."""
    if one == other or PASSES < 2 or not (_takes_one_thread(one) and _takes_one_thread(other)):
        return picture(one), picture(other)
    coming = _beside.submit(copy_context().run, picture, other)
    return picture(one), coming.result()


def _takes_one_thread(settings: Settings) -> bool:
    model = model_of(settings)
    threads = threads_for(pass_length(model, settings.text), models.heads(model))
    return model.device.type == "cpu" and threads == 1


def pass_length(model: Model, text: str) -> int:
    """How many tokens a pass over a text has, the silence behind a sound with them."""
    count = len(model.tokenize(text)[1])
    return model.whole or count if isinstance(model, HfModel) else count


@single_flight(
    LRUCache(PACKED_BYTES, len), lambda one, layer: (one.settings, 0 if goes_whole(one.run.weights) else layer)
)
def packed(picture: Picture, layer: int) -> bytes:
    """The picture's maps as one message, kept: a click that changes only the view packs nothing anew."""
    run = picture.run
    return pack_maps(run.weights, run.tokens, picture.settings.digest, layer, run.ends, run.columns)


@single_flight(LRUCache(PINNED_BYTES, lambda pinned: pinned.nbytes))
def pinned(settings: Settings, layer: int, head: int) -> Pinned:
    """One map to keep beside the present picture. Raises what `Model.run` raises."""
    whole = picture(settings)
    one = whole.run.weights[layer, head].clone()
    return Pinned(settings, whole.run.tokens, one, whole.run.columns, whole.model)


for _kept in cast("tuple[Any, ...]", (picture, pinned)):
    foreign.holders.append(_kept.cache)


def difference_to_transformers(settings: Settings, *, ask: bool) -> float | None:
    """The largest difference of untouched MiniLM's maps and hidden states to transformers' on the same sentence.

    Only computed with `ask`; otherwise what is known from an earlier time, or None.
    """
    return (run_heavy if ask else peek)(_difference, settings.text, settings.device)


@single_flight(LRUCache(256))
def _difference(text: str, device: str) -> float:
    return reference.difference_to_transformers(model_on(device), text)


@single_flight(LRUCache(256))
def reordered_difference(settings: Settings, order: str) -> float | None:
    """max |a − b| of the output vectors, the new order undone; None when `order` has other tokens.

    Raises what `Model.run` raises.
    """
    shown = picture(settings)
    ids = shown.model.tokenize(order)[1]
    if sorted(ids) != sorted(shown.run.ids):
        return None
    with pass_slot(len(ids), models.heads(shown.model)):
        other = settings.run(shown.model, order)
    return measures.difference_in_new_order(shown.run, other)


def known_cosines(settings: Settings) -> Tensor | None:
    """Return the cached result of `cosines_without`, None where it is not cached."""
    return peek(_cosines, settings)


def cosines_without(settings: Settings) -> Tensor:
    """The cosine of the sentence vector to itself without each head alone, (layers, h).

    Raises what `Model.run` and `places.alone` raise.
    """
    return run_heavy(_cosines, settings)


@single_flight(LRUCache(64))
def _cosines(settings: Settings) -> Tensor:
    model = model_of(settings)
    return measures.ablate_each_head(
        model, settings.text, **settings.switches(model), on_progress=yield_and_check_cancelled
    )


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


def _retained_bytes(settings: Settings, model: Model) -> int:
    """Memory of the model that a picture keeps from being freed: none of one that stays, or takes pictures along."""
    return 0 if source_of(settings.model).is_large else model.nbytes


@single_flight(LRUCache(256), lambda settings: settings.baseline)
def _untouched_sentence(settings: Settings) -> Tensor:
    """The sentence vector of the untouched model, which is kept longer than its maps."""
    return picture(settings.baseline).run.sentence
