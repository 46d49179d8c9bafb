"""What claims are judged by: the notebook's case as it is written there, calls that are timed, and other weights."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import pytest
import torch
from torch import nn

from mha_core import Model
from mha_core.attention import AttentionLayer
from mha_core.measure.timing import forward_pass, training_step
from mha_core.positions import Learned
from mha_core.training import saved
from pages.claims import evidence, layers, times
from pages.claims.catalog import CLAIMS
from pages.claims.rules.verdict import Verdict
from pages.kit.picture import models, pictures, sharing


def numbers(verdict: Verdict) -> list[float]:
    return [number for _, number in verdict.numbers]


def test_the_notebooks_draw_is_torchs_own_initial_weights() -> None:
    """Laws of Xavier and of nn.Linear, as a new nn.MultiheadAttention without biases has them."""
    drawn = [layers.notebook_draw(seed)[0] for seed in range(40)]
    theirs = [nn.MultiheadAttention(12, 2, bias=False) for _ in range(40)]
    for ours, other in (
        (torch.stack([torch.cat([one.q, one.k, one.v]) for one in drawn]), [one.in_proj_weight.data for one in theirs]),
        (torch.stack([one.o for one in drawn]), [one.out_proj.weight.data for one in theirs]),
    ):
        weights = torch.stack(other)
        assert float(ours.abs().max()) == pytest.approx(float(weights.abs().max()), rel=0.02)
        assert float(ours.std()) == pytest.approx(float(weights.std()), rel=0.05)
    x = layers.notebook_draw(0)[1]
    assert x.shape == (8, 80, 12)
    assert float(x.std()) == pytest.approx(1, rel=0.05)


def test_the_notebooks_case() -> None:
    """A draw as the notebook writes it, against torch's own layer."""
    weights, x = layers.notebook_draw(3)
    q, k, v, o = weights.q, weights.k, weights.v, weights.o
    qx, kx, vx = (torch.einsum("ij,bsj->bsi", one, x).reshape(8, 80, 2, 6) for one in (q, k, v))
    exps = torch.exp(torch.einsum("bshi,bthi->bhst", qx, kx) / math.sqrt(6))
    z = torch.einsum("bhst,bthi->bshi", exps / exps.sum(-1, keepdim=True), vx).reshape(8, 80, 12)
    theirs = nn.MultiheadAttention(12, 2, bias=False, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([q, k, v]))
        theirs.out_proj.weight.copy_(o)
        wanted = theirs(x, x, x)[0]
    verdict = layers.torchs_own()
    least, most, printed, real, bound = numbers(verdict)
    assert float((torch.einsum("ij,bsj->bsi", o, z) - wanted).norm() / wanted.norm()) <= bound
    assert least <= most <= bound
    assert real < 10 * bound
    assert f"{printed:.7e}" == CLAIMS["torch"].said
    assert (verdict.result, verdict.answer) == ("holds", 0)


def test_the_news() -> None:
    """The shares are those of the last look that each recorded run's history tells, over all of its rows and seeds."""
    accuracy: dict[str, list[float]] = {}
    for folder in models.SHIPPED.glob("news-*"):
        line = folder.name.removeprefix("news-").rpartition("-")[0]
        accuracy.setdefault(line, []).append(saved.read(folder).evaluations[-1].test_accuracy)
    assert evidence.recorded_answers("post-naive").shape == (5, 307)
    assert evidence.recorded_answers("fair-fused").shape == (5, 299)
    expected = [sum(accuracy[line]) / len(accuracy[line]) for pair in evidence.WAYS.values() for line in pair]
    verdict = evidence.news()
    assert numbers(verdict) == pytest.approx(expected)
    as_the_post, with_waves = expected[:2]
    assert as_the_post - with_waves > 0.03
    assert (verdict.result, verdict.answer) == ("depends", 1)


@pytest.mark.parametrize("name", ["naive", "fastest", "einsum"])
def test_times(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"fast": (forward_pass, (1, 8, 24, 3)), "slow": (training_step, (2, 16, 24, 3))}
    monkeypatch.setattr(times, "SECONDS", 0.02)
    monkeypatch.setattr(times, "TASKS", small)
    seconds = times.seconds_of("naive" if name == "fastest" else name, "torch" if name == "fastest" else "efficient")
    assert list(seconds) == list(small)
    for first, second in seconds.values():
        assert len(first) == len(second) >= times.FEWEST
        assert float(torch.cat([first, second]).min()) > 0
    verdict = CLAIMS[name].judge()
    assert len(numbers(verdict)) == 2
    unsteady = "unsteady" in verdict.said
    assert verdict.answer == (None if unsteady else {"holds": 0, "depends": 1, "does not hold": 2}[verdict.result])


@pytest.fixture
def changed(model: Model, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """MiniLM with other weights: no positions, no biases, keys like queries, and values that are the embeddings."""
    stack = copy.deepcopy(model.encoder)
    assert isinstance(stack.position, Learned)
    with torch.no_grad():
        stack.position.table.zero_()
    for layer in stack.layers:
        attention = cast(AttentionLayer, layer.attention)
        weights = attention.save()
        width, nothing = len(weights.q), torch.zeros(len(weights.q))
        other = replace(weights, k=weights.q, v=torch.eye(width), q_bias=nothing, k_bias=nothing, v_bias=nothing)
        attention.load(other)
    sharing.forget()
    other_model = Model("minilm", model.tokenizer, stack, origin="pretrained")
    monkeypatch.setattr(pictures, "model_on", lambda *_: other_model)
    yield
    sharing.forget()


@pytest.mark.usefixtures("changed")
def test_other_weights_another_verdict() -> None:
    """Each of these is another one on MiniLM's own weights."""
    names = ("same-word", "values", "trained-biases", "key-bias", "symmetric")
    found = {name: CLAIMS[name].judge() for name in names}
    assert [verdict.result for verdict in found.values()] == ["depends", *["holds"] * 3, "does not hold"]
    assert CLAIMS["symmetric"].answers[found["symmetric"].answer or 0] == "A Aᵀ and the scores"
    with_positions, without = numbers(found["same-word"])
    assert with_positions == without
