"""Measures against counting by hand; implementations and transformers against each other; what each bias changes."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS, Model, Weights, load_model, masks
from mha_core.errors import HeadlightError, SizeError, Unsupported
from mha_core.measure import agreement, measures, reference
from mha_core.measure.agreement import BIASES, random_weights
from mha_core.measure.biases import bias_effects
from mha_core.models import stack
from mha_core.models.own_model import OwnModel
from tests.closeness import SAME_FUNCTION, identical, same_function

from .conftest import TIRED

pytestmark = pytest.mark.numeric


def of(*numbers: Any) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def test_cosine_and_differences_of_two_tensors() -> None:
    a, b = of(3, 4, 0), of(0, 2, 0)
    same_function(measures.cosine(a, a), 1.0)
    same_function(measures.cosine(a, -2 * a), -1.0)
    same_function(measures.cosine(a, b), 0.8)
    same_function(measures.relative_difference(of([3, 0], [0, 8]), of([0, 0], [0, 4])), math.hypot(3, 4) / 4)
    assert measures.relative_difference(a, 0 * b) == math.inf
    assert measures.largest_difference(of(1, -2), of(1.5, 1)) == 3
    for measure in (measures.relative_difference, measures.largest_difference, measures.cosine, measures.row_distances):
        with pytest.raises(SizeError, match=r"\(2, 1\) and \(2,\)"):
            measure(torch.zeros(2, 1), torch.zeros(2))


def test_difference_to_transformers(minilm64: Model, tiny_folder: Path, tiny: Model) -> None:
    assert reference.difference_to_transformers(minilm64, TIRED) <= SAME_FUNCTION
    model = load_model(str(tiny_folder), device="cpu", dtype=torch.float64)
    assert reference.difference_to_transformers(model, "a b c") <= SAME_FUNCTION
    model.stack.words.weight[4, 0] += 0.5
    assert reference.difference_to_transformers(model, "a b c") > 0.01
    with pytest.raises(Unsupported, match="'made up' was not read from a folder"):
        reference.difference_to_transformers(OwnModel("made up", tiny.tokenizer, tiny.stack, origin="random"), "a")


def test_row_distances_and_the_largest_change() -> None:
    a = of([1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5], [0, 0, 0])
    b = of([0, 0, 1], [0.5, 0.5, 0], [0.3, 0.3, 0.4], [0.2, 0.3, 0.5])
    same_function(measures.row_distances(a, b), of(1, 0, 0.1, 0.5))
    a, b = torch.zeros(3, 4), torch.zeros(3, 4)
    assert measures.largest_change(a, b) == measures.Change(0, 0, 0)
    a[1, 3] = 0.5
    assert measures.largest_change(a, b) == measures.Change(1, 3, -0.5)


def test_repeated_words() -> None:
    weights = torch.rand(2, 3, 5, 5)
    assert measures.repeated_words(weights, [5, 6, 7, 8, 9]) is None
    found = measures.repeated_words(weights, [5, 6, 7, 6, 6])
    assert found is not None
    assert found.places == (1, 3, 4)
    pairs = [(weights[:, :, one] - weights[:, :, other]).abs().max() for one in (1, 3, 4) for other in (1, 3, 4)]
    assert found.difference == max(pairs)


def test_a_new_order_has_the_same_words(minilm64: Model) -> None:
    assert measures.new_positions([1, 7, 8, 7, 2], [1, 7, 7, 8, 2]) == [0, 1, 3, 2, 4]
    with pytest.raises(HeadlightError, match="keep every word"):
        measures.difference_in_new_order(minilm64.run("how are you"), minilm64.run("you how is"))


ORDER = "street because the was animal tired cross too it the didn't"


def test_without_positions_and_mask_permuting_words_permutes_outputs(minilm64: Model) -> None:
    def apart(**switches: Any) -> float:
        return measures.difference_in_new_order(*(minilm64.run(text, **switches) for text in (TIRED, ORDER)))

    assert apart(position="none") <= SAME_FUNCTION
    for position in ("trained", "sinusoidal"):
        assert apart(position=position) > 0.1
    for mask in ("causal", "window:3"):
        assert apart(position="none", mask=mask) > 0.1


@pytest.mark.parametrize(
    "switches",
    [{}, {"heads_off": [(0, 1), (1, 2)], "temperature": 0.5}, {"mask": masks.sinks(1), "position": "sinusoidal"}],
)
def test_ablate_each_head_is_a_run_a_head_and_can_be_stopped(
    tiny64: Model, monkeypatch: pytest.MonkeyPatch, switches: dict[str, Any]
) -> None:
    monkeypatch.setattr(stack, "TOKENS_AT_ONCE", 15)  # as of a long text, whose heads go in parts
    progress: list[float] = []
    found = measures.ablate_each_head(tiny64, "a b c d a", on_progress=progress.append, **switches)
    assert found.shape == (2, 3)
    whole, off = tiny64.run("a b c d a", **switches).sentence, switches.get("heads_off", [])
    for layer in range(2):
        for head in range(3):
            run = tiny64.run("a b c d a", **{**switches, "heads_off": [*off, (layer, head)]})
            same_function(float(found[layer, head]), measures.cosine(run.sentence, whole))
    assert progress == sorted(progress)
    assert progress[-1] == 1

    def stop(done: float) -> None:
        raise InterruptedError(done)

    with pytest.raises(InterruptedError):
        measures.ablate_each_head(tiny64, "a b", on_progress=stop)


def test_agreement_is_not_blind(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = IMPLEMENTATIONS["einsum"]

    class Wrong(kind):  # type: ignore[misc, valid-type]
        def load(self, weights: Weights) -> Wrong:
            return super().load(replace(weights, v_bias=torch.zeros(12)))  # type: ignore[no-any-return]

    monkeypatch.setitem(IMPLEMENTATIONS, "einsum", Wrong)
    found = agreement.agreements(random_weights(12), 3, torch.randn(2, 5, 12))
    assert found["einsum"].out.relative > 0.01
    assert found["einsum"].share > 1000
    assert found["fused"].share < 1


def test_the_key_bias_changes_nothing_and_the_others_do() -> None:
    weights, x = random_weights(12), torch.randn(2, 7, 12, generator=torch.Generator().manual_seed(3))
    effects = {effect.name: effect for effect in bias_effects(weights, 3, x, allow=masks.allow(masks.causal, 7, 7))}
    assert list(effects) == ["q", "k", "v", "o"]
    assert all(effect.numbers == 12 for effect in effects.values())
    assert max(effects["k"].out, effects["k"].maps) < SAME_FUNCTION
    assert min(effects["q"].maps, effects["q"].spread) > 0.001
    for name in ("v", "o"):
        assert effects[name].maps == 0
        assert effects[name].out > 0.01
        assert effects[name].spread < SAME_FUNCTION, "the same shift for every token"


@pytest.mark.parametrize("biases", BIASES)
def test_random_weights_have_the_chosen_biases(biases: str) -> None:
    weights, every = random_weights(12, biases=biases), random_weights(12)
    assert [name[0] for name, one in weights.items() if "bias" in name and one is not None] == list(BIASES[biases])
    identical(weights.q, every.q)
    allow = masks.allow(masks.window(2), 5, 5)
    for dtype in (torch.float32, torch.float64):
        found = agreement.agreements(weights, 3, torch.randn(2, 5, 12), allow=allow, dtype=dtype)
        assert list(found) == list(IMPLEMENTATIONS)
        assert max(one.share for one in found.values()) <= 1
        assert dtype == torch.float32 or max(one.worst for one in found.values()) <= SAME_FUNCTION
    assert [effect.name for effect in bias_effects(weights, 3, torch.randn(1, 4, 12))] == list(BIASES[biases])
