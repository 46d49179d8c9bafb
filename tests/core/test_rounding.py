"""The bound on rounding: it holds for every form and in every order of the sums, and is not blind."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS, Model, Weights, masks, split_heads
from mha_core.measure import agreement, rounding
from mha_core.measure.agreement import agreements, load_layer, random_weights
from tests.closeness import relative_error

from .conftest import TIRED

pytestmark = pytest.mark.numeric

MASKS = ["none", "causal", "window:1", "window:3", "sinks:1", "causal & window:2 | sinks:1"]


def allowed(mask: str, n: int) -> Tensor | None:
    return None if mask == "none" else masks.allow(masks.parse(mask), n, n)


def spread(weights: Weights, n_heads: int, x: Tensor) -> rounding.Spread:
    return rounding.spread(load_layer("efficient", weights, n_heads, torch.float64), x.double())


def in_one_chain(a: Tensor, b: Tensor) -> Tensor:
    """a (…, i, n) times b (…, n, j), one product after the other: the longest chain of roundings that there is."""
    total = a[..., :, 0, None] * b[..., None, 0, :]
    for place in range(1, a.shape[-1]):
        total = total + a[..., :, place, None] * b[..., None, place, :]
    return total


def dense(weights: Weights, n_heads: int, x: Tensor) -> tuple[Tensor, Tensor]:
    """out and maps of a layer with all biases, every sum in one long chain."""
    heads = []
    for matrix, bias in ((weights.q, weights.q_bias), (weights.k, weights.k_bias), (weights.v, weights.v_bias)):
        assert bias is not None
        heads.append(split_heads(in_one_chain(x, matrix.T) + bias, n_heads).transpose(1, 2))
    q, k, v = heads
    scores = in_one_chain(q, k.mT) / math.sqrt(q.shape[-1])
    powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    maps = powers / in_one_chain(powers, torch.ones(powers.shape[-1], 1, dtype=powers.dtype))
    assert weights.o_bias is not None
    return in_one_chain(in_one_chain(maps, v).transpose(1, 2).flatten(2), weights.o.T) + weights.o_bias, maps


@pytest.mark.parametrize("layer", [0, 5])
def test_every_form_is_within_it_on_a_layer(minilm: Model, layer: int, monkeypatch: pytest.MonkeyPatch) -> None:
    own = minilm.stack.block(layer).attention
    weights = own.save()
    monkeypatch.setattr(agreement, "load_layer", cache(load_layer))  # to make a form costs more than its pass
    for mask in MASKS:
        run = minilm.run(TIRED, mask=mask)
        x = run.hidden[layer].unsqueeze(0)
        found = agreements(weights, own.n_heads, x, allow=allowed(mask, len(run.ids)))
        shares = {name: one.share for name, one in found.items()}
        assert max(shares.values()) <= 1, (mask, shares)


@pytest.mark.parametrize(("n", "d_model", "n_heads"), [(1, 1, 1), (3, 8, 4), (40, 12, 2), (9, 96, 3), (30, 256, 8)])
def test_the_longest_chain_of_roundings_is_within_it_and_no_stranger_to_it(n: int, d_model: int, n_heads: int) -> None:
    weights, x = random_weights(d_model), torch.randn(2, n, d_model)
    out, maps = dense(weights, n_heads, x)
    exact = Weights(*(t.double() for _, t in weights.items() if t is not None))
    true_out, true_maps = dense(exact, n_heads, x.double())
    found = spread(weights, n_heads, x)
    for distance, bound in (
        (relative_error(out, true_out), rounding.bound(found.out, torch.float32)),
        (relative_error(maps, true_maps), rounding.bound(found.maps, torch.float32)),
    ):
        assert distance <= bound
        assert n == 1 or distance >= bound / 50, "a bound so far off would let mistakes pass"


def test_a_matrix_of_ten_bits_is_beyond_it() -> None:
    """What a graphics card does to products in TF32 is no rounding of float32."""
    weights, x = random_weights(96), torch.randn(2, 12, 96)
    bound = rounding.bound(spread(weights, 4, x).out, torch.float32)
    for name in IMPLEMENTATIONS:
        exact = load_layer(name, weights, 4)(x)[0]
        for spoilt in ("q", "k", "v", "o"):
            coarse = getattr(weights, spoilt).half().float()
            out = load_layer(name, replace(weights, **{spoilt: coarse}), 4)(x)[0]
            assert relative_error(out, exact) > 2 * bound, (name, spoilt)


@pytest.mark.parametrize("lengths", [(16, 16), (64, 512), (384, 12, 15, 384)], ids=str)
def test_sums_behind_sums_are_within_theirs_and_near_it(lengths: tuple[int, ...]) -> None:
    """A chain of products of positive matrices, each rounded: relative to the sum of the sizes of all terms."""
    factors = [torch.rand(rows, columns) for rows, columns in pairwise((*lengths, 200))]
    x = torch.rand(50, lengths[0])
    single, true = x, x.double()
    for factor in factors:
        single, true = in_one_chain(single, factor), true @ factor.double()
    apart, bound = ((single.double() - true) / true).abs(), rounding.sum_bound(*lengths)
    assert apart.max() <= bound <= 45 * apart.square().mean().sqrt()
