"""What a change did: the largest change of a weight between two words, in each layer."""

from __future__ import annotations

import pytest

from pages.explore.effect import effect
from pages.kit.picture import pictures
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings

TEXT = PRESETS[0]
CHANGES = [
    Settings(TEXT, "causal"),
    Settings(TEXT, position="none"),
    Settings(TEXT, temperature=2.0),
    Settings(TEXT, heads_off=((3, 1),)),
]


def test_nothing_is_told_while_nothing_is_changed() -> None:
    assert effect(pictures.picture(Settings(TEXT))) is None


@pytest.mark.parametrize("settings", CHANGES, ids=str)
def test_it_is_the_largest_one(settings: Settings) -> None:
    after, before = (pictures.picture(own).run for own in (settings, settings.untouched))
    told = effect(pictures.picture(settings))
    assert told is not None
    words = range(1, len(after.tokens) - 1)
    largest = [
        max(abs(float(own[h, i, j] - other[h, i, j])) for h in range(12) for i in words for j in words)
        for own, other in zip(after.weights, before.weights, strict=True)
    ]
    assert told["layers"] == pytest.approx(largest, abs=1e-7)
    assert told["at"] is not None
    layer, head, row, key = told["at"]
    assert abs(float(after.weights[layer, head, row, key] - before.weights[layer, head, row, key])) == max(
        told["layers"]
    )
    assert told["moved"] == tuple(float(run.weights[layer, head, row, key]) for run in (before, after))


def test_a_head_changes_only_later_layers() -> None:
    told = effect(pictures.picture(CHANGES[3]))
    assert told is not None
    assert told["layers"][:4] == [0, 0, 0, 0]
    assert min(told["layers"][4:]) > 0


def test_what_changes_nothing_says_so() -> None:
    told = effect(pictures.picture(Settings("", "window:9")))
    assert told is not None
    assert told["at"] is None
