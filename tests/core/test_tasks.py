"""Fair tasks: pairs that order distinguishes, parts that share nothing, answers that can be known; texts; dates."""

import datetime
import itertools
from collections import Counter
from typing import cast

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mha_core.errors import HeadlightError
from mha_core.training import tasks, tokens
from mha_core.training.tasks import Labelled, Language, Pairs, Row
from mha_core.training.tasks.characters import MAX_CHARACTERS, MAX_DIFFERENT, MIN_CHARACTERS
from mha_core.training.tasks.dates import FIRST, FORMATS, LAST, Dates, format_date, iso_date, origins
from mha_core.training.tasks.order import is_balanced

from .runs import task as built

ORDER = ("who", "food", "brackets")
LANGUAGE = ("words", "names")
TEXT = "".join(f"{number} bottles of beer on the wall,\n" for number in range(99))


def labelled(name: str, seed: int = 0) -> Labelled:
    return cast(Labelled, tasks.build(name, seed))


def language(name: str) -> Language:
    return cast(Language, tasks.Characters(TEXT) if name == "text" else tasks.build(name))


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def written(task: Language, ids: list[int]) -> str:
    return "".join(task.vocabulary[number] for number in ids)


def test_a_pair_holds_the_same_words_in_two_orders_with_two_labels() -> None:
    """So a count of words alone is right once in every pair: half of all rows. The parts share no text and no pair."""
    for seed, name in enumerate(ORDER):
        task = labelled(name, seed)
        texts = [row.text for row in (*task.train, *task.test)]
        assert len(set(texts)) == len(texts), name
        assert not {row.pair for row in task.train} & {row.pair for row in task.test}, name
        assert abs(len(task.train) / len(texts) - 0.75) < 0.01, name
        for rows in (task.train, task.test):
            pairs: dict[int | None, list[Row]] = {}
            for row in rows:
                pairs.setdefault(row.pair, []).append(row)
            for one, other in pairs.values():
                assert one.text != other.text, name
                assert Counter(one.text.split()) == Counter(other.text.split()), name
                assert one.label != other.label, name
            assert name == "who" or sum(row.label for row in rows) * 2 == len(rows), name


def test_label_is_the_agent_and_nouns_are_balanced() -> None:
    task = labelled("who")
    for rows in (task.train, task.test):
        doers = Counter(task.classes[row.label] for row in rows)
        nouns = Counter(word for row in rows for word in row.text.split() if word in task.classes)
        assert all(nouns[noun] == 2 * doers[noun] for noun in task.classes)
    for row in (*task.train, *task.test):
        words = row.text.split()
        assert task.classes[row.label] == (words[-1] if "by" in words else words[1])


def test_the_word_on_food_is_the_label_and_brackets_are_labelled_by_whether_they_balance() -> None:
    labels: dict[str, set[int]] = {}
    food, brackets = labelled("food"), labelled("brackets")
    for row in (*food.train, *food.test):
        words = row.text.split()
        labels.setdefault(words[words.index("food") + 2], set()).add(row.label)
    assert all(len(found) == 1 for found in labels.values())
    rows = (*brackets.train, *brackets.test)
    for row in rows:
        assert brackets.classes[row.label] == ("balanced" if is_balanced(row.text.split()) else "not balanced")
    # Catalan's numbers: nothing that balances is missing
    assert sum(row.label == 0 for row in rows) == 5 + 14 + 42 + 132 + 429


def test_the_seed_decides_the_data() -> None:
    for name in (*ORDER, *LANGUAGE):
        task, same, other = (tasks.build(name, seed) for seed in (3, 3, 4))
        assert task.fingerprint == same.fingerprint != other.fingerprint, name
    for name in LANGUAGE:
        assert torch.equal(language(name).batch(5, generator(1)).ids, language(name).batch(5, generator(1)).ids), name
    with pytest.raises(HeadlightError, match="no task 'what'; choose one of who, food"):
        tasks.build("what")


@given(name=st.sampled_from(LANGUAGE), seed=st.integers(0, 2**31))
def test_source_of_a_copied_token_precedes_it(name: str, seed: int) -> None:
    batch = language(name).batch(8, generator(seed))
    known = batch.source >= 0
    assert batch.scored.any()
    assert bool((known <= batch.scored).all())
    row, place = known.nonzero(as_tuple=True)
    source = batch.source[row, place]
    assert bool((source <= place).all())
    assert torch.equal(batch.ids[row, source], batch.ids[row, place + 1])


