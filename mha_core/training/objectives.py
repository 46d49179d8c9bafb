"""The loss that a training minimises and the test that judges it: a class, the next token, a translation."""

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
from .initial_weights import draw, stack_of
from .recipe import Recipe
from .scores import Outcome, Totals, aligned, head_scores
from .tasks import Batch, Labelled, Language, Pairs, Pictures, Task, Translation
from .tasks.shapes import pixels_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TEXTS_AT_ONCE = 128  # that are translated: each of their tokens is a pass
ROWS_OF_HEADS = 64  # of a language model's test rows, for the scores of its heads


class Objective(ABC):
    """The base of all, for one recipe and one task.

    Attributes:
        stack: the model.
        rows_train, rows_test, longest: as in `events.Start`.
        probes: tokens and ids of the texts whose maps are kept.
        columns, target_length, picture: as in `events.Start`.
    """

    stack: Stack
    rows_train: int
    rows_test: int
    longest: int
    probes: list[tuple[list[str], list[int]]]
    notes: tuple[str, ...] = ()
    columns: Sequence[list[str]] = ()
    target_length = 0
    picture: Sequence[int] = ()

    @abstractmethod
    def next_loss(self, generator: torch.Generator) -> tuple[Tensor, Totals]:
        """The loss of the next training batch, a scalar to go back from, and its totals."""

    @abstractmethod
    def evaluate(self) -> Outcome:
        """The model on the test rows."""

    @abstractmethod
    def evaluate_train(self) -> Totals:
        """The model on as many training rows as there are test rows."""

    def maps(self, ids: Tensor) -> list[Tensor]:
        """The weights (1, h, i, j) of every layer for one text, int64 (1, i)."""
        length, own = ids.shape[1], self.stack.own_mask
        allow = None if own == "none" else masks.allow(masks.parse(own), length, length, device=ids.device)
        with _answering(self.stack):
            return cast(list[Tensor], self.stack(ids, allow=allow)[1])

    def probe_maps(self, number: int) -> list[Tensor]:
        """The weights (1, h, i, j) of every layer for one of the probes."""
        return self.maps(torch.tensor([self.probes[number][1]], device=self.stack.device))


class Classes(Objective):
    """The class of a text."""

    def __init__(self, stack: Classifier, recipe: Recipe, task: Labelled, tokenizer: Tokenizer) -> None:
        self.stack: Classifier = stack
        self._recipe, self._task = recipe, task
        self._labels_train = torch.tensor([row.label for row in task.train])
        self._labels_test = torch.tensor([row.label for row in task.test])
        self.rows_train, self.rows_test = len(task.train), len(task.test)
        self._order = torch.empty(0, dtype=torch.int64)
        self._read(tokenizer)

    def _read(self, tokenizer: Tokenizer) -> None:
        """Turns rows and probes into what the model takes."""
        task, max_len = self._task, self._recipe.max_len
        self._train, cut_train = self._coded(tokenizer, [row.text for row in task.train])
        self._test, cut_test = self._coded(tokenizer, [row.text for row in task.test])
        cut = cut_train + cut_test
        if cut:
            self.notes = (f"{cut} texts have more than {max_len} tokens: the rest of them is left out.",)
        probes = [tokenizer.encode(text) for text in task.probes]
        self.probes = [(probe.tokens[:max_len], probe.ids[:max_len]) for probe in probes]
        self.longest = max(len(ids) for ids in [*self._train, *self._test])

    def next_loss(self, generator: torch.Generator) -> tuple[Tensor, Totals]:
        if not len(self._order):  # a new epoch
            self._order = torch.randperm(self.rows_train, generator=generator)
        rows, self._order = self._order[: self._recipe.batch], self._order[self._recipe.batch :]
        logits, labels = self._logits(self._train, rows), self._labels_train[rows].to(self.stack.device)
        return F.cross_entropy(logits, labels), _totals(logits, labels)

    def evaluate(self) -> Outcome:
        with _answering(self.stack):
            batches = [self._evaluate(self._test, self._labels_test, rows) for rows in self._in_order(self.rows_test)]
        predicted = [label for _, labels in batches for label in labels]
        return Outcome(
            sum((totals for totals, _ in batches), Totals()), predicted, {"pair_accuracy": self._pairs(predicted)}
        )

    def evaluate_train(self) -> Totals:
        some = self._in_order(min(self.rows_train, self.rows_test))
        with _answering(self.stack):
            return sum((self._evaluate(self._train, self._labels_train, rows)[0] for rows in some), Totals())

    def _coded(self, tokenizer: Tokenizer, texts: list[str]) -> tuple[list[list[int]], int]:
        """Ids of the texts, and how many had to be cut."""
        every = _ids(tokenizer, tuple(texts))
        longest = self._recipe.max_len
        return [ids[:longest] for ids in every], sum(len(ids) > longest for ids in every)

    def _in_order(self, rows: int) -> tuple[Tensor, ...]:
        return torch.split(torch.arange(rows), self._recipe.batch)

    def _logits(self, coded: list[list[int]], rows: Tensor) -> Tensor:
        """Logits (b, classes) of these rows as one batch, padded to its longest."""
        ids, keep = padded([coded[row] for row in rows.tolist()], PADDING)
        mask = self._recipe.mask_padding
        return self.stack.logits(ids.to(self.stack.device), keep.to(self.stack.device), mask_padding=mask)

    def _evaluate(self, coded: list[list[int]], labels: Tensor, rows: Tensor) -> tuple[Totals, list[int]]:
        logits = self._logits(coded, rows)
        return _totals(logits, labels[rows].to(self.stack.device)), logits.argmax(dim=-1).tolist()

    def _pairs(self, predicted: list[int]) -> float | None:
        """Share of mirror pairs with both members right; None without pairs."""
        right: dict[int, bool] = {}
        for row, label in zip(self._task.test, predicted, strict=True):
            if row.pair is not None:
                right[row.pair] = right.get(row.pair, True) and label == row.label
        return sum(right.values()) / len(right) if right else None


