"""The baseline without order, its one best solution by another solver; the made-up news on which it is tried."""

from collections import Counter

import torch
from torch import Tensor
from torch.nn import functional as F

from mha_core.training import bag_of_words, tasks, tokens
from mha_core.training.tasks import Labelled, Row
from mha_core.training.tasks.made_up_news import ROWS as NEWS_ROWS

from .runs import case

TEXTS = ("a ball a goal", "a vote a bill", "the goal of the match", "the bill of the house", "a film of a ball")
ROWS = tuple(Row(f"{text} {number}", at % 3) for number in range(6) for at, text in enumerate(TEXTS))
SMALL = Labelled("csv", "Small", 1, ("sport", "politics", "film"), ROWS[:20], ROWS[20:], (), ())


def counts(rows: tuple[Row, ...], max_len: int) -> Tensor:
    """Counts (rows, vocabulary), a loop over the tokens of every text."""
    tokenizer = tokens.of(SMALL, 60)
    table = torch.zeros(len(rows), tokenizer.get_vocab_size(), dtype=torch.float64)
    for at, row in enumerate(rows):
        for number, count in Counter(tokenizer.encode(row.text).ids[:max_len]).items():
            table[at, number] = count
    return table


def newton(max_len: int) -> Tensor:
    """The test rows' logits by Newton's method, with first and second derivatives written out, in float64."""
    x, labels = counts(SMALL.train, max_len), torch.tensor([row.label for row in SMALL.train])
    weights = torch.zeros(x.shape[1], len(SMALL.classes), dtype=torch.float64)
    for _ in range(40):
        p = (x @ weights).softmax(dim=1)
        slope = x.T @ (p - F.one_hot(labels)) / len(x) + bag_of_words.DECAY * weights
        curve = torch.einsum("nv,nw,ncd->vcwd", x, x, p.diag_embed() - p[:, :, None] * p[:, None]) / len(x)
        curve = curve.reshape(weights.numel(), -1) + bag_of_words.DECAY * torch.eye(weights.numel())
        weights -= torch.linalg.solve(curve, slope.flatten()).view_as(weights)
    return counts(SMALL.test, max_len) @ weights


def test_newton_s_method_finds_the_same_probabilities() -> None:
    for max_len in (4, 512):
        found, expected = bag_of_words.logits(SMALL, 60, max_len).softmax(dim=1), newton(max_len).softmax(dim=1)
        assert torch.equal(found, bag_of_words.logits(SMALL, 60, max_len).softmax(dim=1)), "the same numbers again"
        with case(max_len):
            assert found.shape == (10, 3)
            assert float((found - expected).abs().max()) < 0.002, "the solver stops where a step changes little"
            right = sum(int(p.argmax()) == row.label for p, row in zip(expected, SMALL.test, strict=True))
            assert round(10 * bag_of_words.accuracy(SMALL, 60, max_len)) == right


def test_of_two_orders_of_the_same_words_exactly_one_is_right() -> None:
    for name in ("who", "food", "brackets"):
        task = tasks.build(name)
        assert isinstance(task, Labelled)
        logits = bag_of_words.logits(task)
        assert torch.equal(logits[::2], logits[1::2]), f"{name}: both members of every pair"
        assert bag_of_words.accuracy(task) == 0.5, name


def test_made_up_news_has_five_equal_classes_a_quarter_for_testing_and_no_text_twice() -> None:
    task = tasks.build("made_up")
    assert isinstance(task, Labelled)
    rows = (*task.train, *task.test)
    assert len({row.text for row in rows}) == len(rows) == NEWS_ROWS
    assert set(Counter(row.label for row in task.test).values()) == {61, 62}
    assert set(Counter(row.label for row in rows).values()) == {NEWS_ROWS // 5}
