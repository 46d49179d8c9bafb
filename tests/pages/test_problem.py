"""Why positions are needed: every number of the two sentences, and texts that have nothing to turn round."""

from __future__ import annotations

import pytest

from mha_core import Model
from mha_core.measure import measures
from pages.kit.draw.numbers import difference
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.positions.problem import SAME, backwards, problem


def said(text: str) -> list[str]:
    """The sentences of the panels."""
    return [panel["blocks"][0]["text"] for panel in problem(Settings(text))["blocks"]]


def test_the_numbers_are_the_models(model: Model) -> None:
    text = PRESETS[0]
    order, twice = said(text)
    runs = {
        position: [model.run(one, position=position) for one in (text, backwards(text))]
        for position in ("none", "trained")
    }
    none, trained = (measures.difference_in_new_order(*runs[position]) for position in ("none", "trained"))
    assert 0 < none < SAME < trained
    assert f"“{backwards(text)}”" in order
    assert "the same vector as before" in order
    assert "up to rounding" in order
    assert f"differ by up to {difference(trained, 2)}." in order
    assert "“the” occurs 2 times" in twice
    assert "alike in every head" in twice
    repeated = measures.repeated_words(runs["trained"][0].weights, runs["trained"][0].ids)
    assert repeated is not None
    assert f"differ by up to {difference(repeated.difference, 2)}." in twice


def test_without_a_repeated_word_nothing_is_said_of_one() -> None:
    (order,) = said("how are you")
    assert "“you are how”" in order


@pytest.mark.parametrize("text", ["", "one", "same same", " a   b  a "])
def test_what_reads_the_same_backwards(text: str) -> None:
    assert said(text)[0].startswith("Type two different words or more")


def test_words_that_are_cut_otherwise_backwards() -> None:
    assert all(sentence for sentence in said("the\u0301 x \U0001f44d y <b>it</b>"))
