"""Written dates to translate: "the 3rd of March, 2021" -> "2021-03-03".

Which word each digit comes from is known: the first four from the year, then two from the month, two from the day.
"""

import datetime
import random
import re
from collections.abc import Sequence
from functools import cache, lru_cache

import torch
from torch import Tensor

from .base import Pairs, Translation

FIRST, LAST = datetime.date(1970, 1, 1), datetime.date(2039, 12, 31)
_TEST_SHARE = 0.1
_TEST_ROWS = 512
_TEST_SEED = 2**32 - 1  # minus the seed, as of the language tasks

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ENDINGS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}
# a word of a spelling in braces is written as the date has it, any other as it stands; no digit can be two things
SPELLINGS = (
    "{month} {day} , {year}",
    "{month} {nth} , {year}",
    "{month} the {nth} , {year}",
    "{mon} {day} , {year}",
    "{mon} {nth} {year}",
    "{day} {month} {year}",
    "{nth} {month} {year}",
    "{nth} of {month} {year}",
    "the {nth} of {month} , {year}",
    "{day} {mon} {year}",
    "{two} {mon} {year}",
    "{two} - {mon} - {year}",
    "{year} , {month} {day}",
    "{year} {mon} {two}",
    "{weekday} , {day} {month} {year}",
    "{weekday} , {month} {nth} , {year}",
    "on {weekday} the {nth} of {month} {year}",
    "in {year} on the {nth} of {month}",
)
_YEAR, _MONTH, _DAY = 0, 1, 2
_PART_OF = {"year": _YEAR, "month": _MONTH, "mon": _MONTH, "day": _DAY, "two": _DAY, "nth": _DAY}
_PARTS = (_YEAR, _YEAR, _YEAR, _YEAR, None, _MONTH, _MONTH, None, _DAY, _DAY, None)  # of YYYY-MM-DD and its end


class Dates(Translation):
    """Every day of seventy years in every spelling; a day in ten is never written in a training row."""

    name = "dates"
    title = "Dates"
    version = 1
    length = max(len(spelling.split()) for spelling in SPELLINGS)
    target_length = len(_PARTS)

    def __init__(self, seed: int = 0) -> None:
        days, chosen = _days(), random.Random(seed)
        unseen = set(chosen.sample(range(len(days)), round(_TEST_SHARE * len(days))))
        self._train = torch.tensor([day for day in range(len(days)) if day not in unseen])
        self._test = torch.tensor(sorted(unseen))
        self._test_seed = _TEST_SEED - seed
        self.vocabulary = _vocabulary()
        self._forms, self._patterns, self._places, self._targets = _tables()
        asked = [days[day] for day in chosen.sample(sorted(unseen), 6)]
        self.questions = tuple(
            written_out(day, SPELLINGS[at]) for day, at in zip(asked, (8, 0, 12, 14, 11, 17), strict=True)
        )
        self.probes = self.questions[:2]

    def batch(self, rows: int, generator: torch.Generator) -> Pairs:
        return self._rows(self._train, rows, generator)

    @lru_cache(maxsize=1)  # noqa: B019
    def test(self) -> Pairs:
        return self._rows(self._test, _TEST_ROWS, torch.Generator().manual_seed(self._test_seed))

    def answer(self, text: str) -> str | None:
        return read(text)

    def origin(self, tokens: Sequence[str]) -> list[int] | None:
        return origins(tokens)

    def _rows(self, days: Tensor, rows: int, generator: torch.Generator) -> Pairs:
        day = days[torch.randint(len(days), (rows,), generator=generator)]
        spelling = torch.randint(len(SPELLINGS), (rows,), generator=generator)
        ids = self._forms[day].gather(1, self._patterns[spelling])
        return Pairs(ids, self._patterns[spelling] > 0, self._targets[day], self._origin(spelling))

    def _origin(self, spelling: Tensor) -> Tensor:
        """(b, i): of each place that is written the place of its word in the text."""
        parts = torch.tensor([0 if part is None else part for part in _PARTS])
        comes_from_a_word = torch.tensor([part is not None for part in _PARTS])
        return torch.where(comes_from_a_word, self._places[spelling][:, parts], -1)