class ClassesOfPictures(Classes):
    """The class of a picture."""

    stack: VisionTransformer  # type: ignore[assignment]
    _task: Pictures

    def _read(self, tokenizer: Tokenizer) -> None:
        task = self._task
        self._train, self._test = task.train_pixels, task.test_pixels  # type: ignore[assignment]
        self.picture = (task.side, task.patch, task.registers)
        names = list(token_names(*self.picture))
        self.longest = len(names)
        self.probes = [(names, list(range(len(names)))) for _ in task.probes]

    def probe_maps(self, number: int) -> list[Tensor]:
        return self.maps(pixels_of([self._task.probes[number]]).to(self.stack.device))

    def _logits(self, coded: Any, rows: Tensor) -> Tensor:
        return self.stack.logits(coded[rows].to(self.stack.device))


class OfBatches(Objective):
    """The objective of a task whose batches are made anew."""

    _recipe: Recipe
    _task: Any

    @abstractmethod
    def _loss(self, batch: Any) -> tuple[Tensor, Totals]: ...

    def next_loss(self, generator: torch.Generator) -> tuple[Tensor, Totals]:
        return self._loss(self._task.batch(self._recipe.batch, generator))

    def evaluate_train(self) -> Totals:
        generator = torch.Generator().manual_seed(self._recipe.seed)
        with _answering(self.stack):
            return self._loss(self._task.batch(self.rows_test, generator))[1]


class NextTokens(OfBatches):
    """The next token at every place; accuracy counts where the answer can be known."""

    def __init__(self, stack: LanguageModel, recipe: Recipe, task: Language, tokenizer: Tokenizer) -> None:
        self.stack: LanguageModel = stack
        self._recipe, self._task = recipe, task
        self._test = task.test()
        self.rows_train, self.rows_test, self.longest = task.rows_train, len(self._test.ids), task.length
        probes = [tokenizer.encode(text) for text in task.probes]
        self.probes = [(probe.tokens[: task.length], probe.ids[: task.length]) for probe in probes]

    def evaluate(self) -> Outcome:
        totals = Totals()
        with _answering(self.stack):
            for rows in torch.split(torch.arange(self.rows_test), self._recipe.batch):
                totals += self._loss(_rows(self._test, rows))[1]
        some = _rows(self._test, torch.arange(min(ROWS_OF_HEADS, self.rows_test)))
        maps = self.maps(some.ids[:, :-1].to(self.stack.device))
        scores = [head_scores(weights.cpu(), some.source) for weights in maps]
        has_answers = bool((some.source >= 0).any())
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


