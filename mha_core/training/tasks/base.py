"""Kinds of task: classification, language modelling, translation."""

import hashlib
import tomllib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

import torch
from torch import Tensor

# task -> its words and patterns
WORDS: dict[str, dict[str, list[str]]] = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
B = TypeVar("B")  # a batch of a task


@dataclass(frozen=True)
class TrainingData:
    """External training data.

    Attributes:
        kind: "csv" or "news", a table in CSV or JSON, see `table_file`; or "text".
        content: of the file.
        text: the name of the table's text column, case-insensitive, or its number from 1. If a column of the default
            name is missing, it is guessed from the contents, and a note says so.
        label: the name of the label column, likewise.
        keep_duplicates: keep rows with repeated texts; how many are on both sides of the split is noted.
    """

    kind: str
    content: bytes
    text: str = "text"
    label: str = "label"
    keep_duplicates: bool = False


@dataclass(frozen=True)
class Row:
    """Text with its class, and the number that it shares with its mirror (None = it has none)."""

    text: str
    label: int
    pair: int | None = None


@dataclass(frozen=True)
class Labelled:
    """Texts to classify. Both members of a pair are on one side of the split.

    Attributes:
        name: in links and files.
        title: on the screen.
        version: of the generator.
        classes: their names; a row's label is an index of them.
        train: the training rows.
        test: the test rows.
        questions: example texts for a trained model, mirrors side by side.
        probes: texts whose maps are kept during training.
        notes: how the data were cleaned, in whole sentences.
    """

    name: str
    title: str
    version: int
    classes: tuple[str, ...]
    train: tuple[Row, ...]
    test: tuple[Row, ...]
    questions: tuple[str, ...]
    probes: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def fingerprint(self) -> str:
        """Short digest of these rows and their split."""
        digest = hashlib.blake2b(digest_size=8)
        for part in (self.train, self.test):
            for row in part:
                digest.update(repr((row.text, row.label, row.pair)).encode("utf-8", "surrogatepass"))
            digest.update(b"\0")
        return digest.hexdigest()

    @cached_property
    def labels(self) -> dict[str, int]:
        """Class of every text; for a text in both parts that of the training row."""
        return {row.text: row.label for row in (*self.test, *self.train)}


@dataclass(frozen=True)
class Batch:
    """Rows of tokens for a language model, with inputs ids[:, :-1] and targets ids[:, 1:].

    Attributes:
        ids: int64 (b, t + 1).
        scored: bool (b, t), the positions whose next token counts for the accuracy; all count for the loss.
        source: int64 (b, t), the key that holds the answer, for the induction score; -1 where there is none.
    """

    ids: Tensor
    scored: Tensor
    source: Tensor


@dataclass(frozen=True)
class Pairs:
    """Padded batch of texts and their translations.

    Attributes:
        ids: int64 (b, j), the texts.
        keep: bool (b, j), True = a real token.
        target: int64 (b, i + 1), the translations between two special tokens, with decoder inputs target[:, :-1] and
            targets target[:, 1:].
        origin: int64 (b, i), the source position of each target token; -1 = none.
    """

    ids: Tensor
    keep: Tensor
    target: Tensor
    origin: Tensor


class Generated(ABC, Generic[B]):
    """Task whose training batches are generated; attributes that are not listed here are as in `Labelled`.

    Attributes:
        vocabulary: every token, its index is its id; the last one stands for unknown tokens.
        length: the context length, in tokens.
        questions: example prompts.
        rows_train: the number of training rows, 0 if every batch is generated.
    """

    name: str
    title: str
    version: int
    vocabulary: tuple[str, ...]
    length: int
    questions: tuple[str, ...]
    probes: tuple[str, ...]
    notes: tuple[str, ...] = ()
    rows_train: int = 0

    @abstractmethod
    def batch(self, rows: int, generator: torch.Generator) -> B:
        """Return a batch of training rows; equal generator states give equal rows."""

    @property
    @abstractmethod
    def test(self) -> B:
        """The test rows, always the same; in a translation task none is in a training row."""

    @cached_property
    def fingerprint(self) -> str:
        """Short digest of this vocabulary and these test rows."""
        digest = hashlib.blake2b("\0".join(self.vocabulary).encode("utf-8", "surrogatepass"), digest_size=8)
        for name, part in vars(self.test).items():
            if name in ("ids", "target"):
                digest.update(part.to("cpu", torch.int64).numpy().tobytes())
        return digest.hexdigest()


class Language(Generated[Batch]):
    """Rows of tokens for a language model.

    Attributes:
        joined_by: separator of the tokens of a text, " " or "".
    """

    joined_by: str
