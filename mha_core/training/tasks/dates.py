"""Translation task: written dates to ISO dates, "the 3rd of March, 2021" -> "2021-03-03".

The alignment is known: the first four digits come from the year, then two from the month, two from the day.
"""

import datetime
import random
import re
from collections.abc import Sequence
from functools import cache, cached_property

import torch
from torch import Tensor

from .base import WORDS, Generated, Pairs

FIRST, LAST = datetime.date(1970, 1, 1), datetime.date(2039, 12, 31)
_TEST_SHARE = 0.1
_TEST_ROWS = 512
_TEST_SEED = 2**32 - 1  # minus the seed, as in the language tasks

PADDING, START, END = SPECIAL = "[PAD]", "[START]", "[END]"
_MONTHS, FORMATS = WORDS["dates"]["months"], WORDS["dates"]["formats"]
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ENDINGS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}
_YEAR, _MONTH, _DAY = 0, 1, 2
_LENGTH = max(len(date_format.split()) for date_format in FORMATS)
_SLOT_PARTS = {"year": _YEAR, "month": _MONTH, "mon": _MONTH, "day": _DAY, "day_padded": _DAY, "day_ordinal": _DAY}
# the source of each character of YYYY-MM-DD, and of the end token
_TARGET_PARTS = (_YEAR, _YEAR, _YEAR, _YEAR, None, _MONTH, _MONTH, None, _DAY, _DAY, None)


def _days() -> list[datetime.date]:
    return [FIRST + datetime.timedelta(days) for days in range((LAST - FIRST).days + 1)]


@cache
def _tables() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Build the lookup tables of batches: (days, slots), (formats, j), (formats, i), (days, i + 1)."""
    number = {token: index for index, token in enumerate(_vocabulary())}
    slot_words = [_slot_words(day) for day in _days()]
    names = ["", *slot_words[0]]
    rows = [date_format.replace("{", "").replace("}", "").split() for date_format in FORMATS]
    slots = [[names.index(n) for n in (row + [""] * _LENGTH)[:_LENGTH]] for row in rows]
    targets = [[START, *day.isoformat(), END] for day in _days()]
    return (
        torch.tensor([[number[word] for word in (PADDING, *words.values())] for words in slot_words]),
        torch.tensor(slots),
        torch.tensor([_places([_SLOT_PARTS.get(slot) for slot in row]) for row in rows]),
        torch.tensor([[number[token] for token in row] for row in targets]),
    )


def format_date(day: datetime.date, date_format: str) -> str:
    """Format a date as text: "Wednesday, 3 March 2021"."""
    words = date_format.format(**{name: word.capitalize() for name, word in _slot_words(day).items()})
    return re.sub(r" (?=,)| ?- ?", lambda match: match[0].strip(), words)


def origins(tokens: Sequence[str]) -> list[int] | None:
    """Return the source position of each target character for a date's tokens, -1 = none.

    None if the tokens do not have exactly one year, month and day.
    """
    kinds = [_date_part(token) for token in tokens]
    if any(kinds.count(part) != 1 for part in (_YEAR, _MONTH, _DAY)):
        return None
    return _places(kinds)


def _places(kinds: Sequence[int | None]) -> list[int]:
    return [-1 if part is None else kinds.index(part) for part in _TARGET_PARTS]


def iso_date(text: str) -> str | None:
    """Parse a written date to its ISO form; None if it is not a date from 1970 to 2039."""
    words = re.findall(r"\w+|[^\w\s]+", text.lower())
    places = origins(words)
    if places is None:
        return None
    year, month, day = words[places[0]], words[places[5]], words[places[8]]
    number = next(index for index, name in enumerate(_MONTHS, 1) if month in (name, name[:3]))
    try:
        date = datetime.date(int(year), number, int(re.sub(r"\D", "", day)))
    except ValueError:
        return None
    return date.isoformat() if FIRST <= date <= LAST else None


def _slot_words(day: datetime.date) -> dict[str, str]:
    """Return the word of each slot for a day, plus the literal words used in formats."""
    month, ordinal = _MONTHS[day.month - 1], f"{day.day}{_ENDINGS.get(day.day, 'th')}"
    words = {"year": f"{day.year}", "month": month, "mon": month[:3], "day": f"{day.day}", "day_ordinal": ordinal}
    words |= {"day_padded": f"{day.day:02}", "weekday": _WEEKDAYS[day.weekday()]}
    return words | {word: word for word in ("the", "of", "on", "in", ",", "-")}


def _date_part(word: str) -> int | None:
    if re.fullmatch(r"\d{4}", word):
        return _YEAR
    if re.fullmatch(r"\d{1,2}(st|nd|rd|th)?", word):
        return _DAY
    return _MONTH if any(word in (name, name[:3]) for name in _MONTHS) else None


def _vocabulary() -> tuple[str, ...]:
    characters = (*"0123456789-",)
    words = sorted({word for day in _days() for word in _slot_words(day).values()} - set(characters))
    return (*SPECIAL, *characters, *words, "[UNK]")


class Dates(Generated[Pairs]):
    """Dates of seventy years in every format; a tenth of the days is held out for testing.

    Attributes:
        target_length: i, the number of target positions, including the end token.
        answer: returns the ISO form of a written date, see `iso_date`.
        origin: returns the source position of each of its characters, see `origins`.
    """

    name = "dates"
    title = "Dates"
    version = 1
    length = _LENGTH
    target_length = len(_TARGET_PARTS)
    answer = staticmethod(iso_date)
    origin = staticmethod(origins)

    def __init__(self, seed: int = 0) -> None:
        days, generator = _days(), random.Random(seed)
        unseen = set(generator.sample(range(len(days)), round(_TEST_SHARE * len(days))))
        self._train = torch.tensor([day for day in range(len(days)) if day not in unseen])
        self._test = torch.tensor(sorted(unseen))
        self._test_seed = _TEST_SEED - seed
        self.vocabulary = _vocabulary()
        self._slot_ids, self._slots, self._origins, self._targets = _tables()
        questions = [days[day] for day in generator.sample(sorted(unseen), 6)]
        self.questions = tuple(
            format_date(day, FORMATS[index]) for day, index in zip(questions, (8, 0, 12, 14, 11, 17), strict=True)
        )
        self.probes = self.questions[:2]

    def batch(self, rows: int, generator: torch.Generator) -> Pairs:
        """Return random training days in random formats."""
        return self._rows(self._train, rows, generator)

    @cached_property
    def test(self) -> Pairs:
        """Held-out days in random formats."""
        return self._rows(self._test, _TEST_ROWS, torch.Generator().manual_seed(self._test_seed))

    def _rows(self, days: Tensor, rows: int, generator: torch.Generator) -> Pairs:
        day = days[torch.randint(len(days), (rows,), generator=generator)]
        formats = torch.randint(len(FORMATS), (rows,), generator=generator)
        ids = self._slot_ids[day].gather(1, self._slots[formats])
        return Pairs(ids, self._slots[formats] > 0, self._targets[day], self._origins[formats])
