"""Every head switched off alone, on the Compare page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from mha_core.measure import compare
from pages.kit.picture import pictures, without_heads
from pages.kit.picture.settings import Settings

from .conftest import answers, app_at, component, control, told_to, unpacked

LONG = "the cat ran a far way it was so we " * 50  # 502 tokens


def test_one_head_at_a_time() -> None:
    app = app_at("compare", s="can you can that", mask="causal").run()
    found = told_to(component(app, "heads"))
    settings = Settings("can you can that", "causal")
    cosines = compare.without_each_head(pictures.model_on("auto"), settings.text, mask="causal")
    assert np.allclose(found["cosines"], cosines, atol=1e-6)
    layer, head = divmod(int(cosines.argmin()), 12)
    assert f"Switching off layer {layer} head {head} changes" in found["said"]
    assert found["title"] == f"L{layer} H{head} is missed most"


def test_a_long_sentence_is_asked_about_first(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def cosines(settings: Settings, told: Any) -> torch.Tensor:
        asked.append(settings.text)
        return torch.full((6, 12), 0.5)

    monkeypatch.setattr(without_heads, "cosines", cosines)
    app = app_at("compare", s=LONG).run()
    assert asked == []
    (packed,) = answers("pair", control(app, "pair")["query"])
    assert len(unpacked(packed)[0]["sides"][0]["tokens"]) == 502
    app.button(key="each").click().run()
    assert asked == [LONG]
    assert told_to(component(app, "heads"))["shown"][0][0] == "0.5000"
