"""Every head switched off alone: computed once for a page, Compare, and for a lesson, one at a time, and broken off."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from headlight.lessons.evaluate import evaluate
from headlight.lessons.grammar import parse
from headlight.lessons.quantities.scene import page_scene
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.queue import single_flight, slots
from mha_core import Model
from mha_core.measure import measures, rounding
from tests.closeness import within_rounding

from .conftest import answer, picture_of


def test_ablations_are_computed_once_for_page_and_rule(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    computed, whole, settings = [], measures.ablate_each_head, Settings("how are they")

    def counted(model: Model, text: str, **more: Any) -> torch.Tensor:
        computed.append(text)
        return whole(model, text, **more)

    monkeypatch.setattr(measures, "ablate_each_head", counted)
    single_flight.clear_caches()
    assert single_flight.peek(pictures.ablation_cosines, settings) is None
    found = single_flight.run_heavy(pictures.ablation_cosines, settings)
    assert found.shape == (6, 12)
    assert single_flight.peek(pictures.ablation_cosines, settings) is found
    off, unchanged = model.run(settings.text, heads_off=[(5, 3)]), model.run(settings.text)
    bound = rounding.sum_bound(*[384, 384, 32, 5, 384, 384, 1536] * 6, 384)  # of MiniLM's six layers
    within_rounding(found[5, 3], torch.tensor(measures.cosine(off.sentence, unchanged.sentence)), bound)
    with slots.heavy_slot():  # what is known waits for nobody
        need = evaluate(parse("need"), page_scene("explore", {"s": "how are they"}))
    assert torch.equal(need.tensor, 1 - found.double())
    assert computed == ["how are they"]


def test_compare_ablates_each_head(model: Model) -> None:
    found = json.loads(answer("ablations", b"s=can+you+can+that&mask=causal&mask2=window&s2=how+are+you"))
    cosines = measures.ablate_each_head(model, "can you can that", mask="causal")
    within_rounding(torch.tensor(found["cosines"]), cosines, rounding.sum_bound(*[384] * 6))
    (panel,) = found["blocks"]
    summary, cells = panel["blocks"]
    layer, head = divmod(int(cosines.argmin()), 12)
    assert f"Ablating layer {layer} head {head} changes" in summary["text"]
    assert panel["heading"] == f"L{layer} H{head} has the largest effect"
    assert cells["levels"][layer][head] == 255
    assert picture_of("pair", s="how are you")[0]["eachIsQuick"]