def _days() -> list[datetime.date]:
    return [FIRST + datetime.timedelta(days) for days in range((LAST - FIRST).days + 1)]


@cache
def _tables() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(days, forms), (spellings, j), (spellings, 3), (days, i + 1): a batch is looked up in them, whatever the seed."""
    number = {token: at for at, token in enumerate(_vocabulary())}
    forms = [_words(day) for day in _days()]
    names = ["", *forms[0]]
    rows = [spelling.replace("{", "").replace("}", "").split() for spelling in SPELLINGS]
    patterns = [[names.index(n) for n in (row + [""] * Dates.length)[: Dates.length]] for row in rows]
    written = [[Dates.START, *day.isoformat(), Dates.END] for day in _days()]
    return (
        torch.tensor([[number[word] for word in (Dates.PADDING, *words.values())] for words in forms]),
        torch.tensor(patterns),
        torch.tensor([[_place(row, part) for part in (_YEAR, _MONTH, _DAY)] for row in rows]),
        torch.tensor([[number[token] for token in row] for row in written]),
    )


def written_out(day: datetime.date, spelling: str) -> str:
    """A date as a person writes it: "Wednesday, 3 March 2021"."""
    words = spelling.format(**{name: word.capitalize() for name, word in _words(day).items()})
    return re.sub(r" (?=,)| ?- ?", lambda found: found[0].strip(), words)


def origins(tokens: Sequence[str]) -> list[int] | None:
    """The place of the word that each written character comes from, -1 = from none, of a date's tokens.

    None when the tokens are no date with exactly one year, month and day.
    """
    kinds = [_part_of_word(token) for token in tokens]
    if any(kinds.count(part) != 1 for part in (_YEAR, _MONTH, _DAY)):
        return None
    return [-1 if part is None else kinds.index(part) for part in _PARTS]


def read(text: str) -> str | None:
    """The ISO form of a written date, by rule; None of what is none of these years."""
    words = re.findall(r"\w+|[^\w\s]+", text.lower())
    places = origins(words)
    if places is None:
        return None
    year, month, day = words[places[0]], words[places[5]], words[places[8]]
    number = next(at for at, name in enumerate(_MONTHS, 1) if month in (name, name[:3]))
    try:
        found = datetime.date(int(year), number, int(re.sub(r"\D", "", day)))
    except ValueError:
        return None
    return found.isoformat() if FIRST <= found <= LAST else None


def _words(day: datetime.date) -> dict[str, str]:
    """Every form of the words of a date, and the words that are the same in all."""
    month, nth = _MONTHS[day.month - 1], f"{day.day}{_ENDINGS.get(day.day, 'th')}"
    forms = {"year": f"{day.year}", "month": month, "mon": month[:3], "day": f"{day.day}", "nth": nth}
    forms |= {"two": f"{day.day:02}", "weekday": _WEEKDAYS[day.weekday()]}
    return forms | {word: word for word in ("the", "of", "on", "in", ",", "-")}


def _part_of_word(word: str) -> int | None:
    if re.fullmatch(r"\d{4}", word):
        return _YEAR
    if re.fullmatch(r"\d{1,2}(st|nd|rd|th)?", word):
        return _DAY
    return _MONTH if any(word in (name, name[:3]) for name in _MONTHS) else None


def _place(row: list[str], part: int) -> int:
    return next(at for at, name in enumerate(row) if _PART_OF.get(name) == part)


def _vocabulary() -> tuple[str, ...]:
    written = (*"0123456789-",)
    words = sorted({word for day in _days() for word in _words(day).values()} - set(written))
    return (*Translation.SPECIAL, *written, *words, "[UNK]")
