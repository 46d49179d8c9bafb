"""Training losses and evaluations: classification, next-token prediction, translation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
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
from .tasks import Batch, Dates, Labelled, Pairs, Pictures, Task
from .tasks.dates import END, START
from .tasks.shapes import draw_all

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TEXTS_AT_ONCE = 128  # translated in one batch, one forward pass per token
ROWS_OF_HEADS = 64  # test rows for the head scores of a language model


class Objective(ABC):
    """Base of all objectives: the model, the loss and the evaluation for one recipe and one task.

    Attributes:
        stack: the model, in eval mode except during a step of `Training`.
        start: the fields of `events.Start` that the objective decides; its `probes` are the texts whose maps are kept.
        probe_ids: ids of these texts.
    """

    stack: Stack
    probe_ids: list[list[int]]

    def __init__(self, stack: Any, recipe: Recipe, task: Any, tokenizer: Tokenizer) -> None:
        self.stack, self._recipe, self._task = stack.eval(), recipe, task
        self.start: dict[str, Any] = {}
        self._load(tokenizer)

    @abstractmethod
    def _load(self, tokenizer: Tokenizer) -> None:
        """Convert rows and probes to the model's inputs, and fill `start`."""

    @abstractmethod
    def next_loss(self, generator: torch.Generator) -> tuple[Tensor, Totals]:
        """Return the loss of the next training batch, a scalar for `backward`, and its totals."""

    @abstractmethod
    def evaluate(self) -> Outcome:
        """Evaluate the model on the test rows."""

    @abstractmethod
    def evaluate_train(self) -> Totals:
        """Evaluate the model on as many training rows as there are test rows."""

    @torch.no_grad()
    def maps(self, ids: Tensor) -> list[Tensor]:
        """Return the weights (1, h, i, j) of every layer for one text, int64 (1, i)."""
        length, own_mask = ids.shape[1], self.stack.own_mask
        allow = None if own_mask == "none" else masks.allow(masks.parse(own_mask), length, length, device=ids.device)
        return cast(list[Tensor], self.stack(ids, allow=allow)[1])

    def probe_maps(self, number: int) -> list[Tensor]:
        """Return the weights (1, h, i, j) of every layer for one of the probes."""
        return self.maps(torch.tensor([self.probe_ids[number]], device=self.stack.device))

    def _encode_probes(self, tokenizer: Tokenizer, length: int | None = None) -> list[list[str]]:
        """Set the ids of the task's probes, cut at a length; return their tokens."""
        probes = [tokenizer.encode(text) for text in self._task.probes]
        self.probe_ids = [probe.ids[:length] for probe in probes]
        return [probe.tokens[:length] for probe in probes]


