"""Training losses and evaluations: classification, next-token prediction, translation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from .. import masks
from ..models.classifier import PADDING, Classifier
from ..models.encoder_decoder import EncoderDecoder
from ..models.inputs import padded
from ..models.language_model import LanguageModel
from ..models.stack import Stack
from ..models.vision import VisionTransformer, token_names
from .initial_weights import build_stack, init_weights
from .recipe import Recipe
from .scores import Outcome, Totals, aligned, head_scores
from .tasks import Batch, Labelled, Language, Pairs, Pictures, Task, Translation
from .tasks.shapes import draw_all

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TEXTS_AT_ONCE = 128  # translated in one batch, one forward pass per token
ROWS_OF_HEADS = 64  # test rows for the head scores of a language model


class Objective(ABC):
    """Base of all objectives: the model, the loss and the evaluation for one recipe and one task.

    Attributes:
        stack: the model.
        rows_train: as in `events.Start`.
        rows_test: as in `events.Start`.
        max_len: `longest` of `events.Start`.
        probes: tokens and ids of the texts whose maps are kept.
        columns: as in `events.Start`.
        target_length: as in `events.Start`.
        picture: as in `events.Start`.
    """

    stack: Stack
    rows_train: int
    rows_test: int
    max_len: int
    probes: list[tuple[list[str], list[int]]]
    notes: tuple[str, ...] = ()
    columns: Sequence[list[str]] = ()
    target_length = 0
    picture: Sequence[int] = ()

    @abstractmethod
    def next_loss(self, generator: torch.Generator) -> tuple[Tensor, Totals]:
        """Return the loss of the next training batch, a scalar for `backward`, and its totals."""

    @abstractmethod
    def evaluate(self) -> Outcome:
        """Evaluate the model on the test rows."""

    @abstractmethod
    def evaluate_train(self) -> Totals:
        """Evaluate the model on as many training rows as there are test rows."""

    def maps(self, ids: Tensor) -> list[Tensor]:
        """Return the weights (1, h, i, j) of every layer for one text, int64 (1, i)."""
        length, own_mask = ids.shape[1], self.stack.own_mask
        allow = None if own_mask == "none" else masks.allow(masks.parse(own_mask), length, length, device=ids.device)
        with _inference_mode(self.stack):
            return cast(list[Tensor], self.stack(ids, allow=allow)[1])

    def probe_maps(self, number: int) -> list[Tensor]:
        """Return the weights (1, h, i, j) of every layer for one of the probes."""
        return self.maps(torch.tensor([self.probes[number][1]], device=self.stack.device))


class Classes(Objective):
    """Classification of texts."""

    def __init__(self, stack: Classifier, recipe: Recipe, task: Labelled, tokenizer: Tokenizer) -> None:
        self.stack: Classifier = stack
        self._recipe, self._task = recipe, task
        self._labels_train = torch.tensor([row.label for row in task.train])
        self._labels_test = torch.tensor([row.label for row in task.test])
        self.rows_train, self.rows_test = len(task.train), len(task.test)
        self._order = torch.empty(0, dtype=torch.int64)
        self._load_rows(tokenizer)

    def _load_rows(self, tokenizer: Tokenizer) -> None:
        """Convert rows and probes to the model's inputs."""
        task, max_len = self._task, self._recipe.max_len
        self._train, cut_train = self._truncated_ids(tokenizer, [row.text for row in task.train])
        self._test, cut_test = self._truncated_ids(tokenizer, [row.text for row in task.test])
        cut = cut_train + cut_test
        if cut:
            self.notes = (f"{cut} texts have more than {max_len} tokens: the rest of them is left out.",)
        probes = [tokenizer.encode(text) for text in task.probes]
        self.probes = [(probe.tokens[:max_len], probe.ids[:max_len]) for probe in probes]
        self.max_len = max(len(ids) for ids in [*self._train, *self._test])

    def next_loss(self, generator: torch.Generator) -> tuple[Tensor, Totals]:
        """Return the loss of the next batch; a new epoch begins when all rows were used."""
        if not len(self._order):  # a new epoch
            self._order = torch.randperm(self.rows_train, generator=generator)
        rows, self._order = self._order[: self._recipe.batch], self._order[self._recipe.batch :]
        logits, labels = self._logits(self._train, rows), self._labels_train[rows].to(self.stack.device)
        return F.cross_entropy(logits, labels), _totals(logits, labels)

    def evaluate(self) -> Outcome:
        """Evaluate the model on the test rows, also by mirror pairs."""
        with _inference_mode(self.stack):
            batches = [self._evaluate(self._test, self._labels_test, rows) for rows in self._batches(self.rows_test)]
        predicted = [label for _, labels in batches for label in labels]
        return Outcome(
            sum((totals for totals, _ in batches), Totals()), predicted, {"pair_accuracy": self._pairs(predicted)}
        )

    def evaluate_train(self) -> Totals:
        """Evaluate the model on as many training rows as there are test rows."""
        batches = self._batches(min(self.rows_train, self.rows_test))
        with _inference_mode(self.stack):
            return sum((self._evaluate(self._train, self._labels_train, rows)[0] for rows in batches), Totals())

    def _truncated_ids(self, tokenizer: Tokenizer, texts: list[str]) -> tuple[list[list[int]], int]:
        """Return the ids of the texts, and the number of texts that were cut."""
        encoded = _ids(tokenizer, tuple(texts))
        max_len = self._recipe.max_len
        return [ids[:max_len] for ids in encoded], sum(len(ids) > max_len for ids in encoded)

    def _batches(self, rows: int) -> tuple[Tensor, ...]:
        return torch.split(torch.arange(rows), self._recipe.batch)

    def _logits(self, coded: list[list[int]], rows: Tensor) -> Tensor:
        """Compute the logits (b, classes) of these rows as one batch, padded to its longest."""
        ids, keep = padded([coded[row] for row in rows.tolist()], PADDING)
        mask = self._recipe.mask_padding
        return self.stack.logits(ids.to(self.stack.device), keep.to(self.stack.device), mask_padding=mask)

    def _evaluate(self, coded: list[list[int]], labels: Tensor, rows: Tensor) -> tuple[Totals, list[int]]:
        logits = self._logits(coded, rows)
        return _totals(logits, labels[rows].to(self.stack.device)), logits.argmax(dim=-1).tolist()

    def _pairs(self, predicted: list[int]) -> float | None:
        """Return the share of mirror pairs with both members right; None without pairs."""
        right: dict[int, bool] = {}
        for row, label in zip(self._task.test, predicted, strict=True):
            if row.pair is not None:
                right[row.pair] = right.get(row.pair, True) and label == row.label
        return sum(right.values()) / len(right) if right else None


