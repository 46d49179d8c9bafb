"""The effect of a mask in words: the cause is said where the tensors show it, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from mha_core import Model, Run
from pages.kit.picture import sharing
from pages.kit.picture.place import At
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.masks import effects

CAUSAL = Settings(PRESETS[0], "causal")
EARLIER = "the layers below were masked too, so the words have changed"
FIRST = "In layer 0 it would be enough"


@pytest.fixture(autouse=True)
def _empty_caches() -> None:
    sharing.forget()


def test_in_the_first_layer_the_mask_only_renormalises() -> None:
    said = effects.renormalised(CAUSAL, At(0, 2))
    assert "Yes, here that gives the same weights (largest difference" in said
    assert EARLIER not in said


def test_later_layers_differ_because_the_tokens_do() -> None:
    said = effects.renormalised(CAUSAL, At(3, 1))
    assert "No, the weights would differ by up to" in said
    assert EARLIER in said
    assert said.endswith(f"{FIRST}.")


def test_a_cause_that_the_tensors_do_not_show_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer that differs although the same tokens came in: no earlier layer can be the reason."""
    run = Model.run

    def skewed(self: Model, text: str, **options: object) -> Run:
        found = run(self, text, **options)  # type: ignore[arg-type]
        if options.get("mask") != "causal":
            return found
        weights = found.weights.clone()
        weights[0] = torch.softmax(weights[0], dim=-1)
        return replace(found, weights=weights)

    monkeypatch.setattr(Model, "run", skewed)
    said = effects.renormalised(CAUSAL, At(0, 2))
    assert "No, the weights would differ by up to" in said
    assert EARLIER not in said
    later = effects.renormalised(CAUSAL, At(3, 1))
    assert EARLIER in later
    assert FIRST not in later


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([[0.5, 0.5], [1.0, 0.0]], "row sums 1.0000"),
        ([[0.5, 0.25], [1.0, 0.0]], "row sums 0.7500 to 1.0000"),
        ([[0.0, 0.0], [1.0, 0.0]], "row sums 1.0000 · one row empty"),
        ([[0.0, 0.0], [0.0, 0.0]], "all 2 rows empty"),
    ],
)
def test_sums_in_words(weights: list[list[float]], said: str) -> None:
    assert effects.sums_in_words(torch.tensor(weights)) == said
