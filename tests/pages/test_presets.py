"""The sentences that are one click away."""

from __future__ import annotations

from mha_core import Model
from pages.kit.picture.limits import LONGEST_TEXT
from pages.kit.picture.presets import EXAMPLES, PRESETS, TO_GO_ON


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
    for examples in (EXAMPLES, TO_GO_ON):
        assert len({example.name for example in examples}) == len(examples), "a name tells its sentence from the others"
    for text in PRESETS:
        assert len(text) <= LONGEST_TEXT
        assert "[UNK]" not in model.run(text).tokens
