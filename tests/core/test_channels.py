"""A score by its channels: the sum is the score of the pass itself, whatever encoding, mask and temperature."""

from __future__ import annotations

import math

import pytest
import torch

from mha_core import Model, positions
from mha_core.errors import SizeError, Unsupported
from mha_core.measure.channels import Channels, channels
from mha_core.trace import Trace

from .test_rollout import grouped

pytestmark = pytest.mark.numeric
U = torch.finfo(torch.float32).eps / 2


def bound(found: Channels) -> float:
    """d products of float32, their sum, and three more operations; in any order of the sum."""
    d = len(found.q)
    return (d + 4) * U * (float(found.products.abs().sum()) / math.sqrt(d) + abs(found.bias)) / found.temperature


@pytest.mark.parametrize(
    ("position", "mask", "temperature"),
    [("trained", "none", 1.0), ("rotary", "causal", 1.0), ("none", "window:2", 2.5)],
)
def test_the_sum_is_the_score(tiny: Model, position: str, mask: str, temperature: float) -> None:
    run = tiny.run("a b c d", position=position, mask=mask, temperature=temperature, trace_layer=1)
    scores = next(step.value for step in run.steps if step.name == "scores")[0]
    heads, n, _ = scores.shape
    for head in range(heads):
        for row in range(n):
            for key in range(n):
                found = channels(run.steps, head, row, key, temperature=temperature)
                assert found.score == float(scores[head, row, key])
                assert abs(found.total - found.score) <= bound(found)
                assert found.bias == 0
                assert found.positive >= 0 >= found.negative
                assert found.positive + found.negative == pytest.approx(float(found.products.sum()))


@pytest.mark.parametrize("name", ["alibi", "t5"])
def test_what_an_encoding_adds_to_the_score_is_told_apart(tiny: Model, name: str) -> None:
    position = positions.build(name, d_model=24, n_heads=3, max_len=16, seed=1)
    run = tiny.run("a b c d", position=position, temperature=0.5, trace_layer=0)
    q = next(step.value for step in run.steps if step.name == "q")
    with torch.no_grad():
        added = position.bias(q, q.shape[2])
    assert added is not None
    for row, key in ((0, 4), (3, 1), (2, 2)):
        found = channels(run.steps, 1, row, key, temperature=0.5, biased=True)
        assert abs(found.bias - float(added.expand(1, 3, -1, -1)[0, 1, row, key])) <= 2 * bound(found)
        assert found.total == pytest.approx(found.score, abs=bound(found))


def test_heads_that_share_keys_and_turned_channels() -> None:
    trace = Trace()
    grouped()(torch.tensor([[3, 4, 5]]), trace_layer=0, trace=trace)
    one, other = (channels(trace.steps, head, 2, 1) for head in (2, 3))
    assert torch.equal(one.k, other.k), "heads 2 and 3 share the second key"
    assert not torch.equal(one.k, channels(trace.steps, 1, 2, 1).k)
    turned = trace["qkv.view"].value[0, 2, 2]  # before the rotation
    pairs = turned.view(2, -1).square().sum(0), one.q.view(2, -1).square().sum(0)
    torch.testing.assert_close(pairs[0].double(), pairs[1], rtol=1e-5, atol=1e-6)
    assert not torch.allclose(turned.double(), one.q)


def test_the_fewest_channels_that_make_most_of_it() -> None:
    q = torch.tensor([1.0, -4.0, 2.0, 3.0]).double()
    found = Channels(q, torch.ones(4).double(), 0.5, 0.0, 1.0, 1.0)
    assert (found.positive, found.negative, found.scaled) == (6.0, -4.0, 1.0)
    assert found.strongest(0.7) == [1, 3]
    assert found.strongest(0.71) == [1, 3, 2]
    assert found.strongest(1.0) == [1, 3, 2, 0]
    assert Channels(q * 0, q, 0.5, 0.0, 1.0, 0.0).strongest(0.8) == []


def test_what_is_not_there_is_refused(tiny: Model) -> None:
    run = tiny.run("a b", trace_layer=0)
    for head, row, key in ((3, 0, 0), (0, 4, 0), (0, 0, -1)):
        with pytest.raises(SizeError, match="there are 3 heads, 4 queries and 4 keys"):
            channels(run.steps, head, row, key)
    with pytest.raises(Unsupported, match="trace_layer"):
        channels((), 0, 0, 0)
