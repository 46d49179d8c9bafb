"""The baseline without order: the one best solution, found by another solver too, and half of every mirror pair."""

from collections import Counter

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from mha_core.training import bag_of_words, tasks, tokens
from mha_core.training.tasks import Labelled, Row

TEXTS = ("a ball a goal", "a vote a bill", "the goal of the match", "the bill of the house", "a film of a ball")
ROWS = tuple(Row(f"{text} {number}", at % 3) for number in range(6) for at, text in enumerate(TEXTS))
SMALL = Labelled("csv", "Small", 1, ("sport", "politics", "film"), ROWS[:20], ROWS[20:], (), ())


def counts(task: Labelled, rows: tuple[Row, ...], max_len: int = 512) -> Tensor:
    """Counts (rows, vocabulary), a loop over the tokens of every text."""
    tokenizer = tokens.of(task, 60)
    table = torch.zeros(len(rows), tokenizer.get_vocab_size(), dtype=torch.float64)
    for at, row in enumerate(rows):
        for number, count in Counter(tokenizer.encode(row.text).ids[:max_len]).items():
            table[at, number] = count
    return table


def newton(task: Labelled, max_len: int) -> Tensor:
    """The test rows' logits by Newton's method, with first and second derivatives written out, in float64."""
    x, labels = counts(task, task.train, max_len), torch.tensor([row.label for row in task.train])
    weights = torch.zeros(x.shape[1], len(task.classes), dtype=torch.float64)
    for _ in range(40):
        p = (x @ weights).softmax(dim=1)
        slope = x.T @ (p - F.one_hot(labels)) / len(x) + bag_of_words.DECAY * weights
        curve = torch.einsum("nv,nw,ncd->vcwd", x, x, p.diag_embed() - p[:, :, None] * p[:, None]) / len(x)
        curve = curve.reshape(weights.numel(), -1) + bag_of_words.DECAY * torch.eye(weights.numel())
        weights -= torch.linalg.solve(curve, slope.flatten()).view_as(weights)
    assert float(slope.norm()) < 1e-12
    return counts(task, task.test, max_len) @ weights


@pytest.mark.parametrize("max_len", [4, 512])
def test_newton_s_method_finds_the_same_probabilities(max_len: int) -> None:
    found = bag_of_words.logits(SMALL, 60, max_len).softmax(dim=1)
    assert found.shape == (10, 3)
    wanted = newton(SMALL, max_len).softmax(dim=1).float()
    assert torch.allclose(found, wanted, atol=2e-3)
    right = (wanted.argmax(dim=1) == torch.tensor([row.label for row in SMALL.test])).float().mean()
    assert bag_of_words.accuracy(SMALL, 60, max_len) == pytest.approx(float(right))


@pytest.mark.parametrize("name", ["who", "food", "brackets"])
def test_of_two_orders_of_the_same_words_exactly_one_is_right(name: str) -> None:
    task = tasks.build(name)
    assert isinstance(task, Labelled)
    logits = bag_of_words.logits(task)
    assert torch.equal(logits[::2], logits[1::2]), "both members of every pair"
    assert bag_of_words.accuracy(task) == 0.5


def test_the_same_rows_give_the_same_numbers() -> None:
    assert torch.equal(bag_of_words.logits(SMALL, 60), bag_of_words.logits(SMALL, 60))
