"""Properties of attention that every implementation has: what each head, token and mask may change, and dropout."""

from __future__ import annotations

import pytest
import torch

from mha_core import IMPLEMENTATIONS, Weights, masks
from mha_core.measure import rounding
from tests.closeness import relative_error, same_function, within_rounding

from .attention_cases import PAIRS, B, C, Case, H, each

pytestmark = pytest.mark.numeric

ROW = rounding.sum_bound(20, C, C)  # of a row's sum in float32: its scores, and the sum


@pytest.mark.parametrize("name", [name for name, kind in IMPLEMENTATIONS.items() if "heads" in kind.can])
def test_each_sample_can_have_other_heads_off(name: str) -> None:
    layer, x = IMPLEMENTATIONS[name](C, H).double(), torch.randn(B, 5, C, dtype=torch.float64)
    heads = torch.tensor([[True, False, True], [False, False, True]])
    expected = torch.cat([layer(x[n : n + 1], heads=heads[n])[0] for n in range(B)])
    same_function(layer(x, heads=heads)[0], expected)


@each
def test_without_a_batch_and_samples_do_not_see_each_other(name: str) -> None:
    layer = IMPLEMENTATIONS[name](C, H).double()
    for pair in PAIRS:
        inputs, _ = Case("none", pair, "plain").inputs(torch.float64)
        out, maps = layer(*(x[0] for x in inputs))
        batched_out, batched_maps = layer(*inputs)
        assert out.shape == inputs[0][0].shape
        same_function(out, batched_out[0])
        same_function(maps, batched_maps[0])
        out, maps = layer(*(x[1] for x in inputs), need_weights=False)
        assert maps is None
        same_function(out, batched_out[1])
    _, maps = layer(torch.randn(5, C, dtype=torch.float64), allow=masks.allow(masks.causal, 5, 5)[0, 0])
    assert torch.equal(maps > 0, torch.ones(H, 5, 5).tril().bool())


@each
def test_padding_and_the_future_change_nothing(name: str) -> None:
    layer, x = IMPLEMENTATIONS[name](C, H).double(), torch.randn(1, 5, C, dtype=torch.float64)
    padded = torch.cat((x, 100 * torch.randn(1, 3, C, dtype=torch.float64)), dim=1)
    out, maps = layer(padded, allow=masks.allow(masks.full, 8, 8, torch.arange(8)[None] < 5))
    alone_out, alone_maps = layer(x)
    same_function(out[:, :5], alone_out)
    same_function(maps[:, :, :5, :5], alone_maps)
    other = torch.cat((x, torch.randn(1, 3, C, dtype=torch.float64)), dim=1)
    allow = masks.allow(masks.causal, 8, 8)
    before, after = layer(padded, allow=allow)[0], layer(other, allow=allow)[0]
    same_function(before[:, :5], after[:, :5])
    assert relative_error(before[:, 5:], after[:, 5:]) > 0.1


@each
def test_dropout_is_that_of_independent_weights_and_leaves_the_maps_alone(name: str) -> None:
    """With v constant over the keys, mixed = v · Σ wⱼ mⱼ / (1 − p), whose variance is v² p / (1 − p) Σ wⱼ²."""
    layer, eye, zero = IMPLEMENTATIONS[name](4, 1, dropout=0.25), torch.eye(4), torch.zeros(4)
    layer.load(Weights(eye, eye, 0 * eye, eye, zero, zero, torch.ones(4), zero))
    x = torch.randn(1, 6, 4).expand(8000, 6, 4).contiguous()
    calm, calm_maps = layer.eval()(x)
    within_rounding(calm, torch.ones(8000, 6, 4), ROW)
    expected = 0.25 / 0.75 * calm_maps[0, 0].square().sum(-1)
    layer.train()
    for need_weights in (True, False):
        out, maps = layer(x, need_weights=need_weights)
        assert (maps is not None) == need_weights
        if maps is not None:
            within_rounding(maps, calm_maps, ROW)
            within_rounding(maps.sum(-1), torch.ones(8000, 1, 6), ROW)
        assert ((out[..., 0].mean(dim=0) - 1).abs() < 0.05).all()
        # of a variance of 8,000 draws a tenth is six standard errors
        assert ((out[..., 0].var(dim=0) / expected - 1).abs() < 0.1).all()
