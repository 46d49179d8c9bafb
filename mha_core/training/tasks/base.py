"""The kinds of task: labelled texts in two parts, rows of tokens to go on with, texts to translate."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import torch
from torch import Tensor

B = TypeVar("B")  # a batch of a task


@dataclass(frozen=True)
class TrainingData:
    """Data from outside.

    Attributes:
        kind: "csv", "news" (a CSV too) or "text".
        text, label, keep_duplicates: of a CSV, as in `from_csv`.
    """

    kind: str
    content: bytes
    text: str = "text"
    label: str = "label"
    keep_duplicates: bool = False


@dataclass(frozen=True)
class Row:
    """A text, the number of its class, and the number that it shares with its mirror (None = it has none)."""

    text: str
    label: int
    pair: int | None = None


@dataclass(frozen=True)
class Labelled:
    """Texts to classify. Both members of a pair are on one side of the split.

    Attributes:
        name: in links and files.  title: on the screen.  version: of the generator that made it.
        classes: their names; a row's label is a number of them.
        train, test: the rows.
        questions: texts to ask a trained model, mirrors side by side.
        probes: texts whose maps are kept while a model learns.
        notes: what was done to the data, in whole sentences.
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
        """A short name for exactly these rows in these parts."""
        digest = hashlib.blake2b(digest_size=8)
        for part in (self.train, self.test):
            for row in part:
                digest.update(repr((row.text, row.label, row.pair)).encode("utf-8", "surrogatepass"))
            digest.update(b"\0")
        return digest.hexdigest()

    @cached_property
    def labels(self) -> dict[str, int]:
        """The class of every text, by its number; where both parts have a text, as the training row says."""
        return {row.text: row.label for row in (*self.test, *self.train)}


@dataclass(frozen=True)
class Batch:
    """Rows of tokens for a language model, which sees ids[:, :-1] and is asked for ids[:, 1:].

    Attributes:
        ids: int64 (b, t + 1).
        scored: bool (b, t), the places whose next token counts for the accuracy; the loss is taken over all places.
        source: int64 (b, t), the key that holds the answer, for the induction score; -1 where none is asked for.
    """

    ids: Tensor
    scored: Tensor
    source: Tensor


@dataclass(frozen=True)
class Pairs:
    """Texts and their translations, padded.

    Attributes:
        ids: int64 (b, j), the texts.  keep: bool (b, j), True = a real token.
        target: int64 (b, i + 1), the translations between `START` and `END`; the decoder reads target[:, :-1] and is
            asked for target[:, 1:].
        origin: int64 (b, i), the token of the text that what is written at each place comes from; -1 = none.
    """

    ids: Tensor
    keep: Tensor
    target: Tensor
    origin: Tensor


class Generated(ABC, Generic[B]):
    """Rows that a generator makes anew for every batch.

    Attributes:
        name, title, version, questions, probes, notes: as in `Labelled`; a question is the beginning of a text.
        vocabulary: every token, its number is its id; the last one stands for every token that is not in it.
        length: of what the model sees at once, in tokens.
        rows_train: how many training rows there are, 0 where every batch is made anew.
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
        """So many training rows; the same generator state gives the same rows."""

    @abstractmethod
    def test(self) -> B:
        """The test rows, the same ones every time; of a translation none is in a training row."""

    @cached_property
    def fingerprint(self) -> str:
        """A short name for exactly this vocabulary and these test rows."""
        digest = hashlib.blake2b("\0".join(self.vocabulary).encode("utf-8", "surrogatepass"), digest_size=8)
        for name, part in vars(self.test()).items():
            if name in ("ids", "target"):
                digest.update(part.to("cpu", torch.int64).numpy().tobytes())
        return digest.hexdigest()


class Language(Generated[Batch]):
    """Rows of tokens to go on with.

    Attributes:
        joined_by: what stands between two tokens of a text, " " or "".
    """

    joined_by: str


class Translation(Generated[Pairs]):
    """Texts and their translations into characters. Its questions are whole texts; `length` is that of the longest.

    Attributes:
        vocabulary: every token of both sides; the first are `SPECIAL`.
        target_length: i, the places that are written, `END` among them.
    """

    SPECIAL = PADDING, START, END = "[PAD]", "[START]", "[END]"

    target_length: int

    @abstractmethod
    def answer(self, text: str) -> str | None:
        """The right translation; None of a text that this task does not write."""

    @abstractmethod
    def origin(self, tokens: Sequence[str]) -> list[int] | None:
        """The token of a text that each written one comes from, -1 = none; None where it is not known."""
