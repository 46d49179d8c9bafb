"""Models and computed pictures, cached for all clients of this process."""

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
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot, threads_for
from headlight.registry import MINILM, foreign, get_source, models
from headlight.ui.packing import is_sent_whole, pack_maps
from mha_core import Model, Run
from mha_core import device as devices
from mha_core.errors import HeadlightError, TooLong
from mha_core.measure import measures, reference
from mha_core.measure.timing import prepare_profiler
from mha_core.models.words import Word, split_words
from mha_core.pretrained.hf_model import HfModel

from .settings import Settings

# two pictures of 511 tokens (77 MiB each), a changed one and its baseline, or many short ones
CACHE_BYTES = 160 * 2**20
PINNED_BYTES = 8 * 2**20
PACKED_BYTES = 8 * 2**20

MAX_PRERENDER_TOKENS = 128  # of a picture that is sent within the page itself
UNASSIGNED = "no word"  # label of the column for weight that goes to no token

is_timed = True  # False for a site: its files must not depend on the speed of a machine
PASSES = BOUNDS[Work.PASS].max_concurrency
_pair_executor = ThreadPoolExecutor(PASSES, "beside")  # for the second of two pictures


@dataclass(frozen=True)
class Picture:
    """A run with its settings and measures."""

    settings: Settings
    run: Run  # the run, with its tensors on the CPU
    seconds: float  # duration of the pass and of the copy to the CPU
    threads: int  # number of CPU threads of the pass
    worst_row_sum: float  # the row sum farthest from 1, over all maps
    model: Model

    @cached_property
    def cosine(self) -> float:
        """Cosine of the sentence vector to that of the unmodified model, which is computed on demand."""
        sentence = self.run.sentence
        changed = self.settings != self.settings.baseline
        return measures.cosine(sentence, _baseline_sentence(self.settings) if changed else sentence)

    def words(self, tokens: Sequence[str]) -> list[Word] | None:
        """Return the words that the tokens form, None for tokens of another text, such as a model's own answer.

        Raises:
            Unsupported: the tokenizer gives no offsets.
        """
        text = self.settings.text
        own_tokens = self.model.tokenize(text)[0]
        if list(tokens) not in (own_tokens, [*own_tokens, UNASSIGNED]):
            return None
        unassigned = [Word("", len(text), index, index + 1) for index in range(len(own_tokens), len(tokens))]
        return split_words(self.model, text) + unassigned

    @property
    def nbytes(self) -> int:
        """Memory that caching the picture costs."""
        return self.run.weights.nbytes + self.run.hidden.nbytes + _retained_bytes(self.settings, self.model)


@dataclass(frozen=True)
class CachedMap:
    """A single map (i, j), cached apart from its picture, as two long pictures would evict each other."""

    settings: Settings
    tokens: list[str]
    weights: Tensor
    columns: list[str] | None
    model: Model

    @property
    def nbytes(self) -> int:
        """Memory that caching the map costs."""
        return self.weights.nbytes + _retained_bytes(self.settings, self.model)


def model_on(device: str, name: str = MINILM) -> Model:
    """Return a model on a device, loaded once; of the models trained here the last used are kept.

    Raises what `load_model` raises, and a HeadlightError for an unknown name.
    """
    if devices.pick(device).type == "cpu":
        device = "cpu"  # so that "auto" and "cpu" share one model
    source = get_source(name)
    model = source.load(device)
    return model.for_group(source.group) if source.group else model


def model_for(settings: Settings) -> Model:
    """Return the model of these settings. Raises what `model_on` raises."""
    return model_on(settings.device, settings.model)


def tokens(settings: Settings) -> list[str]:
    """Return the tokens of the sentence, without a pass. Raises what `Model.tokenize` raises."""
    return model_for(settings).tokenize(settings.text)[0]


def check_prerender_size(settings: Settings) -> None:
    """Raise a HeadlightError if a picture is too large to be sent within the page itself."""
    if (count := len(tokens(settings))) > MAX_PRERENDER_TOKENS:
        raise HeadlightError(f"a page contains at most {MAX_PRERENDER_TOKENS} tokens, this picture has {count}")


def fit_settings(settings: Settings, max_tokens: int | None = MAX_TOKENS) -> tuple[Settings, list[str]]:
    """Return the settings without a painted mask that does not fit the sentence, and warnings about it.

    `max_tokens` limits the sentence; None is the limit of the model alone.

    Raises:
        HeadlightError: a sentence that is too long or without tokens, or what `Model.tokenize` raises.
    """
    check_length(settings.text)
    model = model_for(settings)
    count = len(tokens(settings))
    if max_tokens is not None and count > max_tokens:
        raise TooLong(limit=max_tokens, got=count)
    if not count:
        raise HeadlightError("this model adds no [CLS] or [SEP]; type at least one word")
    painted = mask_codec.token_count(settings.painted) if settings.painted else count
    if settings.painted and isinstance(model, HfModel) and model.fixed_tokens:
        text = f"{model.name} pads every sound with silence, which has no painted cells; only the mask’s rule applies."
    elif painted != count:
        mismatch = f"This mask was painted for {painted} tokens; the sentence has {count}"
        text = f"{mismatch}, so only its rule “{settings.mask}” applies. Your painting stays in the link."
    else:
        return settings, []
    return settings.without_painting, [text]


