"""The loss of every token, and the scores of all heads, each against transformers or a plain loop."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from mha_core import masks
from mha_core.errors import HeadlightError, SizeError, Unsupported
from mha_core.heads.kinds import KINDS, cells, head_scores, repeated_ids, score
from mha_core.measure.measures import largest_difference, previous_token_weight
from mha_core.measure.surprise import losses, surprise
from mha_core.models.model import Model

from . import llama

IDS = [3, 1, 4, 1, 5, 3, 1, 1]


@pytest.mark.parametrize("length", [1, 2, 64, 65, 130])
def test_the_surprise_is_transformers_loss(length: int) -> None:
    ids = llama.random_ids(length)
    run = llama.model().run(ids.tolist())
    found = surprise(llama.model(), run)
    assert found.shape == (length,)
    assert found[0].isnan()
    if length > 1:
        theirs = llama.asked(ids, torch.float32, labels=ids[None])
        each = torch.nn.functional.cross_entropy(theirs.logits[0, :-1], ids[1:], reduction="none")
        assert largest_difference(found[1:], each) <= 2e-5
        assert float(found[1:].mean()) == pytest.approx(float(theirs.loss), abs=2e-5)


def test_the_switches_of_the_run_are_in_the_surprise() -> None:
    ids, model = llama.random_ids(17), llama.model()
    run = model.run(ids.tolist(), heads_off=[(0, 1)], position="none", all_logits=True)
    assert run.logits is not None
    found = surprise(model, run)
    assert largest_difference(found[1:], losses(run.logits, run.ids)[1:]) <= 2e-5
    with llama.hooked(torch.float32, heads_off=[(0, 1)], rope=False):
        theirs = llama.asked(ids, torch.float32, labels=ids[None])
    assert float(found[1:].mean()) == pytest.approx(float(theirs.loss), abs=2e-5)
    assert largest_difference(found[1:], surprise(model, model.run(ids.tolist()))[1:]) > 1e-2


def test_losses_say_how_likely_a_token_was() -> None:
    found = losses(torch.tensor([[0.0, math.log(3)], [-torch.inf, 0.0], [0.0, 0.0]]), [0, 1, 1])
    assert found[0].isnan()
    assert found[1:].tolist() == pytest.approx([-math.log(0.75), 0.0])
    assert losses(torch.zeros(2, 7).bfloat16(), [0, 6])[1].item() == pytest.approx(math.log(7))
    for logits, ids in ((torch.zeros(2, 7), [1]), (torch.zeros(2, 7), [1, 7]), (torch.zeros(7), [1] * 7)):
        with pytest.raises(SizeError, match="need one row a token, a column a word"):
            losses(logits, ids)


def test_an_encoder_has_no_surprise(minilm: Model) -> None:
    run = minilm.run("how are you")
    assert run.logits is None
    assert run.kv_heads == 12
    with pytest.raises(Unsupported, match="'minilm' predicts no next token"):
        surprise(minilm, run)


def looped(kind: str, weights: Tensor, ids: list[int]) -> float:
    """The score of one map, cell by cell."""
    sums = []
    for i in range(len(ids)):
        looks_at = {
            "previous": [i - 1] if i else [],
            "next": [i + 1] if i + 1 < len(ids) else [],
            "itself": [i] if i else [],
            "first": [0] if i else [],
            "same": [p for p in range(i) if ids[p] == ids[i]],
            "induction": [p + 1 for p in range(i - 1) if ids[p] == ids[i]],
        }[kind]
        if looks_at:
            sums.append(sum(float(weights[i, j]) for j in looks_at))
    return sum(sums) / len(sums)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_a_loop(kind: str) -> None:
    weights = torch.rand(2, 3, 8, 8).tril()
    weights = weights / weights.sum(dim=-1, keepdim=True)
    found = head_scores(weights, IDS)
    assert list(found) == list(KINDS)
    assert found[kind].shape == (2, 3)
    for layer in range(2):
        for head in range(3):
            assert float(found[kind][layer, head]) == pytest.approx(looped(kind, weights[layer, head], IDS), abs=1e-6)
            if kind == "previous":
                assert float(found[kind][layer, head]) == pytest.approx(previous_token_weight(weights[layer, head]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_of_one_kind_scores_1(kind: str) -> None:
    ids = repeated_ids(50, 6)
    chosen = cells(kind, ids)
    in_sight = ~chosen | masks.allow(masks.causal, 12, 12)[0, 0]
    assert bool(in_sight.all()) == (kind != "next"), "no other cell lies in the future"
    perfect = (chosen / chosen.sum(dim=1, keepdim=True).clamp(min=1)).expand(1, 1, -1, -1)
    assert float(score(perfect.double(), chosen)) == pytest.approx(1)
    if kind == "induction":
        assert [tuple(cell) for cell in chosen.nonzero().tolist()] == [
            (6 + p, p + 1) for p in range(6) if p + 1 < 6 + p
        ]


def test_scores_where_there_is_nothing_to_score() -> None:
    for ids in ([7], [1, 2, 3]):
        found = head_scores(torch.ones(1, 2, len(ids), len(ids)), ids)
        assert found["induction"].isnan().all()
        assert found["previous"].isnan().all() == (len(ids) == 1)
    with pytest.raises(SizeError, match=r"weights \(1, 2, 3, 3\) and cells \(2, 2\)"):
        head_scores(torch.ones(1, 2, 3, 3), [1, 2])
    with pytest.raises(HeadlightError, match="'duplicate' is not known; choose one of previous, next, itself"):
        cells("duplicate", [1])


def test_random_tokens_said_twice() -> None:
    ids = repeated_ids(320, 20, seed=4)
    assert ids[:20] == ids[20:]
    assert len(set(ids)) == 20
    assert repeated_ids(320, 20, seed=4) == ids != repeated_ids(320, 20, seed=5)
    run = llama.model().run(ids)
    assert run.ids == ids
    assert run.tokens == [f"w{one}" for one in ids]
    for period, times in ((0, 2), (321, 2), (5, 0)):
        with pytest.raises(SizeError, match="choose 1 to 320 tokens"):
            repeated_ids(320, period, times=times)


def test_ids_in_place_of_a_text() -> None:
    model = llama.model()
    assert torch.equal(model.run([5, 6]).weights, model.run("w5 w6").weights)
    for wrong in ([320], [-1], ["w5"], [0.5]):
        with pytest.raises(HeadlightError, match="is not in the vocabulary; choose whole numbers, 0 to 319"):
            model.run(wrong)  # type: ignore[arg-type]
    with pytest.raises(SizeError, match="no token"):
        model.run([])