class PictureClasses(Classes):
    """Classification of pictures."""

    stack: VisionTransformer  # type: ignore[assignment]
    _task: Pictures

    def _load_rows(self, tokenizer: Tokenizer) -> None:
        task = self._task
        self._train, self._test = task.train_pixels, task.test_pixels  # type: ignore[assignment]
        self.picture = (task.side, task.patch, task.registers)
        names = list(token_names(*self.picture))
        self.max_len = len(names)
        self.probes = [(names, list(range(len(names)))) for _ in task.probes]

    def probe_maps(self, number: int) -> list[Tensor]:
        """Return the weights (1, h, i, j) of every layer for one of the probes."""
        return self.maps(draw_all([self._task.probes[number]]).to(self.stack.device))

    def _logits(self, coded: Any, rows: Tensor) -> Tensor:
        return self.stack.logits(coded[rows].to(self.stack.device))


class GeneratedBatches(Objective):
    """Base of objectives whose training batches are generated."""

    _recipe: Recipe
    _task: Any

    @abstractmethod
    def _loss(self, batch: Any) -> tuple[Tensor, Totals]: ...

    def next_loss(self, generator: torch.Generator) -> tuple[Tensor, Totals]:
        """Return the loss of the next generated batch."""
        return self._loss(self._task.batch(self._recipe.batch, generator))

    def evaluate_train(self) -> Totals:
        """Evaluate the model on as many generated rows as there are test rows."""
        generator = torch.Generator().manual_seed(self._recipe.seed)
        with _inference_mode(self.stack):
            return self._loss(self._task.batch(self.rows_test, generator))[1]


class NextTokens(GeneratedBatches):
    """Next-token prediction; accuracy is only scored where the answer can be inferred."""

    def __init__(self, stack: LanguageModel, recipe: Recipe, task: Language, tokenizer: Tokenizer) -> None:
        self.stack: LanguageModel = stack
        self._recipe, self._task = recipe, task
        self._test = task.test()
        self.rows_train, self.rows_test, self.max_len = task.rows_train, len(self._test.ids), task.length
        probes = [tokenizer.encode(text) for text in task.probes]
        self.probes = [(probe.tokens[: task.length], probe.ids[: task.length]) for probe in probes]

    def evaluate(self) -> Outcome:
        """Evaluate the model on the test rows, including the scores of its heads."""
        totals = Totals()
        with _inference_mode(self.stack):
            for rows in torch.split(torch.arange(self.rows_test), self._recipe.batch):
                totals += self._loss(_rows(self._test, rows))[1]
        sample = _rows(self._test, torch.arange(min(ROWS_OF_HEADS, self.rows_test)))
        maps = self.maps(sample.ids[:, :-1].to(self.stack.device))
        scores = [head_scores(weights.cpu(), sample.source) for weights in maps]
        has_answers = bool((sample.source >= 0).any())
        more = {
            "induction": [induction for induction, _ in scores] if has_answers else [],
            "previous": [p for _, p in scores],
        }
        return Outcome(totals, [], more)

    def _loss(self, batch: Batch) -> tuple[Tensor, Totals]:
        ids, scored = batch.ids.to(self.stack.device), batch.scored.to(self.stack.device)
        logits, answers = self.stack.logits(ids[:, :-1]), ids[:, 1:]
        loss = F.cross_entropy(logits.flatten(0, 1), answers.flatten())
        with torch.no_grad():
            right = int(((logits.argmax(dim=-1) == answers) & scored).sum())
        places = answers.numel()
        return loss, Totals(loss.item() * places, places, right, int(scored.sum()))