@single_flight(LRUCache(CACHE_BYTES, lambda picture: picture.nbytes))
def picture(settings: Settings) -> Picture:
    """Compute or fetch the cached picture of these settings. Raises what `Model.run` raises."""
    model = model_for(settings)
    count = pass_length(model, settings.text)
    with pass_slot(count, models.count_heads(model)):
        start = time.perf_counter()
        run = with_unassigned_column(settings.run(model))
        seconds = time.perf_counter() - start if is_timed else 0.0
        worst = measures.worst_row_sum(run.weights)
    return Picture(settings, run, seconds, threads_for(count, models.count_heads(model)), worst, model)


def with_unassigned_column(run: Run) -> Run:
    """Return the run with an additional column for weight that goes to no token, if the model has such weight."""
    if run.extras.unassigned is None:
        return run
    weights = torch.cat((run.weights, run.extras.unassigned[..., None]), dim=-1)
    return replace(run, weights=weights, key_tokens=[*(run.key_tokens or run.tokens), UNASSIGNED])


def among_tokens(run: Run) -> Tensor | None:
    """Return the maps (layers, h, i, i) of the tokens among themselves, None if the keys are other tokens."""
    if run.key_tokens is None:
        return run.weights
    return run.weights[..., :-1] if run.key_tokens == [*run.tokens, UNASSIGNED] else None


def compute_pair(first: Settings, second: Settings) -> tuple[Picture, Picture]:
    """Return two pictures, computed in parallel if each pass takes one thread. Raises what `Model.run` raises."""
    if first == second or PASSES < 2 or not (_takes_one_thread(first) and _takes_one_thread(second)):
        return picture(first), picture(second)
    pending = _pair_executor.submit(copy_context().run, picture, second)
    return picture(first), pending.result()


def _takes_one_thread(settings: Settings) -> bool:
    model = model_for(settings)
    threads = threads_for(pass_length(model, settings.text), models.count_heads(model))
    return model.device.type == "cpu" and threads == 1


def pass_length(model: Model, text: str) -> int:
    """Return the number of tokens in a pass over a text, including the padding of a sound."""
    count = len(model.tokenize(text)[1])
    return model.fixed_tokens or count if isinstance(model, HfModel) else count


@single_flight(
    LRUCache(PACKED_BYTES, len), lambda item, layer: (item.settings, 0 if is_sent_whole(item.run.weights) else layer)
)
def packed_maps(picture: Picture, layer: int) -> bytes:
    """Return the picture's maps as one packed message, cached for clicks that change only the view."""
    run = picture.run
    return pack_maps(run.weights, run.tokens, picture.settings.digest, layer, run.ends, run.key_tokens)


@single_flight(LRUCache(PINNED_BYTES, lambda pinned: pinned.nbytes))
def pin_map(settings: Settings, layer: int, head: int) -> CachedMap:
    """Return one map of a picture, to be shown beside others. Raises what `Model.run` raises."""
    full = picture(settings)
    weights = full.run.weights[layer, head].clone()
    return CachedMap(settings, full.run.tokens, weights, full.run.key_tokens, full.model)


for _cached in cast("tuple[Any, ...]", (picture, pin_map)):
    foreign.picture_caches.append(_cached.cache)


@single_flight(LRUCache(256), lambda settings: (settings.text, settings.device))
def difference_to_transformers(settings: Settings) -> float:
    """Return the largest difference between our MiniLM and that of transformers, over all maps and hidden states.

    Only the sentence and the device matter. Call it by `run_heavy`.
    """
    return reference.difference_to_transformers(model_on(settings.device), settings.text)


@single_flight(LRUCache(256))
def reordered_difference(settings: Settings, order: str) -> float | None:
    """Return max |a − b| of the outputs for two token orders, aligned; None if the tokens differ.

    Raises what `Model.run` raises.
    """
    for blank in ("", " "):  # for a byte-level tokenizer a word after a blank is another token than the first word
        original = picture(replace(settings, text=blank + settings.text))
        ids = original.model.tokenize(blank + order)[1]
        if sorted(ids) == sorted(original.run.ids):
            with pass_slot(len(ids), models.count_heads(original.model)):
                reordered = settings.run(original.model, blank + order)
            return measures.difference_in_new_order(original.run, reordered)
    return None


@single_flight(LRUCache(64))
def ablation_cosines(settings: Settings) -> Tensor:
    """Return the cosine of the sentence vector to itself with each head ablated alone, (layers, h).

    Call it by `run_heavy`. Raises what `Model.run` raises.
    """
    model = model_for(settings)
    return measures.ablate_each_head(
        model, settings.text, **settings.switches(model), on_progress=yield_and_check_cancelled
    )


def warm_up() -> None:
    """Load the model and run it once, before the first request.

    A model that cannot be loaded is logged, and the pages show the error.
    """
    prepare_profiler()
    try:
        model_on("auto").run(PRESETS[0])  # the first pass is slower than all others
        picture(Settings(PRESETS[0]))
    except HeadlightError as error:
        logging.getLogger(__name__).warning("Headlight starts without its model: %s", error)


def _retained_bytes(settings: Settings, model: Model) -> int:
    """Return the memory of the model that a cached picture keeps alive, 0 for a model that stays loaded."""
    return 0 if get_source(settings.model).is_large else model.nbytes


@single_flight(LRUCache(256), lambda settings: settings.baseline)
def _baseline_sentence(settings: Settings) -> Tensor:
    """Return the sentence vector of the unmodified model, cached longer than its maps."""
    return picture(settings.baseline).run.sentence
