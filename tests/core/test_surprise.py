"""The loss of every token, and the scores of all heads, each against transformers or a plain loop."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from mha_core.errors import HeadlightError, SizeError, Unsupported
from mha_core.heads.kinds import KINDS, head_scores, repeated_ids
from mha_core.measure import rounding
from mha_core.measure.surprise import losses, surprise
from mha_core.models.model import Model
from tests.closeness import identical, within_rounding

from . import llama
from .tiny_models import Float64Throughout

IDS = [3, 1, 4, 1, 5, 3, 1, 1]
ROUNDED = rounding.sum_bound(320)  # of a loss: the sum over the words of the vocabulary


@pytest.mark.parametrize("length", [1, 2, 65])
def test_the_surprise_is_transformers_loss(length: int) -> None:
    """Of float64 logits, the loss itself in float32."""
    ids, model = llama.random_ids(length), llama.model(torch.float64)
    found = surprise(model, model.run(ids.tolist()))
    assert found.shape == (length,)
    assert found[0].isnan()
    if length > 1:
        with Float64Throughout():
            theirs = llama.asked(ids, torch.float64, labels=ids[None])
        each = torch.nn.functional.cross_entropy(theirs.logits[0, :-1], ids[1:], reduction="none")
        within_rounding(found[1:], each, ROUNDED)


def test_losses_say_how_likely_a_token_was() -> None:
    found = losses(torch.tensor([[0.0, math.log(3)], [-torch.inf, 0.0], [0.0, 0.0]]), [0, 1, 1])
    assert found[0].isnan()
    within_rounding(found[1:], torch.tensor([-math.log(0.75), 0.0]), rounding.sum_bound(2))
    for logits, ids in ((torch.zeros(2, 7), [1]), (torch.zeros(2, 7), [1, 7])):
        with pytest.raises(SizeError, match="need one row a token, a column a word"):
            losses(logits, ids)


def test_an_encoder_has_no_surprise(minilm: Model) -> None:
    run = minilm.run("how are you")
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


def test_scores_are_those_of_a_loop() -> None:
    weights = torch.rand(2, 3, 8, 8).tril()
    weights = weights / weights.sum(dim=-1, keepdim=True)
    found = head_scores(weights, IDS)
    assert list(found) == list(KINDS)
    for kind, scores in found.items():
        expected = [[looped(kind, head, IDS) for head in layer] for layer in weights]
        within_rounding(scores, torch.tensor(expected), rounding.sum_bound(8, 8))


def test_random_tokens_said_twice() -> None:
    ids = repeated_ids(320, 20, seed=4)
    assert ids[:20] == ids[20:]
    assert len(set(ids)) == 20
    assert repeated_ids(320, 20, seed=4) == ids != repeated_ids(320, 20, seed=5)
    for period, times in ((321, 2), (5, 0)):
        with pytest.raises(SizeError, match="choose 1 to 320 tokens"):
            repeated_ids(320, period, times=times)
    model = llama.model()
    run = model.run(ids)
    assert run.tokens == [f"w{one}" for one in ids]
    identical(run.weights, model.run(llama.text_of(torch.tensor(ids))).weights)
    for wrong in ([320], ["w5"], [0.5]):
        with pytest.raises(HeadlightError, match="is not a valid token id; choose whole numbers, 0 to 319"):
            model.run(wrong)  # type: ignore[arg-type]
    with pytest.raises(SizeError, match="no token"):
        model.run([])