# Texts.


def test_a_text_is_cut_in_two_and_its_windows_stay_on_their_side() -> None:
    task = language("text")
    assert written(task, task.batch(1, torch.Generator()).ids[0].tolist()) in TEXT
    end = TEXT[round(0.9 * len(TEXT)) :]
    assert all(written(task, ids) in end for ids in task.test.ids.tolist())
    assert task.rows_train == len(TEXT) - len(end) - task.length
    other = TEXT.replace("0 bottles", "1 bottles", 1)
    assert task.test.ids.equal(tasks.Characters(other).test.ids)
    assert task.fingerprint != tasks.Characters(other).fingerprint, "it knows the beginning too"


def test_the_context_of_a_short_text_is_a_third_of_it() -> None:
    short = "ab" * (MIN_CHARACTERS // 2)
    task = tasks.Characters(short, length=256)
    assert task.length == MIN_CHARACTERS // 3
    assert min(task.rows_train, len(task.test.ids)) > 0
    assert task.notes[1] == "The context is 66 characters instead of 256: a third of this short text."


def test_a_text_or_context_that_cannot_be_learned_is_refused() -> None:
    wrong: list[tuple[bytes | str, str]] = [
        ("x" * (MIN_CHARACTERS - 1), "the text has 199 characters; give 200 to 1,000,000"),
        ("x" * (MAX_CHARACTERS + 1), "the text has 1,000,001 characters"),
        (b"x" * (4 * MAX_CHARACTERS + 4), "the text has more than 1,000,000 characters"),
        (b"\xff\xfe" + "latin".encode("utf-16") * 100, r"the text is not UTF-8 \(byte 0\)"),
    ]
    for data, sentence in wrong:
        with pytest.raises(HeadlightError, match=sentence):
            tasks.Characters(data)
    for length in (15, 257):
        with pytest.raises(HeadlightError, match=f"a context of {length} characters; choose 16 to 256"):
            tasks.Characters(TEXT, length=length)


def test_bytes_are_utf_8_and_rare_characters_become_one_and_are_counted() -> None:
    assert tasks.Characters(TEXT.replace("\n", "\r\n").encode()).fingerprint == tasks.Characters(TEXT).fingerprint
    text = "".join(chr(0x4E00 + number) for number in range(600)) + TEXT + "ж" * 3
    task = tasks.Characters(text)
    known = set(task.vocabulary)
    assert len(task.vocabulary) == MAX_DIFFERENT
    assert task.vocabulary[-1] == "\ufffd"
    assert task.notes[1].startswith(f"{sum(symbol not in known for symbol in text):,} characters became")
    assert "ж" not in known


# Dates.


def dates() -> Dates:
    return cast(Dates, built("dates"))


def days_of(pairs: Pairs) -> set[str]:
    return {"".join(dates().vocabulary[number] for number in row[1:-1]) for row in pairs.target.tolist()}


def test_unseen_dates_are_unseen_and_a_seed_decides_them() -> None:
    seen, unseen = days_of(dates().batch(5_000, generator(1))), days_of(dates().test)
    assert not seen & unseen
    assert len(unseen) > 450
    assert all(FIRST <= datetime.date.fromisoformat(day) <= LAST for day in seen | unseen)


def test_every_spelling_says_its_day_and_what_is_no_date_has_no_answer() -> None:
    tokenizer = tokens.for_task(dates())
    days = (datetime.date(2021, 3, 3), datetime.date(1999, 5, 31), datetime.date(2022, 8, 12))
    for day, date_format in itertools.product(days, FORMATS):
        text = format_date(day, date_format)
        coded = tokenizer.encode(text)
        assert iso_date(text) == day.isoformat(), text
        assert "[UNK]" not in coded.tokens, text
        assert len(coded.tokens) <= dates().length, text
        places = origins(coded.tokens)
        assert places is not None, text
        year, month = (coded.tokens[places[at]] for at in (0, 5))
        assert (year, month[:3]) == (f"{day.year}", f"{day:%b}".lower()), text
    for text in ("hello", "31 February 2021", "May 4, 1914", "May 4 2021 2022"):
        assert iso_date(text) is None, text
