"""Any text, character by character."""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import cached_property

import torch

from ...errors import HeadlightError
from .base import Batch, Language

__all__ = ["FEWEST_CHARACTERS", "MOST_CHARACTERS", "MOST_DIFFERENT", "Characters"]

FEWEST_CHARACTERS = 200
MOST_CHARACTERS = 1_000_000
MOST_DIFFERENT = 512
OTHER = "\ufffd"  # stands for every character that is not in the vocabulary

_LENGTH = 64
_TEST_SHARE = 0.1
_TEST_ROWS = 256


class Characters(Language):
    """A text to go on with: its beginning for training, its end for testing, so that no window lies in both.

    Args:
        data: 200 to 1,000,000 characters, as text or as UTF-8.
        seed: decides which windows of the end are the test rows.

    Raises:
        HeadlightError: it is too short, too long or not UTF-8.
    """

    name = "text"
    title = "Your text, character by character"
    version = 1
    length = _LENGTH
    joined_by = ""

    def __init__(self, data: bytes | str, seed: int = 0) -> None:
        text = _read(data)
        cut = len(text) - max(round(_TEST_SHARE * len(text)), _LENGTH + 1)
        known = [symbol for symbol, _ in Counter(text[:cut]).most_common() if symbol != OTHER]
        self.vocabulary = (*sorted(known[: MOST_DIFFERENT - 1]), OTHER)
        number = {symbol: place for place, symbol in enumerate(self.vocabulary)}
        ids = torch.tensor([number.get(symbol, number[OTHER]) for symbol in text])
        self._train, self._test = ids[:cut], ids[cut:]
        self._seed = seed
        self.rows_train = len(self._train) - _LENGTH
        self.notes = self._told(int((ids == number[OTHER]).sum()))
        end = text[cut:]
        self.questions = tuple(end[start : start + 24] for start in range(0, _LENGTH, 16))
        self.probes = (end[:24], end[24:48])

    def batch(self, rows: int, generator: torch.Generator) -> Batch:
        return _windows(self._train, torch.randint(self.rows_train, (rows,), generator=generator))

    def test(self) -> Batch:
        return self._test_rows

    @cached_property
    def _test_rows(self) -> Batch:
        generator = torch.Generator().manual_seed(self._seed)
        starts = torch.randperm(len(self._test) - _LENGTH, generator=generator)[:_TEST_ROWS]
        return _windows(self._test, starts.sort().values)

    @property
    def fingerprint(self) -> str:
        """A short name for exactly this text, and for these test rows."""
        digest = hashlib.blake2b(super().fingerprint.encode(), digest_size=8)
        digest.update(self._train.numpy().tobytes())
        return digest.hexdigest()

    def _told(self, others: int) -> tuple[str, ...]:
        notes = [
            f"The first {len(self._train):,} characters are for training, the last {len(self._test):,} for testing."
        ]
        if others:
            notes.append(
                f"{others:,} characters became {OTHER}: "
                f"only the {len(self.vocabulary) - 1} most frequent ones of the training part are told apart."
            )
        return tuple(notes)


def _windows(ids: torch.Tensor, starts: torch.Tensor) -> Batch:
    rows = ids[starts[:, None] + torch.arange(_LENGTH + 1)]
    return Batch(rows, torch.ones(len(rows), _LENGTH, dtype=torch.bool), torch.full((len(rows), _LENGTH), -1))


def _read(data: bytes | str) -> str:
    # a character of UTF-8 has at most four bytes, the mark at the beginning three
    if len(data) > 4 * MOST_CHARACTERS + 3:
        raise HeadlightError(f"the text has more than {MOST_CHARACTERS:,} characters; shorten it")
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise HeadlightError(f"the text is not UTF-8 (byte {error.start:,}); save it as UTF-8") from error
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if not FEWEST_CHARACTERS <= len(text) <= MOST_CHARACTERS:
        raise HeadlightError(
            f"the text has {len(text):,} characters; give {FEWEST_CHARACTERS:,} to {MOST_CHARACTERS:,}"
        )
    return text
