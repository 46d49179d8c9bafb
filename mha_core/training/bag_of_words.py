"""What is possible without word order: softmax regression on how often each token occurs in a text."""

from collections import Counter

import torch
from torch import Tensor
from torch.nn import functional as F

from . import tokens
from .tasks import Labelled

DECAY = 1e-3  # half of it times the squared weights is added to the mean loss, so that there is one best solution
ROUNDS = range(20, 101)  # of the solver: the fewer, the larger the data
MOST_PRODUCTS = 200_000_000  # counts · classes of all rounds together: a few seconds on one core


def accuracy(task: Labelled, vocabulary: int = 1000, max_len: int = 512) -> float:
    """The share of test rows that it gets right; arguments and errors as in `logits`."""
    labels = torch.tensor([row.label for row in task.test])
    return float((logits(task, vocabulary, max_len).argmax(dim=1) == labels).float().mean())


def logits(task: Labelled, vocabulary: int = 1000, max_len: int = 512) -> Tensor:
    """One number a class for every test row, (rows, classes), learnt from the training rows alone.

    A text's number for a class is the sum of one weight per token. All weights begin at 0 and the loss is convex, so
    that no seed decides anything.

    Args:
        task: whose rows are classified.
        vocabulary: of the tokenizer, the same that a model with this recipe reads by.
        max_len: tokens of a text, as in `recipe.Recipe`.

    Raises:
        SizeError: the vocabulary is too small, see `tokens.of`.
    """
    tokenizer = tokens.of(task, vocabulary)
    train, test = (
        _Counts([coded.ids[:max_len] for coded in tokenizer.encode_batch([row.text for row in rows])])
        for rows in (task.train, task.test)
    )
    labels = torch.tensor([row.label for row in task.train])
    return test.times(_fit(train, labels, torch.zeros(tokenizer.get_vocab_size(), len(task.classes))))


class _Counts:
    """How often each token occurs in each text."""

    def __init__(self, texts: list[list[int]]) -> None:
        # in the order of their ids, so that two orders of the same words add up to the very same number
        bags = [sorted(Counter(text).items()) for text in texts]
        self._ids = torch.tensor([number for bag in bags for number, _ in bag])
        self._counts = torch.tensor([float(count) for bag in bags for _, count in bag])
        self._starts = torch.tensor([0, *(len(bag) for bag in bags)]).cumsum(0)[:-1]

    def __len__(self) -> int:
        return len(self._ids)

    def times(self, weights: Tensor) -> Tensor:
        """Weights (vocabulary, classes) -> their sums over each text, (rows, classes)."""
        return F.embedding_bag(self._ids, weights, self._starts, mode="sum", per_sample_weights=self._counts)


def _fit(texts: _Counts, labels: Tensor, weights: Tensor) -> Tensor:
    """The weights (vocabulary, classes) that fit these rows best, from these on."""
    weights.requires_grad_()
    rounds = max(ROUNDS[0], min(ROUNDS[-1], MOST_PRODUCTS // (len(texts) * weights.shape[1])))
    solver = torch.optim.LBFGS([weights], max_iter=rounds, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        solver.zero_grad()
        found = F.cross_entropy(texts.times(weights), labels) + DECAY / 2 * weights.square().sum()
        torch.autograd.backward(found)
        return found

    solver.step(loss)  # type: ignore[no-untyped-call]
    return weights.detach()