class Translations(GeneratedBatches):
    """Translation with teacher forcing; accuracy counts greedy translations without any error."""

    def __init__(self, stack: EncoderDecoder, recipe: Recipe, task: Translation, tokenizer: Tokenizer) -> None:
        self.stack: EncoderDecoder = stack
        self._recipe, self._task = recipe, task
        self._test = task.test()
        self.rows_train, self.rows_test = task.rows_train, len(self._test.ids)
        self.max_len, self.target_length = task.length, task.target_length
        self._number = {token: number for number, token in enumerate(task.vocabulary)}
        encodings = [tokenizer.encode(text) for text in task.probes]
        self.columns = [encoding.tokens for encoding in encodings]
        answers = [[*(task.answer(text) or ""), task.END] for text in task.probes]
        self.probes = [(tokens, encoding.ids) for tokens, encoding in zip(answers, encodings, strict=True)]

    def evaluate(self) -> Outcome:
        """Evaluate greedy translations of the test rows and their alignment."""
        totals, n_aligned, n_with_source = Totals(), 0, 0
        with _inference_mode(self.stack):
            for rows in torch.split(torch.arange(self.rows_test), max(TEXTS_AT_ONCE, self._recipe.batch)):
                batch = Pairs(*(part[rows].to(self.stack.device) for part in vars(self._test).values()))
                output = self.stack.greedy(batch.ids, batch.keep, self._number[self._task.START], self.target_length)
                right = int((output == batch.target[:, 1:]).all(dim=1).sum())
                loss = self._loss(batch)[1]
                totals += Totals(loss.loss, loss.losses, right, len(rows))
                target = torch.cat([batch.target[:, :1], output[:, :-1]], dim=1)
                maps = self.stack.decode(target, self.stack.encode_source(batch.ids, batch.keep), batch.keep).cross[-1]
                hits, places = aligned(cast(Tensor, maps), batch.origin)
                n_aligned, n_with_source = n_aligned + hits, n_with_source + places
        return Outcome(totals, [], {"aligned": round(n_aligned / max(1, n_with_source), 6)})

    def probe_maps(self, number: int) -> list[Tensor]:
        """Return the cross-attention weights (1, h, i, j) of every layer for one of the probes."""
        tokens, ids = self.probes[number]
        target_ids = [self._number[token] for token in (self._task.START, *tokens[:-1])]
        source, target = (torch.tensor([row], device=self.stack.device) for row in (ids, target_ids))
        with _inference_mode(self.stack):
            return cast(list[Tensor], self.stack.decode(target, self.stack.encode_source(source)).cross)

    def _loss(self, batch: Pairs) -> tuple[Tensor, Totals]:
        ids, keep, target = (part.to(self.stack.device) for part in (batch.ids, batch.keep, batch.target))
        logits, answers = self.stack.logits(ids, keep, target[:, :-1]), target[:, 1:]
        loss = F.cross_entropy(logits.flatten(0, 1), answers.flatten())
        with torch.no_grad():
            right = int((logits.argmax(dim=-1) == answers).all(dim=1).sum())
        return loss, Totals(loss.item() * answers.numel(), answers.numel(), right, len(ids))


def objective(recipe: Recipe, task: Task, tokenizer: Tokenizer, device: torch.device) -> Objective:
    """Build the objective of a task, with a randomly initialised model on the device."""
    kind: Any
    sizes: dict[str, Any]
    if isinstance(task, Pictures):
        picture = (task.side, task.patch, task.registers)
        kind, sizes = PictureClasses, {"classes": len(task.classes), "picture": picture}
    elif isinstance(task, Labelled):
        kind, sizes = Classes, {"classes": len(task.classes)}
    elif isinstance(task, Translation):
        kind, sizes = Translations, {"target_length": task.target_length}
    else:
        kind, sizes = NextTokens, {"max_len": task.length}
    stack = build_stack(recipe, tokenizer.get_vocab_size(), **sizes)
    init_weights(stack, recipe.seed, is_own=recipe.start == "own")
    result: Objective = kind(stack.to(device), recipe, task, tokenizer)
    return result


@lru_cache(maxsize=4)  # training and test rows, with and without duplicates
def _ids(tokenizer: Tokenizer, texts: tuple[str, ...]) -> list[list[int]]:
    """Return the ids of the texts; callers share them and must not change them."""
    return [coded.ids for coded in tokenizer.encode_batch(texts)]


@contextmanager
def _inference_mode(stack: Stack) -> Iterator[None]:
    """Switch the model to inference: no dropout, no gradients."""
    was_training = stack.training
    stack.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        stack.train(was_training)


def _totals(logits: Tensor, labels: Tensor) -> Totals:
    with torch.no_grad():
        loss = F.cross_entropy(logits, labels, reduction="sum").item()
        return Totals(loss, len(labels), int((logits.argmax(dim=-1) == labels).sum()), len(labels))


def _rows(batch: Batch, rows: Tensor) -> Batch:
    return Batch(batch.ids[rows], batch.scored[rows], batch.source[rows])
