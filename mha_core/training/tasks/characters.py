"""A language task over the characters of any text."""

import hashlib
from collections import Counter
from functools import cached_property

import torch

from ...errors import HeadlightError
from .base import Batch, Language

MIN_CHARACTERS = 200
MAX_CHARACTERS = 1_000_000
MAX_DIFFERENT = 512
CONTEXTS = (16, 256)  # minimum and maximum context, in characters
OTHER = "\ufffd"  # replaces every character outside of the vocabulary

_LENGTH = 64
_MIN_PARTS = 3  # a window is at most a third of the text
_TEST_SHARE = 0.1
_TEST_ROWS = 256


class Characters(Language):
    """Characters of a text to predict; the beginning is for training, the end for testing.

    No window is in both parts.

    Args:
        data: 200 to 1,000,000 characters, as text or as UTF-8.
        seed: chooses the windows of the end that are the test rows.
        length: of a window, the context, 16 to 256 characters; of a short text at most a third, which is noted.

    Raises:
        HeadlightError: it is too short, too long or not UTF-8; there is no such context.
    """

    name = "text"
    title = "A text, character by character"
    version = 2
    joined_by = ""

    def __init__(self, data: bytes | str, seed: int = 0, length: int = _LENGTH) -> None:
        if not CONTEXTS[0] <= length <= CONTEXTS[1]:
            raise HeadlightError(f"a context of {length:,} characters; choose {CONTEXTS[0]} to {CONTEXTS[1]}")
        text = _read(data)
        self.length = min(length, len(text) // _MIN_PARTS)
        cut = len(text) - max(round(_TEST_SHARE * len(text)), max(self.length, _LENGTH) + 1)
        frequent = [symbol for symbol, _ in Counter(text[:cut]).most_common() if symbol != OTHER]
        self.vocabulary = (*sorted(frequent[: MAX_DIFFERENT - 1]), OTHER)
        number = {symbol: place for place, symbol in enumerate(self.vocabulary)}
        ids = torch.tensor([number.get(symbol, number[OTHER]) for symbol in text])
        self._train, self._test = ids[:cut], ids[cut:]
        self._seed = seed
        self.rows_train = len(self._train) - self.length
        self.notes = self._notes(int((ids == number[OTHER]).sum()), length)
        end = text[cut:]
        end = end[end.find("\n", 0, len(end) - _LENGTH) + 1 :]  # starts at a line, if there is one
        self.questions = tuple(end[start : start + 24] for start in range(0, _LENGTH, 16))
        self.probes = (end[:24], end[24:48])

    def batch(self, rows: int, generator: torch.Generator) -> Batch:
        """Return random windows of the training part."""
        return self._windows(self._train, torch.randint(self.rows_train, (rows,), generator=generator))

    @cached_property
    def test(self) -> Batch:
        """The windows of the test part."""
        generator = torch.Generator().manual_seed(self._seed)
        starts = torch.randperm(len(self._test) - self.length, generator=generator)[:_TEST_ROWS]
        return self._windows(self._test, starts.sort().values)

    @cached_property
    def fingerprint(self) -> str:
        """Short digest of this text and its split, whatever the context."""
        digest = hashlib.blake2b("\0".join(self.vocabulary).encode("utf-8", "surrogatepass"), digest_size=8)
        for part in (self._train, self._test, torch.tensor([len(self._train), self._seed])):
            digest.update(part.numpy().tobytes())
        return digest.hexdigest()

    def _windows(self, ids: torch.Tensor, starts: torch.Tensor) -> Batch:
        rows = ids[starts[:, None] + torch.arange(self.length + 1)]
        shape = (len(rows), self.length)
        return Batch(rows, torch.ones(shape, dtype=torch.bool), torch.full(shape, -1))

    def _notes(self, others: int, requested: int) -> tuple[str, ...]:
        notes = [
            f"The first {len(self._train):,} characters are for training, the last {len(self._test):,} for testing."
        ]
        if self.length < requested:
            notes.append(f"The context is {self.length} characters instead of {requested}: a third of this short text.")
        if others:
            notes.append(
                f"{others:,} characters became {OTHER}: "
                f"only the {len(self.vocabulary) - 1} most frequent ones of the training part are told apart."
            )
        return tuple(notes)


def _read(data: bytes | str) -> str:
    # a character of UTF-8 has at most four bytes, the mark at the beginning three
    if len(data) > 4 * MAX_CHARACTERS + 3:
        raise HeadlightError(f"the text has more than {MAX_CHARACTERS:,} characters; shorten it")
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise HeadlightError(f"the text is not UTF-8 (byte {error.start:,}); save it as UTF-8") from error
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if not MIN_CHARACTERS <= len(text) <= MAX_CHARACTERS:
        raise HeadlightError(f"the text has {len(text):,} characters; give {MIN_CHARACTERS:,} to {MAX_CHARACTERS:,}")
    return text