class Classes(Objective):
    """Classification of texts."""

    stack: Classifier

    def _load(self, tokenizer: Tokenizer) -> None:
        train, test = self._task.train, self._task.test
        self._labels_train, self._labels_test = (torch.tensor([row.label for row in rows]) for rows in (train, test))
        self._order = torch.empty(0, dtype=torch.int64)
        self.start |= {"rows_train": len(train), "rows_test": len(test)} | self._load_rows(tokenizer)

    def _load_rows(self, tokenizer: Tokenizer) -> dict[str, Any]:
        """Convert rows and probes to the model's inputs; return fields of the start."""
        max_len, notes = self._recipe.max_len, list[str]()
        encoded = [_ids(tokenizer, tuple(row.text for row in rows)) for rows in (self._task.train, self._task.test)]
        cut = sum(len(ids) > max_len for rows in encoded for ids in rows)
        if cut:
            notes.append(f"{cut} texts have more than {max_len} tokens: the rest of them is left out.")
        self._train, self._test = ([ids[:max_len] for ids in rows] for rows in encoded)
        probes = self._encode_probes(tokenizer, max_len)
        return {"longest": max(map(len, [*self._train, *self._test])), "probes": probes, "notes": notes}

    def next_loss(self, generator: torch.Generator) -> tuple[Tensor, Totals]:
        """Return the loss of the next batch; a new epoch begins when all rows were used."""
        if not len(self._order):  # a new epoch
            self._order = torch.randperm(len(self._labels_train), generator=generator)
        rows, self._order = self._order[: self._recipe.batch], self._order[self._recipe.batch :]
        logits, labels = self._logits(self._train, rows), self._labels_train[rows].to(self.stack.device)
        return F.cross_entropy(logits, labels), _totals(logits, labels)

    @torch.no_grad()
    def evaluate(self) -> Outcome:
        """Evaluate the model on the test rows, also by mirror pairs."""
        batches = [self._evaluate(self._test, self._labels_test, rows) for rows in self._batches()]
        predicted = [label for _, labels in batches for label in labels]
        return Outcome(
            sum((totals for totals, _ in batches), Totals()), predicted, {"pair_accuracy": self._pairs(predicted)}
        )

    @torch.no_grad()
    def evaluate_train(self) -> Totals:
        """Evaluate the model on as many training rows as there are test rows."""
        batches = self._batches(len(self._labels_train))
        return sum((self._evaluate(self._train, self._labels_train, rows)[0] for rows in batches), Totals())

    def _batches(self, limit: int | None = None) -> tuple[Tensor, ...]:
        """Return the indices of the test rows, at most so many, in batches."""
        return torch.split(torch.arange(len(self._labels_test))[:limit], self._recipe.batch)

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

    def _load_rows(self, tokenizer: Tokenizer) -> dict[str, Any]:
        task = self._task
        self._train, self._test = task.pixels
        names = list(token_names(*task.sizes))
        return {"longest": len(names), "probes": [names for _ in task.probes], "picture": list(task.sizes)}

    def probe_maps(self, number: int) -> list[Tensor]:
        """Return the weights (1, h, i, j) of every layer for one of the probes."""
        return self.maps(draw_all([self._task.probes[number]]).to(self.stack.device))

    def _logits(self, coded: Any, rows: Tensor) -> Tensor:
        return self.stack.logits(coded[rows].to(self.stack.device))


