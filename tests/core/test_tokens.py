"""Tokenizers made of a task's training rows. That two processes make the same ones is in test_worker."""

import pytest

from mha_core.errors import SizeError
from mha_core.training import tasks, tokens
from mha_core.training.tasks import Labelled, Language, Row

from .runs import task

TEXT = "Two lines,\nof ümläuts \u00e9 and so on. " * 10


def labelled(*texts: str) -> Labelled:
    train = tuple(Row(text, number % 2) for number, text in enumerate(texts))
    return Labelled("csv", "Texts", 1, ("a", "b"), train, (Row("zebra", 0),), (), ())


def test_only_training_rows_are_seen_and_case_is_folded() -> None:
    assert tokens.for_task(labelled("One one", "two")).encode("ONE").tokens == ["[CLS]", "one", "[SEP]"]
    assert tokens.for_task(labelled("One one", "two")).encode("zebra").tokens == ["[CLS]", "[UNK]", "[SEP]"]


def test_vocabulary_of_all_texts_includes_test_rows() -> None:
    own = labelled("One one", "two")
    made = tokens.for_task(own, all_texts=True)
    assert made.encode("zebra one two").tokens == ["[CLS]", "zebra", "one", "two", "[SEP]"]


def test_a_vocabulary_is_never_larger_than_allowed() -> None:
    for vocabulary in (6, 60):
        tokenizer = tokens.for_task(task("who"), vocabulary)
        assert tokenizer.get_vocab_size() <= vocabulary
        assert sorted(tokenizer.get_vocab().values()) == list(range(tokenizer.get_vocab_size()))
    with pytest.raises(SizeError, match="a vocabulary of 5 is too small; choose 6 or more"):
        tokens.for_task(task("who"), 5)


@pytest.mark.parametrize("name", ["words", "names", "text"])
def test_a_language_tasks_ids_are_places_in_its_vocabulary(name: str) -> None:
    own = tasks.Characters(TEXT) if name == "text" else task(name)
    assert isinstance(own, Language)
    made = tokens.for_task(own)
    assert made.get_vocab() == {token: number for number, token in enumerate(own.vocabulary)}
    for ids in own.test.ids[:3].tolist():
        text = own.joined_by.join(own.vocabulary[number] for number in ids)
        assert made.encode(text).ids == ids
    assert made.encode("\u0416").tokens == [own.vocabulary[-1]]
