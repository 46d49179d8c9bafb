"""Losses and judgements, counted again by hand."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from mha_core.models.classifier import Classifier
from mha_core.models.language_model import LanguageModel
from mha_core.training import tokens
from mha_core.training.objectives import Classes, NextTokens, objective
from mha_core.training.recipe import Recipe
from mha_core.training.scores import head_scores
from mha_core.training.tasks import Labelled, Language, Row
from tests.closeness import same_function

from .runs import TINY, TINY_WORDS, task

CPU = torch.device("cpu")
PAIRS = (Row("a b", 0, 0), Row("b a", 1, 0), Row("c d", 0, 1), Row("d c", 1, 1), Row("a d", 0), Row("a c", 1, 2))


def labelled(test: tuple[Row, ...] = PAIRS) -> Labelled:
    train = tuple(Row(f"{a} {b}", int(a < b)) for a in "abcd" for b in "abcd")
    return Labelled("own", "Own", 1, ("no", "yes"), train, test, (), ("a b", "a b c d"))


def classes(recipe: Recipe = TINY, own: Labelled | None = None) -> Classes:
    """In float64."""
    own = own or labelled()
    made = objective(recipe, own, tokens.for_task(own), CPU)
    assert isinstance(made, Classes)
    made.stack.double()
    return made


def next_tokens(recipe: Recipe = TINY_WORDS) -> NextTokens:
    """In float64."""
    words = task("words")
    made = objective(recipe, words, tokens.for_task(words), CPU)
    assert isinstance(made, NextTokens)
    made.stack.double()
    return made


def alone(stack: Classifier, own: Labelled, text: str) -> Tensor:
    """Log probabilities of a text by itself."""
    ids = torch.tensor([tokens.for_task(own).encode(text).ids])
    with torch.no_grad():
        return stack.logits(ids, ids > 0)[0].log_softmax(dim=0)


def test_the_classes_of_the_test_rows() -> None:
    for batch in (1, 4):
        made, own = classes(replace(TINY, batch=batch)), labelled()
        outcome = made.evaluate()
        found = [alone(made.stack, own, row.text) for row in own.test]
        assert outcome.predicted == [int(one.argmax()) for one in found], batch
        losses = [-float(one[row.label]) for one, row in zip(found, own.test, strict=True)]
        same_function(outcome.totals.mean_loss, sum(losses) / 6)
        right = [guess == row.label for guess, row in zip(outcome.predicted, own.test, strict=True)]
        assert outcome.totals.accuracy == sum(right) / 6, batch


def test_pairs_with_both_members_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows 0 and 1 are a pair, 2 and 3 another; row 5 is what is left of a third; row 4 has no pair."""
    made = classes()
    for predicted, pairs in (("010101", 3), ("010001", 2), ("000000", 0), ("101001", 1)):
        logits = torch.nn.functional.one_hot(torch.tensor([int(one) for one in predicted]), 2).float()
        monkeypatch.setattr(made.stack, "logits", lambda ids, keep, mask_padding, logits=logits: logits)
        assert made.evaluate().more["pair_accuracy"] == pairs / 3, predicted
    assert classes(own=labelled((Row("a b", 0), Row("b a", 1)))).evaluate().more == {"pair_accuracy": None}


def test_the_loss_of_the_next_tokens() -> None:
    made, words = next_tokens(), task("words")
    assert isinstance(words, Language)
    batch = words.batch(8, torch.Generator().manual_seed(5))
    loss, totals = made.next_loss(torch.Generator().manual_seed(5))
    assert isinstance(made.stack, LanguageModel)
    with torch.no_grad():
        likely = made.stack.logits(batch.ids[:, :-1]).log_softmax(dim=-1)
    losses, right, answers = 0.0, 0, 0
    for row in range(8):
        for place in range(words.length):
            answer = int(batch.ids[row, place + 1])
            losses -= float(likely[row, place, answer])
            if batch.scored[row, place]:
                answers += 1
                right += int(likely[row, place].argmax()) == answer
    places = 8 * words.length
    same_function(loss.item(), losses / places)
    same_function(totals.mean_loss, losses / places)
    assert (totals.right, totals.answers, totals.losses) == (right, answers, places)


def test_scores_of_perfect_heads() -> None:
    """Head 0 looks at the answer, head 1 at the token before, head 2 at both alike, head 3 at itself."""
    source = torch.tensor([[-1, -1, -1, 1, 2, -1], [-1, 0, -1, -1, 3, 2]])
    b, i = source.shape
    answer = torch.zeros(b, i, i, dtype=torch.float64)
    for row in range(b):
        for place in range(i):
            answer[row, place, max(0, int(source[row, place]))] = 1
    previous = torch.eye(i, dtype=torch.float64).roll(-1, dims=1).expand(b, i, i).clone()
    previous[:, 0] = torch.eye(i, dtype=torch.float64)[0]
    weights = torch.stack((answer, previous, (answer + previous) / 2, torch.eye(i).double().expand(b, i, i)), dim=1)
    induction, before = head_scores(weights, source)
    assert induction[0] == 1
    assert before[1] == 1
    assert (induction[3], before[3]) == (0, 0)
    by_hand = [float(previous[r, p, source[r, p]]) for r in range(b) for p in range(i) if source[r, p] >= 0]
    same_function(induction[1], sum(by_hand) / len(by_hand))
