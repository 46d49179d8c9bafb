"""The glossary names what a page makes one choose."""

from __future__ import annotations

from mha_core.positions import NAMES
from pages.kit.draw.pages import PAGES, path
from pages.kit.draw.terms import MARKED, TERMS
from pages.kit.picture.fields import MASKS

from .conftest import app_at, blocks

ALL = [term for terms in TERMS.values() for term in terms]


def test_every_word_once_in_one_short_sentence() -> None:
    names = [term.name for term in ALL]
    assert len(names) == len(set(names))
    for term in ALL:
        assert term.meaning.endswith(".")
        assert term.meaning.count(". ") == 0
        assert len(term.meaning) <= 90, term.name
        assert term.page in PAGES


def test_every_mask_and_every_encoding_is_in_it() -> None:
    names = {term.name for term in ALL}
    assert set(MASKS) - {"none"} <= names
    assert set(NAMES) - {"none"} <= names


def test_a_learner_finds_the_words_of_the_first_screens() -> None:
    wanted = {"attention", "model", "language model", "vector", "map", "cosine", "decoder", "next word", "pretrained"}
    tensors_and_axes = {"query", "key", "value", "score", "masked", "weight", "mixed", "joined", "batch", "channel"}
    assert {*wanted, *tensors_and_axes, "bag of words", "head", "feature", "vocabulary"} <= {term.name for term in ALL}


def test_a_text_marks_no_everyday_word() -> None:
    assert {"attention", "head", "softmax", "bag of words"} <= MARKED.keys() <= {term.name for term in ALL}
    assert not {"view", "window", "documents"} & MARKED.keys()


def test_every_word_links_to_its_page() -> None:
    (columns,) = [block for block in blocks(app_at("glossary").run()) if block.get("columns")]
    cards = [card["blocks"][0] for card in columns["blocks"]]
    assert [card["name"] for card in cards] == list(TERMS)
    for card, terms in zip(cards, TERMS.values(), strict=True):
        assert card["kind"] == "terms"
        assert card["rows"] == [[one.name, one.meaning, path(one.page), PAGES[one.page].title] for one in terms]
