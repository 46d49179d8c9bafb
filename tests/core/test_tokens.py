"""Tokenizers made of a task's training rows. That two processes make the same ones is in test_training."""

import gc
import weakref
from collections.abc import Iterator
from dataclasses import replace

import pytest

from mha_core.errors import SizeError
from mha_core.training import tasks, tokens
from mha_core.training.loop import Training
from mha_core.training.tasks import Labelled, Language, Row

from .runs import TINY, task

TEXT = "Two lines,\nof ümläuts \u00e9 and so on. " * 10


def labelled(*texts: str, cased: bool = False) -> Labelled:
    train = tuple(Row(text, number % 2) for number, text in enumerate(texts))
    return Labelled("csv", "Texts", 1, ("a", "b"), train, (Row("zebra", 0),), (), (), cased=cased)


def test_every_word_of_an_order_task_is_one_token() -> None:
    for name in ("who", "food", "brackets"):
        own = task(name)
        assert isinstance(own, Labelled)
        made = tokens.of(own)
        for row in (*own.train[:200], *own.test[:200]):
            assert made.encode(row.text).tokens == ["[CLS]", *row.text.split(), "[SEP]"]


def test_special_tokens_have_their_places_and_nothing_is_cut_or_filled() -> None:
    made = tokens.of(labelled("one two", "three"))
    assert [made.token_to_id(name) for name in tokens.SPECIAL] == [0, 1, 2, 3]
    assert made.padding is None
    assert made.truncation is None
    assert made.encode("").tokens == ["[CLS]", "[SEP]"]


def test_only_training_rows_are_seen_and_case_is_folded_where_it_does_not_count() -> None:
    assert tokens.of(labelled("One one", "two")).encode("ONE").tokens == ["[CLS]", "one", "[SEP]"]
    assert tokens.of(labelled("One one", "two", cased=True)).encode("One").tokens == ["[CLS]", "One", "[SEP]"]
    assert tokens.of(labelled("One one", "two")).encode("zebra").tokens == ["[CLS]", "[UNK]", "[SEP]"]


def test_of_all_texts_the_test_rows_are_seen_too() -> None:
    own = labelled("One one", "two")
    made = tokens.of(own, all_texts=True)
    assert made.encode("zebra one two").tokens == ["[CLS]", "zebra", "one", "two", "[SEP]"]
    for vocabulary_of, known in (("all texts", True), ("training rows", False)):
        training = Training(replace(TINY, task="csv", vocabulary_of=vocabulary_of), own)
        assert (training.tokenizer.token_to_id("zebra") is not None) is known


def test_of_a_task_the_last_tokenizers_are_kept_as_long_as_the_task() -> None:
    own, equal = labelled("One one", "two"), labelled("One one", "two")
    assert tokens.of(own) is tokens.of(equal)
    for other in (tokens.of(own, 50), tokens.of(own, all_texts=True), tokens.of(labelled("One one", "three"))):
        assert other is not tokens.of(own)
    first = tokens.of(own, 50)
    assert tokens.of(own, 60) is tokens.of(own, 60)
    assert tokens.of(own, 50) is first
    tokens.of(own, 70)
    assert tokens.of(own, 50) is not first
    ended = [weakref.ref(own), weakref.ref(equal)]
    del own, equal
    assert [one() for one in ended] == [None, None]


@pytest.mark.thorough("All objects of the process are searched, seconds of them where much is imported.")
def test_no_text_outlives_its_task() -> None:
    """Strings cannot be watched: whatever the process holds is searched for one of these texts."""
    own = labelled(*(f"{word} was said of number {number}" for number in range(6) for word in ("much", "little")))
    texts = {hash(row.text) for row in own.train}
    tokens.of(own)
    tokens.of(own, all_texts=True)
    assert _holders(texts)
    del own
    assert not _holders(texts)
    gc.freeze()


def _holders(texts: set[int]) -> list[object]:
    """Everything that refers to one of the strings of these hashes."""
    gc.unfreeze()  # what was imported may hold them too
    gc.collect()
    return [one for one in gc.get_objects() if any(hash(held) in texts for held in _strings(one))]


def _strings(one: object) -> Iterator[str]:
    """The strings that it refers to, and those of the tuples that the collector does not follow."""
    for held in gc.get_referents(one):
        if type(held) is str:  # not isinstance, which wakes lazy objects up
            yield held
        elif type(held) is tuple and not gc.is_tracked(held):
            yield from _strings(held)


def test_a_vocabulary_is_never_larger_than_allowed() -> None:
    for vocabulary in (6, 7, 20, 60, 1000):
        tokenizer = tokens.of(task("who"), vocabulary)
        assert tokenizer.get_vocab_size() <= vocabulary
        assert sorted(tokenizer.get_vocab().values()) == list(range(tokenizer.get_vocab_size()))
    with pytest.raises(SizeError, match="a vocabulary of 5 is too small; choose 6 or more"):
        tokens.of(task("who"), 5)


@pytest.mark.parametrize("name", ["words", "names", "text"])
def test_a_language_tasks_ids_are_places_in_its_vocabulary(name: str) -> None:
    own = tasks.from_text(TEXT) if name == "text" else task(name)
    assert isinstance(own, Language)
    made = tokens.of(own)
    assert made.get_vocab() == {token: number for number, token in enumerate(own.vocabulary)}
    for ids in own.test().ids[:3].tolist():
        text = own.joined_by.join(own.vocabulary[number] for number in ids)
        assert made.encode(text).ids == ids
    assert made.encode("\u0416").tokens == [own.vocabulary[-1]]
