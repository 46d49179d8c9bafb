"""Every message of the pages on a GPU that is played (played_gpu.py), and on one that is full or becomes it.

Of two pictures that meet, one may have found the GPU full: then it was computed on the CPU, and said so once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
import torch

from headlight.lessons import course
from headlight.lessons.verdict import verdict
from headlight.link.cursor import Cursor
from headlight.picture import pictures
from headlight.picture.link_query import LinkQuery
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.picture.traces import layer_tensors
from headlight.queue import single_flight
from headlight.registry.pretrained import Pretrained
from mha_core.models.own_model import OwnModel
from pages.by_hand import embeddings, real_cell
from pages.by_hand.scaled_dot import CASES, compare
from pages.compare import multiple_maps, orders, pairs
from pages.implementations import parity
from pages.masks import effects, padding
from pages.positions import encodings, in_model
from pages.shapes import random_layer
from pages.shapes.reshape_lessons import LESSONS

from .conftest import answer, unpacked
from .played_gpu import Gpu, played

TWICE = "the dog bit the man"
TEXT = Settings(TWICE)
CAUSAL = Settings(TWICE, "causal")
NOTICE = "cuda:0 is out of memory; this was computed on the CPU."
COURSE = course.read_folders((course.SHIPPED,)).lessons
_on_gpu: dict[Any, Any] = {}  # pretrained models that say cuda:0, kept for all tests


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], Gpu]]:
    """Has "auto" choose the played device, which is full after so many computations of models."""
    for name in ("set_rng_state", "synchronize", "memory_allocated"):
        monkeypatch.setattr(torch.cuda, name, lambda *_: 0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: torch.get_rng_state())
    compute = OwnModel.run_on_stack

    def counted(self: OwnModel, *args: Any) -> Any:
        if Gpu.now is not None:
            Gpu.now.takes_a_pass()
        return compute(self, *args)

    monkeypatch.setattr(OwnModel, "run_on_stack", counted)
    kept: Any = Pretrained.load_shared
    models = dict(kept.cache)
    kept.cache.clear()
    kept.cache.update(_on_gpu)
    with played() as device:

        def filled(passes: int) -> Gpu:
            single_flight.clear_caches()
            encodings.trained_table.cache_clear()
            device.passes, device.full = None, False
            for name in ("minilm", "words-2layers-1", "who-rotary-1"):
                pictures.model_on("auto", name)  # its weights are there before the device is full
            device.passes, device.full = passes, passes == 0
            return device

        yield filled
    _on_gpu.update(kept.cache)
    kept.cache.clear()
    kept.cache.update(models)
    encodings.trained_table.cache_clear()
    single_flight.clear_caches()


def call(route: str, **values: str) -> Callable[[], list[str]]:
    """Return a function that calls a route and returns the notices of its answer."""

    def notices() -> list[str]:
        parts, rest = unpacked(answer(route, urlencode(values).encode()))
        found: list[str] = (parts if "notices" in parts else unpacked(rest)[0])["notices"]
        return found

    return notices


def all_lessons() -> tuple[str, ...]:
    layer = random_layer.traced(TEXT, 2, "efficient", None)
    for lesson in LESSONS.values():
        lesson(layer, 1)
    return layer.notices


def by_hand() -> tuple[str, ...]:
    found, at = layer_tensors(CAUSAL, 1), Cursor(1, 2, 3)
    for part in (embeddings.embedding_blocks, real_cell.cell_blocks, real_cell.entropy_blocks):
        part(found, CAUSAL, at)
    return (*dict.fromkeys((*found.notices, *embeddings.cached_steps(CAUSAL).notices)),)


def positions() -> list[str]:
    found = in_model.on_model(TEXT, None)
    in_model.table(found)
    in_model.problem(TEXT)
    in_model.amplitudes(TEXT, 1.0)
    for name in ("learned", "shaw", "rotary"):
        encodings.build(name, encodings.TableSizes(7, 384, 12), 1.0)
    return found.notices


def of_pairs() -> list[str]:
    assert single_flight.run_heavy(pictures.ablation_cosines, CAUSAL).device == torch.device("cpu")
    assert orders.explain(TEXT, "the man bit the dog")
    left, right = (pictures.picture(Settings(TWICE, mask, "none")) for mask in ("none", "causal"))
    assert pairs.story(left, 0, 2)
    return [*dict.fromkeys((*left.run.notices, *right.run.notices))]


def masked() -> list[str]:
    settings, at = Settings(TWICE, "causal & !window:1"), Cursor(2, 1)
    assert effects.compare_renormalised(CAUSAL, at)
    assert effects.empty_rows(settings, at)
    assert padding.blocks(TEXT, "a much longer sentence than that one is")
    assert padding.compare_batch(TEXT, "a much longer sentence than that one is")
    return call("masks", s=TWICE, mask="causal")()


def more_than_two() -> list[str]:
    found = multiple_maps.blocks(LinkQuery(urlencode({"s": TWICE, "at": "1.0"}).encode()))
    return [sentence for block in found for sentence in block.get("sentences", [])]


MESSAGES: dict[str, Callable[[], Any]] = {
    "a mask": call("maps", s=TWICE, mask="causal", look="values"),
    "the difference of the mean": call("maps", s=TWICE, off="L0 H0", look="difference_mean"),
    "a writer": call("maps", model="words-2layers-1", s="apple ball apple", t="0.5", look="difference_surprise_random"),
    "a pair of sentences": call("pair", s=TWICE, s2="the man bit the dog", row="1", word="cat"),
    "heads, orders, stories": of_pairs,
    "masks": masked,
    "steps": call("steps", s=TWICE, mask="causal", impl="naive", vs="efficient"),
    "lessons on the layer": all_lessons,
    "by hand": by_hand,
    "positions": positions,
    "more than two": more_than_two,
    "parity on a sentence": lambda: parity.compare_sentence(CAUSAL, 1).notices,
    "parity on random numbers": lambda: parity.compare_random(parity.InputSizes(2, 8, 24, 4), "causal", "auto").notices,
    "scaled dot product": lambda: compare(CASES["heads"], "auto")[2],
}
ONCE = {"parity on random numbers", "scaled dot product"}  # that run no model
ONE_PASS = {"lessons on the layer"}  # a model is run once, and the layer is copied to the CPU


@pytest.mark.gpu
def test_messages_and_verdicts_on_a_real_gpu() -> None:
    for name, message in MESSAGES.items():
        single_flight.clear_caches()
        assert pictures.picture(TEXT).run.device.type == "cuda"
        assert list(message()) == [], name
    for lesson, found in COURSE.items():
        single_flight.clear_caches()
        for step in found.steps:
            assert verdict(step, Query(step.query.encode("ascii"))).picked == step.answer, lesson


def test_message_on_a_gpu_that_is_full_or_becomes_it_says_so_once(gpu: Callable[[int], Gpu]) -> None:
    for name in MESSAGES:
        device = gpu(1)
        device.full = name in ONCE
        assert list(MESSAGES[name]()) == ([] if name in ONE_PASS else [NOTICE]), name
        assert device.full, name
    gpu(0)  # full from the start
    assert list(MESSAGES["a writer"]()) == [NOTICE]
