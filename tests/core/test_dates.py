"""The dates: what is unseen is unseen, every spelling says one day, and each digit has its word."""

import datetime
from typing import cast

import pytest
import torch

from mha_core.training import tokens
from mha_core.training.scores import aligned
from mha_core.training.tasks import Pairs
from mha_core.training.tasks.dates import FIRST, LAST, SPELLINGS, Dates, origins, read, written_out

from .runs import task


def dates() -> Dates:
    return cast(Dates, task("dates"))


def days_of(pairs: Pairs) -> set[str]:
    vocabulary = dates().vocabulary
    return {"".join(vocabulary[number] for number in row[1:-1]) for row in pairs.target.tolist()}


def test_unseen_dates_are_unseen() -> None:
    seen = days_of(dates().batch(20_000, torch.Generator().manual_seed(1)))
    unseen = days_of(dates().test())
    assert not seen & unseen
    assert len(unseen) > 450
    assert all(FIRST <= datetime.date.fromisoformat(day) <= LAST for day in seen | unseen)
    assert {dates().answer(text) for text in dates().questions}.isdisjoint(seen)


def test_a_seed_decides_the_rows() -> None:
    one, same = (dates().batch(8, torch.Generator().manual_seed(3)) for _ in range(2))
    assert all(torch.equal(*both) for both in zip(vars(one).values(), vars(same).values(), strict=True))
    assert Dates().fingerprint == dates().fingerprint != Dates(1).fingerprint
    assert Dates().questions == dates().questions != Dates(1).questions


@pytest.mark.parametrize("day", [datetime.date(2021, 3, 3), datetime.date(1999, 5, 31), datetime.date(2022, 8, 12)])
def test_every_spelling_says_its_day(day: datetime.date) -> None:
    tokenizer = tokens.of(dates())
    for spelling in SPELLINGS:
        text = written_out(day, spelling)
        coded = tokenizer.encode(text)
        assert read(text) == day.isoformat(), text
        assert "[UNK]" not in coded.tokens
        assert len(coded.tokens) <= dates().length
        places = origins(coded.tokens)
        assert places is not None
        words = [coded.tokens[places[at]] for at in (0, 5, 8)]
        assert words[0] == f"{day.year}"
        assert words[1][:3] == f"{day:%b}".lower()
        assert words[2].rstrip("sthndr").lstrip("0") == f"{day.day}"


def test_the_origins_of_a_batch_are_those_of_its_words() -> None:
    batch = dates().batch(64, torch.Generator().manual_seed(5))
    for ids, keep, origin in zip(batch.ids, batch.keep, batch.origin, strict=True):
        words = [dates().vocabulary[number] for number in ids[keep].tolist()]
        assert origin.tolist() == origins(words)
    assert int((batch.origin >= 0).sum()) == 8 * 64, "each digit comes from a word"


@pytest.mark.parametrize(
    "text", ["", "hello", "May 2021", "31 February 2021", "May 4, 1914", "May 4 2021 2022", "May 40 2021"]
)
def test_what_is_no_date_has_no_answer(text: str) -> None:
    assert read(text) is None


def test_aligned_counts_the_rows_that_look_most_at_their_word() -> None:
    weights = torch.tensor([[[[0.6, 0.4], [0.4, 0.6], [0.5, 0.5]], [[0.6, 0.4], [0.9, 0.1], [0.2, 0.8]]]])
    assert aligned(weights, torch.tensor([[0, 1, -1]])) == (1, 2), "of the second row the heads’ mean is on the first"
    assert aligned(weights, torch.tensor([[-1, -1, 1]])) == (1, 1)
