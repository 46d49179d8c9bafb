"""Rollout, value norms, the flow into one token and a score by its channels, each against another way to compute it."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from mha_core import Model, masks
from mha_core.errors import SizeError, Unsupported
from mha_core.measure.channels import channels
from mha_core.measure.rollout import flow, rollout, with_residual
from mha_core.measure.value_norms import norm_shares, transformed_values
from mha_core.models.decoder import Decoder, DecoderConfig
from mha_core.models.stack import Stack
from tests.closeness import same_function

from .runs import TINY_WORDS, randomised, trained

pytestmark = pytest.mark.numeric


def maps(layers: int, heads: int, n: int, *, causal: bool = False) -> Tensor:
    """Random maps whose rows sum to 1."""
    scores = torch.randn(layers, heads, n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(n))
    allow = masks.allow(masks.causal if causal else masks.full, n, n)[0]
    return scores.masked_fill(~allow, -math.inf).softmax(dim=-1)


def rollout_by_hand(weights: Tensor) -> Tensor:
    """Abnar and Zuidema, number by number: what comes to token i is half its own, half that of whom it looks at."""
    layers, heads, n, _ = weights.shape
    made = [[[float(i == j) for j in range(n)] for i in range(n)]]
    for layer in range(layers):
        below, here = made[-1], [[0.0] * n for _ in range(n)]
        for i in range(n):
            for j in range(n):
                looks = sum(float(weights[layer, head, i, j]) for head in range(heads)) / heads
                for token in range(n):
                    here[i][token] += (0.5 * looks + 0.5 * (i == j)) * below[j][token]
        made.append(here)
    return torch.tensor(made, dtype=torch.float64)


@pytest.mark.parametrize("causal", [False, True])
def test_rollout_is_the_loop(causal: bool) -> None:
    weights = maps(3, 2, 5, causal=causal)
    same_function(rollout(weights), rollout_by_hand(weights))


def test_rollout_of_one_token_and_of_empty_rows() -> None:
    assert torch.equal(rollout(torch.ones(2, 3, 1, 1)), torch.ones(3, 1, 1).double())
    weights = maps(1, 2, 4)
    weights[:, :, 2] = 0
    weights[:, :, 3] /= 2  # half of it goes to no token
    found = with_residual(weights[0].mean(dim=0))
    assert torch.equal(found[2], torch.eye(4).double()[2])
    same_function(found.sum(dim=-1), torch.ones(4).double())
    assert found[3, 3] > 2 / 3


def test_maps_that_are_not_square_are_refused() -> None:
    with pytest.raises(SizeError):
        rollout(torch.ones(2, 2, 3, 4))
    with pytest.raises(SizeError):
        flow(torch.ones(2, 3, 4), 0)
    for row, key in ((3, None), (0, 3)):
        with pytest.raises(SizeError, match="there are 3 tokens"):
            flow(torch.ones(1, 3, 3), row, key)


def grouped() -> Stack:
    """A tiny decoder whose four heads share two values, pre-norm, without biases."""
    stack = Decoder(
        DecoderConfig(vocabulary=20, d_model=16, n_heads=4, n_layers=2, max_len=16, d_feed_forward=8, n_kv_heads=2)
    ).double()
    randomised(stack)
    return stack.eval().requires_grad_(False)


def by_head(stack: Stack, x: Tensor, layer: int, head: int, token: int) -> Tensor:
    """f(x) of one token and head: the head's part of the values, through its part of Wᵒ."""
    block = stack.block(layer)
    weights, d = block.attention.save(), block.attention.d_head
    group = head // (block.attention.n_heads // block.attention.n_kv_heads)
    own = x[token] if block.norm_after else block.attention_norm(x)[token]
    v = weights.v[group * d : (group + 1) * d] @ own
    if weights.v_bias is not None:
        v = v + weights.v_bias[group * d : (group + 1) * d]
    return weights.o[:, head * d : (head + 1) * d] @ v


@pytest.mark.parametrize("kind", ["decoder", "post-norm", "pre-norm"])
def test_value_norms_are_the_loop(kind: str, tiny64: Model) -> None:
    stacks: dict[str, Callable[[], Stack]] = {
        "decoder": grouped,
        "post-norm": lambda: tiny64.stack,
        "pre-norm": lambda: copy.deepcopy(trained(TINY_WORDS).stack).double(),
    }
    stack = stacks[kind]()
    assert stack.block(0).norm_after == (kind == "post-norm")
    with torch.no_grad():
        hidden, weights = stack(torch.tensor([[3, 4, 5, 3]]))
    for layer, (x, looks) in enumerate(zip(hidden[:-1], weights, strict=True)):
        values = transformed_values(stack.block(layer), x[0])
        heads, n = looks.shape[1], looks.shape[2]
        wanted = torch.zeros(n, n, dtype=torch.float64)
        for i in range(n):
            for j in range(n):
                parts = [float(looks[0, h, i, j]) * by_head(stack, x[0], layer, h, j).double() for h in range(heads)]
                wanted[i, j] = torch.stack(parts).sum(dim=0).norm()
        wanted /= wanted.sum(dim=-1, keepdim=True)
        found = norm_shares(looks[0], values)
        same_function(found, wanted)
        same_function(found.sum(dim=-1), torch.ones(n).double())


