"""The sentences that are one click away."""

from __future__ import annotations

from mha_core import Model
from pages.kit.picture.limits import LONGEST_TEXT
from pages.kit.picture.presets import PRESETS


def test_presets(model: Model) -> None:
    tired = "The animal didn't cross the street because it was too tired"
    assert PRESETS[0] == tired
    assert {
        tired,
        tired.replace("tired", "wide"),
        "can you can that",
        "how are you",
        "orange is my favorite fruit",
    } <= set(PRESETS)
    assert len(set(PRESETS)) == len(PRESETS)
    for text in PRESETS:
        assert len(text) <= LONGEST_TEXT
        assert "[UNK]" not in model.run(text).tokens
