"""Properties of attention that every implementation has: what each head, token and mask may change, and dropout."""

import math
from typing import cast

import pytest
import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS, Weights, masks
from mha_core.errors import Unsupported
from mha_core.measure.measures import relative_difference

from .attention_cases import PAIRS, B, C, Case, H, build, each
from .dense import Counting, random_weights

pytestmark = pytest.mark.numeric

with_heads = pytest.mark.parametrize("name", [name for name, kind in IMPLEMENTATIONS.items() if "heads" in kind.can])


@each
def test_every_shape_of_a_mask(name: str) -> None:
    layer, inputs = IMPLEMENTATIONS[name](C, H), (torch.randn(B, 4, C), torch.randn(B, 6, C))
    for shape in ((4, 6), (H, 4, 6), (1, 1, 4, 6), (B, 1, 4, 6), (1, H, 4, 6), (B, H, 4, 6)):
        allow = torch.rand(shape) < 0.5
        if name == "torch":
            allow[..., 0] = True  # it mixes the heads, so it cannot leave a row empty in one of them
        if H in shape[-3:-2] and "head_mask" not in layer.can:
            with pytest.raises(Unsupported, match="head_mask"):
                layer(*inputs, allow=allow)
            continue
        _, maps = layer(*inputs, allow=allow)
        assert maps is not None
        assert not maps[~allow.expand(B, H, 4, 6)].any()
        torch.testing.assert_close(maps.sum(-1), allow.any(-1).float().expand(B, H, 4))


@with_heads
def test_a_head_switched_off_takes_away_its_own_contribution(name: str) -> None:
    weights = random_weights(C, True, True, torch.float64)
    layer, x = build(name, weights), torch.randn(B, 5, C, dtype=torch.float64)
    on, maps = layer(x)
    assert weights.v_bias is not None
    for head in range(H):
        off, maps_off = layer(x, heads=torch.arange(H) != head)
        channels = slice(head * C // H, (head + 1) * C // H)
        v = x @ weights.v[channels].T + weights.v_bias[channels]
        contribution = maps[:, head] @ v @ weights.o[:, channels].T
        assert relative_difference(on - off, contribution) <= 1e-13
        assert torch.equal(maps_off, maps)  # it still looks; it is only not heard
    silent, _ = layer(x, heads=torch.zeros(H, dtype=torch.bool))
    torch.testing.assert_close(silent, cast(Tensor, weights.o_bias).expand_as(silent))


@with_heads
def test_heads_may_differ_within_a_batch(name: str) -> None:
    layer = IMPLEMENTATIONS[name](C, H).double().eval()
    x, heads = torch.randn(B, 4, C, dtype=torch.float64), torch.tensor([[True, False, True], [False, False, True]])
    out, _ = layer(x, heads=heads)
    expected = torch.cat([layer(x[n : n + 1], heads=heads[n])[0] for n in range(B)])
    assert relative_difference(out, expected) <= 1e-14


@each
def test_without_a_batch(name: str) -> None:
    layer = IMPLEMENTATIONS[name](C, H)
    for pair in PAIRS:
        inputs, _ = Case("none", pair, "plain").inputs(torch.float32)
        out, maps = layer(*(x[0] for x in inputs))
        batched_out, batched_maps = layer(*(x[:1] for x in inputs))
        assert out.shape == inputs[0][0].shape
        assert torch.equal(out, batched_out[0])
        assert torch.equal(maps, batched_maps[0])
        out, maps = layer(*(x[0] for x in inputs), need_weights=False)
        assert maps is None
        assert relative_difference(out, batched_out[0]) <= 1e-6
    _, maps = layer(torch.randn(5, C), allow=masks.allow(masks.causal, 5, 5)[0, 0])
    assert torch.equal(maps > 0, torch.ones(H, 5, 5).tril().bool())


@each
def test_dropout_acts_on_the_mixing_and_not_on_the_maps(name: str) -> None:
    torch.manual_seed(0)
    layer = IMPLEMENTATIONS[name](C, H, dropout=0.5)
    x = torch.randn(1, 5, C).expand(4000, 5, C).contiguous()
    layer.eval()
    calm, calm_maps = layer(x)
    assert torch.equal(layer(x)[0], calm)
    layer.train()
    for need_weights in (True, False):
        out, maps = layer(x, need_weights=need_weights)
        spread = out.std(dim=0)
        assert spread.min() > 0.01
        # the mean of 4000 draws lies within 5 standard errors of what is expected: the result without dropout
        assert ((out.mean(dim=0) - calm[0]).abs() <= 5 * spread / math.sqrt(4000)).all()
        if need_weights:
            torch.testing.assert_close(maps, calm_maps)
            torch.testing.assert_close(maps.sum(-1), torch.ones(4000, H, 5))
        else:
            assert maps is None


@each
def test_the_spread_of_dropout_is_that_of_independent_weights(name: str) -> None:
    """With v constant over the keys, mixed = v · Σ wⱼ mⱼ / (1 − p), whose variance is v² p / (1 − p) Σ wⱼ²."""
    torch.manual_seed(0)
    layer, eye = IMPLEMENTATIONS[name](4, 1, dropout=0.25), torch.eye(4)
    zero = torch.zeros(4)
    layer.load(Weights(eye, eye, 0 * eye, eye, zero, zero, torch.ones(4), zero)).train()
    out, maps = layer(torch.randn(1, 6, 4).expand(20000, 6, 4).contiguous())
    assert maps is not None
    expected = 0.25 / 0.75 * maps[0, 0].square().sum(-1)
    torch.testing.assert_close(out[..., 0].var(dim=0), expected, rtol=0.1, atol=0)


@each
def test_without_dropout_training_changes_nothing(name: str) -> None:
    layer, x = IMPLEMENTATIONS[name](C, H), torch.randn(B, 5, C)
    assert torch.equal(layer.train()(x)[0], layer.eval()(x)[0])


@each
def test_add_is_asked_once_for_each_distinct_tensor(name: str) -> None:
    for shape in ((B, 4, C), (4, C)):
        layer, x, y, z = IMPLEMENTATIONS[name](C, H), *(torch.randn(shape) for _ in range(3))
        for inputs, times in (((x,), 1), ((x, x, x), 1), ((x, y), 2), ((x, y, y), 2), ((x, y, x), 2), ((x, y, z), 3)):
            position = Counting()
            layer(*inputs, position=position)
            assert position.added == times
        assert torch.equal(layer(x, y, z, position=Counting())[0], layer(x + 1, y + 1, z + 1)[0])


@each
def test_runs_are_bit_equal(name: str) -> None:
    layer, x = IMPLEMENTATIONS[name](64, 4), torch.randn(4, 50, 64)
    first_out, first_maps = layer(x)
    for _ in range(3):
        out, maps = layer(x)
        assert torch.equal(out, first_out)
        assert torch.equal(maps, first_maps)


@each
def test_masks_and_heads_are_moved_to_the_querys_device(name: str) -> None:
    layer, x = IMPLEMENTATIONS[name](C, H).to("meta"), torch.randn(B, 4, C, device="meta")
    options = {"heads": torch.ones(H, dtype=torch.bool)} if "heads" in layer.can else {}
    out, maps = layer(x, allow=torch.ones(4, 4, dtype=torch.bool), **options)
    assert out.device.type == "meta"
    assert maps is not None
    assert maps.device.type == "meta"