class Translations(OfBatches):
    """The translation of a text, token by token; an answer is right when the model by itself writes all of it so."""

    def __init__(self, stack: EncoderDecoder, recipe: Recipe, task: Translation, tokenizer: Tokenizer) -> None:
        self.stack: EncoderDecoder = stack
        self._recipe, self._task = recipe, task
        self._test = task.test()
        self.rows_train, self.rows_test = task.rows_train, len(self._test.ids)
        self.longest, self.target_length = task.length, task.target_length
        self._number = {token: number for number, token in enumerate(task.vocabulary)}
        coded = [tokenizer.encode(text) for text in task.probes]
        self.columns = [one.tokens for one in coded]
        answers = [[*(task.answer(text) or ""), task.END] for text in task.probes]
        self.probes = [(tokens, one.ids) for tokens, one in zip(answers, coded, strict=True)]

    def evaluate(self) -> Outcome:
        totals, looks, comes_from_a_word = Totals(), 0, 0
        with _answering(self.stack):
            for rows in torch.split(torch.arange(self.rows_test), max(TEXTS_AT_ONCE, self._recipe.batch)):
                batch = Pairs(*(part[rows].to(self.stack.device) for part in vars(self._test).values()))
                written = self.stack.greedy(batch.ids, batch.keep, self._number[self._task.START], self.target_length)
                right = int((written == batch.target[:, 1:]).all(dim=1).sum())
                loss = self._loss(batch)[1]
                totals += Totals(loss.loss, loss.losses, right, len(rows))
                given = torch.cat([batch.target[:, :1], written[:, :-1]], dim=1)
                maps = self.stack.decode(given, self.stack.memory(batch.ids, batch.keep), batch.keep).cross[-1]
                hits, places = aligned(cast(Tensor, maps), batch.origin)
                looks, comes_from_a_word = looks + hits, comes_from_a_word + places
        return Outcome(totals, [], {"aligned": round(looks / max(1, comes_from_a_word), 6)})

    def probe_maps(self, number: int) -> list[Tensor]:
        written, ids = self.probes[number]
        given = [self._number[token] for token in (self._task.START, *written[:-1])]
        source, target = (torch.tensor([row], device=self.stack.device) for row in (ids, given))
        with _answering(self.stack):
            return cast(list[Tensor], self.stack.decode(target, self.stack.memory(source)).cross)

    def _loss(self, batch: Pairs) -> tuple[Tensor, Totals]:
        ids, keep, target = (part.to(self.stack.device) for part in (batch.ids, batch.keep, batch.target))
        logits, answers = self.stack.logits(ids, keep, target[:, :-1]), target[:, 1:]
        loss = F.cross_entropy(logits.flatten(0, 1), answers.flatten())
        with torch.no_grad():
            right = int((logits.argmax(dim=-1) == answers).all(dim=1).sum())
        return loss, Totals(loss.item() * answers.numel(), answers.numel(), right, len(ids))


def objective(recipe: Recipe, task: Task, tokenizer: Tokenizer, device: torch.device) -> Objective:
    """The objective of a task, with a model in its random start on the device."""
    kind: Any
    told: dict[str, Any]
    if isinstance(task, Pictures):
        picture = (task.side, task.patch, task.registers)
        kind, told = ClassesOfPictures, {"classes": len(task.classes), "picture": picture}
    elif isinstance(task, Labelled):
        kind, told = Classes, {"classes": len(task.classes)}
    elif isinstance(task, Translation):
        kind, told = Translations, {"target_length": task.target_length}
    else:
        kind, told = NextTokens, {"longest": task.length}
    stack = stack_of(recipe, tokenizer.get_vocab_size(), **told)
    draw(stack, recipe.seed, own=recipe.start == "own")
    made: Objective = kind(stack.to(device), recipe, task, tokenizer)
    return made


@lru_cache(maxsize=4)  # training and test rows, as they are and with their duplicates
def _ids(tokenizer: Tokenizer, texts: tuple[str, ...]) -> list[list[int]]:
    """Ids of the texts; not to be changed, as the runs on one task share them."""
    return [coded.ids for coded in tokenizer.encode_batch(texts)]


@contextmanager
def _answering(stack: Stack) -> Iterator[None]:
    """A while in which the model answers, rather than learns: no dropout, no gradients."""
    learns = stack.training
    stack.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        stack.train(learns)


def _totals(logits: Tensor, labels: Tensor) -> Totals:
    with torch.no_grad():
        loss = F.cross_entropy(logits, labels, reduction="sum").item()
        return Totals(loss, len(labels), int((logits.argmax(dim=-1) == labels).sum()), len(labels))


def _rows(batch: Batch, rows: Tensor) -> Batch:
    return Batch(batch.ids[rows], batch.scored[rows], batch.source[rows])