def test_a_row_without_anything_is_empty_and_shapes_must_fit() -> None:
    weights = torch.eye(3)[None].clone()
    weights[0, 1] = 0
    found = norm_shares(weights, torch.ones(1, 3, 4))
    assert found.sum(dim=-1).tolist() == [1, 0, 1]
    assert torch.equal(with_residual(found)[1], torch.eye(3).double()[1])
    with pytest.raises(SizeError):
        norm_shares(weights, torch.ones(2, 3, 4))


def ways(mixing: Tensor, row: int, key: int) -> dict[tuple[int, ...], float]:
    """Every way from a key up to the row, a token a level, and the product along it."""
    n = mixing.shape[-1]
    found: dict[tuple[int, ...], float] = {(row,): 1.0}
    for layer in reversed(mixing):
        found = {(j, *way): share * float(layer[way[0], j]) for way, share in found.items() for j in range(n)}
    return {way: share for way, share in found.items() if way[0] == key and share > 0}


@pytest.mark.parametrize("causal", [False, True])
def test_the_flow_into_a_token(causal: bool) -> None:
    weights = maps(3, 2, 4, causal=causal)
    mixing, row = with_residual(weights.mean(dim=1)), 2
    found = flow(mixing, row)
    same_function(found.masses[0], rollout(weights)[-1, row])
    same_function(found.masses.sum(dim=-1), torch.ones(4).double())
    assert found.masses[-1].tolist() == [0, 0, 1, 0]
    wanted = {
        (level, above, below): float(found.masses[level, above] * mixing[level - 1, above, below])
        for level in (1, 2, 3) for above in range(4) for below in range(4)
    }  # fmt: skip
    wanted = {place: share for place, share in wanted.items() if share > 0}
    shares = {line[:3]: line.share for line in found.lines}
    assert shares.keys() == wanted.keys()
    same_function([shares[place] for place in wanted], list(wanted.values()))
    assert found.n_lines == len(wanted)
    assert [line.share for line in found.lines] == sorted((line.share for line in found.lines), reverse=True)
    assert flow(mixing, row, max_lines=5).lines == found.lines[:5]
    for key in range(4):
        one, every = flow(mixing, row, key), ways(mixing, row, key)
        if not every:
            assert (one.path, one.path_share) == ([], 0.0)
            continue
        best = max(every, key=every.__getitem__)
        assert tuple(one.path) == best
        same_function(one.path_share, every[best])
        same_function(sum(every.values()), float(one.masses[0, key]))


# ---- a score by its channels: the sum is the score of the pass itself, whatever encoding, mask and temperature


@pytest.mark.parametrize(
    ("position", "mask", "temperature"),
    [("trained", "none", 1.0), ("rotary", "causal", 1.0), ("alibi", "window:2", 2.5)],
)
def test_the_sum_of_the_channels_is_the_score(tiny64: Model, position: str, mask: str, temperature: float) -> None:
    run = tiny64.run("a b c d", position=position, mask=mask, temperature=temperature, trace_layer=1)
    scores = next(step.value for step in run.steps if step.name == "scores")[0]
    heads, n, _ = scores.shape
    for head, row, key in itertools.product(range(heads), range(n), range(n)):
        found = channels(run.steps, head, row, key, temperature=temperature, biased=position == "alibi")
        assert found.score == float(scores[head, row, key])
        same_function(found.total, found.score)
        assert (abs(found.bias) > 0.001) == (position == "alibi" and row != key)
        assert found.positive >= 0 >= found.negative
        same_function(found.positive + found.negative, float(found.products.sum()))


def test_channels_of_missing_cells_are_refused(tiny: Model) -> None:
    run = tiny.run("a b", trace_layer=0)
    for head, row, key in ((3, 0, 0), (0, 4, 0), (0, 0, -1)):
        with pytest.raises(SizeError, match="there are 3 heads, 4 queries and 4 keys"):
            channels(run.steps, head, row, key)
    with pytest.raises(Unsupported, match="trace_layer"):
        channels((), 0, 0, 0)
