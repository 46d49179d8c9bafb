"""Losses and judgements, counted again by hand."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from mha_core import masks
from mha_core.models.classifier import Classifier
from mha_core.models.language_model import LanguageModel
from mha_core.training import tasks, tokens
from mha_core.training.objectives import Classes, NextTokens, objective
from mha_core.training.recipe import Recipe
from mha_core.training.scores import Totals, head_scores
from mha_core.training.tasks import Batch, Labelled, Language, Row
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
    made = objective(recipe, own, tokens.of(own), CPU)
    assert isinstance(made, Classes)
    made.stack.double()
    return made


def next_tokens(recipe: Recipe = TINY_WORDS) -> NextTokens:
    """In float64."""
    words = task("words")
    made = objective(recipe, words, tokens.of(words), CPU)
    assert isinstance(made, NextTokens)
    made.stack.double()
    return made


def alone(stack: Classifier, own: Labelled, text: str) -> Tensor:
    """Log probabilities of a text by itself."""
    ids = torch.tensor([tokens.of(own).encode(text).ids])
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
        assert (outcome.totals.losses, outcome.totals.answers) == (6, 6), batch


def test_totals_and_pairs_with_both_members_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows 0 and 1 are a pair, 2 and 3 another; row 5 is what is left of a third; row 4 has no pair."""
    total = sum((Totals(1.5, 3, 2, 4), Totals(0.5, 1, 0, 1)), Totals())
    assert (total.mean_loss, total.accuracy) == (0.5, 0.4)
    assert (Totals().mean_loss, Totals().accuracy) == (0.0, 0.0)
    made = classes()
    for predicted, pairs in (("010101", 3), ("010001", 2), ("000000", 0), ("101001", 1)):
        logits = torch.nn.functional.one_hot(torch.tensor([int(one) for one in predicted]), 2).float()
        monkeypatch.setattr(made.stack, "logits", lambda ids, keep, mask_padding, logits=logits: logits)
        assert made.evaluate().more["pair_accuracy"] == pairs / 3, predicted
    assert classes(own=labelled((Row("a b", 0), Row("b a", 1)))).evaluate().more == {"pair_accuracy": None}


def test_an_epoch_sees_every_row_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, generator = classes(replace(TINY, batch=6)), torch.Generator().manual_seed(1)
    seen: list[tuple[int, ...]] = []
    logits = made.stack.logits

    def noted(ids: Tensor, keep: Tensor, *, mask_padding: bool) -> Tensor:
        seen.extend(tuple(row[kept].tolist()) for row, kept in zip(ids, keep, strict=True))
        return logits(ids, keep, mask_padding=mask_padding)

    monkeypatch.setattr(made.stack, "logits", noted)
    sizes = [made.next_loss(generator)[1].losses for _ in range(6)]
    assert sizes == [6, 6, 4, 6, 6, 4]
    first, second = seen[:16], seen[16:]
    assert first != second
    assert sorted(first) == sorted(second)
    assert len(set(first)) == 16


def test_a_training_loss_is_the_mean_over_its_rows() -> None:
    made, own = classes(replace(TINY, batch=16)), labelled()
    loss, totals = made.next_loss(torch.Generator().manual_seed(1))
    expected = [-float(alone(made.stack, own, row.text)[row.label]) for row in own.train]
    same_function(loss.item(), sum(expected) / 16)
    same_function(totals.mean_loss, loss.item())
    assert made.evaluate_train().losses == 6  # as many as there are test rows


def test_texts_and_probes_that_are_too_long_are_cut() -> None:
    made = classes(replace(TINY, max_len=4, position="learned"))
    assert made.longest == 4
    assert made.notes == ()
    assert [tokens for tokens, _ in made.probes] == [["[CLS]", "a", "b", "[SEP]"], ["[CLS]", "a", "b", "c"]]
    for _, ids in made.probes:
        assert made.maps(torch.tensor([ids]))[0].shape == (1, 2, 4, 4)
    cut = classes(replace(TINY, max_len=3))
    assert cut.notes == ("22 texts have more than 3 tokens: the rest of them is left out.",)
    assert cut.longest == 3


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


def test_a_language_models_test_rows_are_the_same_in_any_batch_and_its_maps_causal() -> None:
    one, other = next_tokens(), next_tokens(replace(TINY_WORDS, batch=100))
    a, b = one.evaluate(), other.evaluate()
    assert (a.totals.right, a.totals.answers, a.totals.losses) == (b.totals.right, b.totals.answers, b.totals.losses)
    same_function(a.totals.loss, b.totals.loss)
    assert a.predicted == []
    assert [len(a.more[name]) for name in ("induction", "previous")] == [2, 2]
    (_, ids), *_ = one.probes
    for weights in one.maps(torch.tensor([ids])):
        assert not weights[..., ~masks.allow(masks.causal, len(ids), len(ids))[0, 0]].any()


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
    same_function(induction[2], (1 + induction[1]) / 2)
    same_function(before[2], (1 + before[0]) / 2)
    assert (induction[3], before[3]) == (0, 0)
    by_hand = [float(previous[r, p, source[r, p]]) for r in range(b) for p in range(i) if source[r, p] >= 0]
    same_function(induction[1], sum(by_hand) / len(by_hand))
    induction, before = head_scores(torch.full((2, 3, 4, 4), 0.25), torch.full((2, 4), -1))
    assert induction == [0, 0, 0]
    assert before == [0.25] * 3


def test_no_induction_score_without_a_known_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    words = tasks.build("words")
    assert isinstance(words, Language)
    batch = words.test()
    monkeypatch.setattr(words, "test", lambda: Batch(batch.ids, batch.scored, torch.full_like(batch.source, -1)))
    made = objective(TINY_WORDS, words, tokens.of(words), CPU)
    assert made.evaluate().more["induction"] == []
