"""What each bias changes, against algebra: the key's nothing, value's and output's one constant row."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from mha_core import IMPLEMENTATIONS, masks
from mha_core.measure.agreement import BIASES, agreements, key_bias_gradient, loaded, random_weights
from mha_core.measure.biases import bias_effects


def test_the_key_bias_changes_nothing_and_the_others_do() -> None:
    weights, x = random_weights(12), torch.randn(2, 7, 12, generator=torch.Generator().manual_seed(3))
    effects = {effect.name: effect for effect in bias_effects(weights, 3, x, allow=masks.allow(masks.causal, 7, 7))}
    assert list(effects) == ["q", "k", "v", "o"]
    assert all(effect.numbers == 12 for effect in effects.values())
    assert effects["k"].out < 1e-14
    assert effects["k"].maps < 1e-14
    assert effects["q"].maps > 1e-3
    for name in ("v", "o"):
        assert effects[name].maps == 0
        assert effects[name].out > 1e-2
        assert effects[name].spread < 1e-14, "the same shift for every token"
    assert effects["q"].spread > 1e-3


def test_the_shift_of_the_value_bias_is_its_image_under_the_output_matrix() -> None:
    weights, x = random_weights(12, dtype=torch.float64), torch.randn(1, 5, 12, dtype=torch.float64)
    assert weights.v_bias is not None
    with torch.no_grad():
        out, _ = loaded("efficient", weights, 3, torch.float64)(x)
        bare, _ = loaded("efficient", replace(weights, v_bias=torch.zeros(12)), 3, torch.float64)(x)
    torch.testing.assert_close(out - bare, (weights.o @ weights.v_bias).expand(1, 5, 12))


@pytest.mark.parametrize("biases", BIASES)
def test_random_weights_have_the_biases_that_are_asked_for(biases: str) -> None:
    weights, every = random_weights(12, biases=biases), random_weights(12)
    assert [name[0] for name, one in weights.items() if "bias" in name and one is not None] == list(BIASES[biases])
    assert torch.equal(weights.q, every.q)
    found = agreements(weights, 3, torch.randn(2, 5, 12), dtype=torch.float64)
    assert list(found) == list(IMPLEMENTATIONS)
    assert max(one.worst for one in found.values()) <= 1e-14
    assert [effect.name for effect in bias_effects(weights, 3, torch.randn(1, 4, 12))] == list(BIASES[biases])
    assert "k" in BIASES[biases] or key_bias_gradient(weights, 3, torch.randn(1, 5, 12)) == 0