class GeneratedBatches(Objective):
    """Base of objectives whose training batches are generated."""

    @abstractmethod
    def _predict(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Return the logits (b, t, vocabulary) of a batch, and the right tokens (b, t)."""

    @abstractmethod
    def _count(self, is_right: Tensor, batch: Any) -> tuple[Tensor, int]:
        """Return the number of right answers, from the right tokens (b, t), and of all answers."""

    def _load(self, tokenizer: Tokenizer) -> None:
        task = self._task
        self._test = task.test
        self._rows_test = len(self._test.ids)
        self.start |= {"rows_train": task.rows_train, "rows_test": self._rows_test, "longest": task.length}
        self.start["probes"] = self._encode_probes(tokenizer, task.length)

    def next_loss(self, generator: torch.Generator) -> tuple[Tensor, Totals]:
        """Return the loss of the next generated batch."""
        return self._loss(self._task.batch(self._recipe.batch, generator))

    @torch.no_grad()
    def evaluate_train(self) -> Totals:
        """Evaluate the model on as many generated rows as there are test rows."""
        generator = torch.Generator().manual_seed(self._recipe.seed)
        return self._loss(self._task.batch(self._rows_test, generator))[1]

    def _loss(self, batch: Any) -> tuple[Tensor, Totals]:
        batch = self._on_device(batch)
        logits, answers = self._predict(batch)
        loss = F.cross_entropy(logits.flatten(0, 1), answers.flatten())
        right, total = self._count(logits.detach().argmax(dim=-1) == answers, batch)
        return loss, Totals(loss.item() * answers.numel(), answers.numel(), int(right), total)

    def _on_device(self, batch: Any, rows: Tensor | slice = slice(None)) -> Any:
        """Return these rows of a batch on the model's device."""
        return type(batch)(*(part[rows].to(self.stack.device) for part in vars(batch).values()))


class NextTokens(GeneratedBatches):
    """Next-token prediction; accuracy is only scored where the answer can be inferred."""

    stack: LanguageModel

    @torch.no_grad()
    def evaluate(self) -> Outcome:
        """Evaluate the model on the test rows, including the scores of its heads."""
        batches = torch.split(torch.arange(self._rows_test), self._recipe.batch)
        totals = sum((self._loss(self._on_device(self._test, rows))[1] for rows in batches), Totals())
        sample = self._on_device(self._test, slice(ROWS_OF_HEADS))
        source = sample.source.cpu()
        scores = [head_scores(weights.cpu(), source) for weights in self.maps(sample.ids[:, :-1])]
        has_answers = bool((source >= 0).any())
        more = {
            "induction": [induction for induction, _ in scores] if has_answers else [],
            "previous": [previous for _, previous in scores],
        }
        return Outcome(totals, [], more)

    def _predict(self, batch: Batch) -> tuple[Tensor, Tensor]:
        return self.stack.logits(batch.ids[:, :-1]), batch.ids[:, 1:]

    def _count(self, is_right: Tensor, batch: Batch) -> tuple[Tensor, int]:
        return (is_right & batch.scored).sum(), int(batch.scored.sum())


class Translations(GeneratedBatches):
    """Translation with teacher forcing; accuracy counts greedy translations without any error."""

    stack: EncoderDecoder

    def _load(self, tokenizer: Tokenizer) -> None:
        super()._load(tokenizer)
        task = self._task
        self._number = {token: number for number, token in enumerate(task.vocabulary)}
        targets = [[*(task.answer(text) or ""), END] for text in task.probes]
        self.start |= {"columns": self.start["probes"], "probes": targets, "target_length": task.target_length}

    @torch.no_grad()
    def evaluate(self) -> Outcome:
        """Evaluate greedy translations of the test rows and their alignment."""
        totals, n_aligned, n_with_source = Totals(), 0, 0
        for rows in torch.split(torch.arange(self._rows_test), max(TEXTS_AT_ONCE, self._recipe.batch)):
            batch: Pairs = self._on_device(self._test, rows)
            start = self._number[START]
            output = self.stack.greedy(batch.ids, batch.keep, start, self._task.target_length)
            right = int((output == batch.target[:, 1:]).all(dim=1).sum())
            totals += replace(self._loss(batch)[1], right=right)
            target = torch.cat([batch.target[:, :1], output[:, :-1]], dim=1)
            maps = self.stack.decode(target, self.stack.encode_source(batch.ids, batch.keep), batch.keep).cross[-1]
            hits, places = aligned(cast(Tensor, maps), batch.origin)
            n_aligned, n_with_source = n_aligned + hits, n_with_source + places
        return Outcome(totals, [], {"aligned": round(n_aligned / max(1, n_with_source), 6)})

    @torch.no_grad()
    def probe_maps(self, number: int) -> list[Tensor]:
        """Return the cross-attention weights (1, h, i, j) of every layer for one of the probes."""
        tokens = [START, *self.start["probes"][number][:-1]]
        ids = self.probe_ids[number], [self._number[token] for token in tokens]
        source, target = (torch.tensor([row], device=self.stack.device) for row in ids)
        return cast(list[Tensor], self.stack.decode(target, self.stack.encode_source(source)).cross)

    def _predict(self, batch: Pairs) -> tuple[Tensor, Tensor]:
        return self.stack.logits(batch.ids, batch.keep, batch.target[:, :-1]), batch.target[:, 1:]

    def _count(self, is_right: Tensor, batch: Pairs) -> tuple[Tensor, int]:
        return is_right.all(dim=1).sum(), len(batch.ids)


def objective(recipe: Recipe, task: Task, tokenizer: Tokenizer, device: torch.device) -> Objective:
    """Build the objective of a task, with a randomly initialised model on the device."""
    kind: Any
    sizes: dict[str, Any]
    if isinstance(task, Pictures):
        kind, sizes = PictureClasses, {"classes": len(task.classes), "picture": task.sizes}
    elif isinstance(task, Labelled):
        kind, sizes = Classes, {"classes": len(task.classes)}
    elif isinstance(task, Dates):
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


@torch.no_grad()
def _totals(logits: Tensor, labels: Tensor) -> Totals:
    loss = F.cross_entropy(logits, labels, reduction="sum").item()
    return Totals(loss, len(labels), int((logits.argmax(dim=-1) == labels).sum()), len(labels))
