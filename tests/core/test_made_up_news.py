"""Made-up news: generated anew from a seed, in equal classes, and neither told by single words nor without them."""

import re
from collections import Counter
from dataclasses import replace
from functools import lru_cache

import pytest

from mha_core.training import bag_of_words, tasks, tokens
from mha_core.training.recipe import defaults
from mha_core.training.tasks import Labelled
from mha_core.training.tasks.made_up_news import ROWS


@lru_cache(maxsize=2)
def news(seed: int = 0) -> Labelled:
    task = tasks.build("made_up", seed)
    assert isinstance(task, Labelled)
    return task


def texts(task: Labelled, label: int | None = None) -> list[str]:
    return [row.text for row in (*task.train, *task.test) if label in (None, row.label)]


@pytest.mark.parametrize("seed", [0, 5])
def test_five_equal_classes_a_quarter_for_testing_and_no_text_twice(seed: int) -> None:
    task = news(seed)
    assert task.classes == ("business", "entertainment", "politics", "sport", "tech")
    assert len(set(texts(task))) == len(task.train) + len(task.test) == ROWS == 1225
    assert len(task.test) == 307
    assert set(Counter(row.label for row in task.test).values()) == {61, 62}
    assert all(len(texts(task, label)) == ROWS // 5 for label in range(5))


def test_texts_are_as_long_as_paragraphs_and_every_slot_is_filled() -> None:
    lengths = [len(text.split()) for text in texts(news())]
    assert min(lengths) >= 25
    assert max(lengths) <= 200
    assert 60 < sum(lengths) / len(lengths) < 130
    assert not [text for text in texts(news()) if re.search(r"[{}_]|  |\ba [aeio]|[.?][.?]", text)]
    assert all(re.match(r"[A-Z]", text) and text.endswith((".", "”")) for text in texts(news()))


def test_it_is_said_that_nothing_in_them_is_real() -> None:
    assert "made up" in news().notes[0]
    assert news().title == "Made-up news"


def test_most_words_stand_in_every_class() -> None:
    counts = [Counter(word for text in texts(news(), label) for word in re.findall(r"\w+", text)) for label in range(5)]
    common = set.intersection(*map(set, counts))
    for count in counts:
        assert sum(number for word, number in count.items() if word in common) > 0.7 * count.total()


def test_the_long_posts_questions_are_words_of_it() -> None:
    read = tokens.of(news(), defaults("made_up").vocabulary)
    assert read.encode("can you can that", add_special_tokens=False).tokens == ["can", "you", "can", "that"]
    assert read.encode("how are you", add_special_tokens=False).tokens == ["how", "are", "you"]
    assert news().questions[:3] == ("how are you", "you how are", "can you can that")
    label = {row.text: row.label for row in news().test}
    assert len({label[question] for question in news().questions[3:]}) == 3, "whole test rows of three classes"


def test_counting_words_tells_much_and_not_all() -> None:
    task = replace(news(), train=news().train[:300], test=news().test[:150])
    assert 0.6 < bag_of_words.accuracy(task, 600, 128) < 0.99, "chance is 0.2"
