"""Two tasks that a language model solves by looking back: repeated random words, and people's full names."""

import random
from functools import cached_property

import torch
from torch import Tensor

from .base import WORDS, Batch, Language

UNKNOWN = "[UNK]"
_LENGTH = 32
_TEST_ROWS = 256
_TEST_SEED = 2**32 - 1  # minus the seed, so that it differs from every training seed; the generator takes 32 bits

_WORDS = WORDS["words"]["words"]
_MIN_PERIOD, _MAX_PERIOD = 6, 15

_FIRST, _LAST = WORDS["names"]["first"], WORDS["names"]["last"]
_VERBS = ("called", "thanked", "saw", "helped")
_PLAIN = ("met", "and", "later", ".")


class _RecurringWords(Language):
    """Rows of recurring words; the test rows have their own generator."""

    length = _LENGTH
    joined_by = " "

    def __init__(self, seed: int = 0) -> None:
        self._test_seed = _TEST_SEED - seed

    @cached_property
    def test(self) -> Batch:
        """The test rows."""
        return self.batch(_TEST_ROWS, torch.Generator().manual_seed(self._test_seed))


class Words(_RecurringWords):
    """Random words that are repeated over and over; the next word followed its previous occurrence.

    It is scored from the second round on, for words that occur once per period, so that the next word is unambiguous.
    """

    name = "words"
    title = "Repeated random words"
    version = 1
    vocabulary = (*_WORDS, UNKNOWN)

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        generator = random.Random(seed)
        rounds = [generator.sample(_WORDS, _MIN_PERIOD) for _ in range(4)]
        self.questions = tuple(" ".join(words + words[:2]) for words in rounds)
        self.probes = tuple(" ".join(words + words) for words in rounds[:2])

    def batch(self, rows: int, generator: torch.Generator) -> Batch:
        """Return rows of repeated random words."""
        order = torch.randint(len(_WORDS), (rows, _MAX_PERIOD), generator=generator)
        period = torch.randint(_MIN_PERIOD, _MAX_PERIOD + 1, (rows, 1), generator=generator)
        place = torch.arange(_LENGTH + 1).expand(rows, -1)
        ids = order.gather(1, place % period)

        is_equal = (order[:, :, None] == order[:, None]) & (torch.arange(_MAX_PERIOD) < period)[:, None]
        place = place[:, :-1]
        # the period is unknown until its first word has returned, at position `period`
        scored = (place >= period) & (is_equal.sum(2) == 1).gather(1, place % period)
        # from the third round on the answer is at several positions
        source = torch.where(scored & (place + 1 < 2 * period), place + 1 - period, -1)
        return Batch(ids, scored, source)


class Names(_RecurringWords):
    """Sentences about people, drawn for each row: "ada stone met leo finch . later leo finch called …".

    After a first name's second mention the surname can only be inferred from its first mention. A row is filled up with
    further sentences on the same two or three people, so that no position is padding, and cut at its end.
    """

    name = "names"
    title = "Full names"
    version = 1
    vocabulary = (*_FIRST, *_LAST, *_VERBS, *_PLAIN, UNKNOWN)

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        rng = random.Random(seed)
        stories = []
        for _ in range(4):
            person, other = (
                f"{first} {last}" for first, last in zip(rng.sample(_FIRST, 2), rng.sample(_LAST, 2), strict=True)
            )
            stories.append(f"{person} met {other} . later {other} {rng.choice(_VERBS)} {person}")
        self.questions = tuple(story.rsplit(" ", 1)[0] for story in stories)
        self.probes = tuple(stories[:2])

    def batch(self, rows: int, generator: torch.Generator) -> Batch:
        """Return rows about two or three people."""
        first = torch.rand(rows, len(_FIRST), generator=generator).argsort(1)[:, :3]
        last = torch.rand(rows, len(_LAST), generator=generator).argsort(1)[:, :3] + len(_FIRST)
        three = torch.rand(rows, 1, generator=generator) < 0.5
        stories = [self._story(people, first, last, generator) for people in (2, 3)]
        ids, source = (torch.where(three, long, short) for short, long in zip(*stories, strict=True))
        source = source[:, 1:]  # of the next token
        return Batch(ids, source >= 0, source)

    def _story(self, people: int, first: Tensor, last: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return rows (b, t + 1), and for each token the position of the surname that it repeats, or -1."""
        rows = len(first)
        nothing = torch.full((rows, 1), -1)

        def column(word: str) -> tuple[Tensor, Tensor]:
            return torch.full((rows, 1), self.vocabulary.index(word)), nothing

        columns: list[tuple[Tensor, Tensor]] = []
        for number in range(people):
            columns += [column(("met", "and")[number - 1])] if number else []
            columns += [(first[:, [number]], nothing), (last[:, [number]], nothing)]
        columns.append(column("."))
        while len(columns) <= _LENGTH:
            agent = torch.randint(people, (rows, 1), generator=generator)
            other = (agent + torch.randint(1, people, (rows, 1), generator=generator)) % people
            verb = torch.randint(len(_VERBS), (rows, 1), generator=generator) + len(_FIRST) + len(_LAST)
            columns.append(column("later"))
            for person, end in ((agent, (verb, nothing)), (other, column("."))):
                columns += [(first.gather(1, person), nothing), (last.gather(1, person), 3 * person + 1), end]
        ids, source = (torch.cat(parts, 1)[:, : _LENGTH + 1] for parts in zip(*columns, strict=True))
        return ids, source
