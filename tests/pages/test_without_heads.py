"""Every head switched off alone: computed once for a page, Compare, and for a lesson, one at a time, and broken off."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from mha_core import Model
from mha_core.measure import measures
from pages.kit.lessons.evaluate import evaluate
from pages.kit.lessons.grammar import parse
from pages.kit.lessons.quantities.scene import scene_of
from pages.kit.picture import sharing, without_heads
from pages.kit.picture.settings import Settings
from pages.kit.server.queue import QUEUE, Gone, Work
from pages.kit.server.visits import Visitor
from pages.kit.wire import routes

from .conftest import picture_of
from .looped import run
from .waiting import wait


def test_it_is_computed_when_asked_for_and_then_known(model: Model) -> None:
    settings = Settings("a sentence for this test alone")
    assert without_heads.kept(settings) is None
    found = without_heads.cosines(settings)
    assert found.shape == (6, 12)
    assert without_heads.kept(settings) is found
    run, whole = model.run(settings.text, heads_off=[(5, 3)]), model.run(settings.text)
    assert float(found[5, 3]) == pytest.approx(measures.cosine(run.sentence, whole.sentence), abs=1e-6)


def test_a_rule_and_a_page_share_it_and_what_is_known_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    computed, whole = [], measures.ablate_each_head

    def counted(model: Model, text: str, **more: Any) -> torch.Tensor:
        computed.append(text)
        return whole(model, text, **more)

    monkeypatch.setattr(measures, "ablate_each_head", counted)
    sharing.forget()
    found = without_heads.cosines(Settings("how are they"))
    with sharing.alone():  # it would wait for ever
        need = evaluate(parse("need"), scene_of("explore", {"s": "how are they"}))
    assert torch.equal(need.tensor, 1 - found.double())
    assert computed == ["how are they"]


def test_a_rule_that_nobody_waits_for_leaves_the_queue_and_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    sharing.forget()
    scene, begun = scene_of("explore", {"s": "nobody waits"}), threading.Event()

    def endless(*_: Any, on_progress: Callable[[float], object], **__: Any) -> None:
        begun.set()
        wait(lambda: on_progress(0.0))

    def verdict() -> bytes:
        return str(evaluate(parse("need"), scene)).encode()

    def asked(leaves: Callable[[], object]) -> None:
        with pytest.raises(Gone):
            run(QUEUE.answer(Visitor(), "key", verdict, asyncio.to_thread(leaves), work=Work.BELOW))

    with monkeypatch.context() as patched:
        patched.setattr(measures, "ablate_each_head", endless)
        with sharing.alone():
            asked(lambda: time.sleep(0.1))
        assert not begun.is_set()
        asked(begun.wait)
    assert without_heads.kept(Settings("nobody waits")) is None
    assert evaluate(parse("need"), scene).tensor.shape == (6, 12)


# ---- on Compare

LONG = "the cat ran a far way it was so we " * 50  # 502 tokens


def test_one_head_at_a_time(model: Model) -> None:
    found = json.loads(routes.answer("each", b"s=can+you+can+that&mask=causal&mask2=window&s2=how+are+you"))
    cosines = measures.ablate_each_head(model, "can you can that", mask="causal")
    assert np.allclose(found["cosines"], cosines, atol=1e-6)
    layer, head = divmod(int(cosines.argmin()), 12)
    assert f"Switching off layer {layer} head {head} changes" in found["said"]
    assert found["title"] == f"L{layer} H{head} matters most"


@pytest.mark.parametrize(("text", "is_quick"), [("how are you", True), (LONG, False)])
def test_a_long_sentence_is_asked_about_first(text: str, is_quick: bool) -> None:
    assert picture_of("pair", s=text)[0]["eachIsQuick"] == is_quick


def test_it_is_heavy_work_where_it_is_not_known() -> None:
    assert routes.work_of("each", b"") is Work.BELOW
    passes, known = list[str](), b"s=how+are+you"
    routes.answer("each", known)

    def compute(raw: bytes) -> bytes:
        passes.append(raw.decode())
        return routes.answer("each", raw)

    async def ask(raw: bytes) -> bytes:
        return await QUEUE.answer(Visitor(), raw, lambda: compute(raw), asyncio.Event().wait(), work=Work.BELOW)

    run(ask(known))
    run(ask(b"s=nobody+asked+for+this"))
    assert passes == ["s=how+are+you", *["s=nobody+asked+for+this"] * 2], "it began anew among the heavy ones"
