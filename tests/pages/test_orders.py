"""The shuffle test: the same words in another order, with and without positions, and what the wire says of it."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_core import Model
from mha_core.errors import HeadlightError
from mha_core.measure import measures
from pages.compare import orders
from pages.compare.pairs import SAME
from pages.kit.draw.numbers import small
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.kit.wire import routes

TIRED = PRESETS[0]


@given(st.text(max_size=60), st.integers(1, 9999))
def test_a_random_order_has_the_same_words(text: str, seed: int) -> None:
    mixed = orders.shuffled(text, seed)
    assert sorted(mixed.split()) == sorted(text.split())
    assert mixed == orders.shuffled(text, seed)


def test_a_random_order_is_another_one() -> None:
    for text in ("how are you", "you how", TIRED):
        found = {orders.shuffled(text, seed) for seed in range(1, 30)}
        assert text not in found
        assert len(found) > 1 or len(text.split()) == 2


@pytest.mark.parametrize(
    ("settings", "same", "reason"),
    [
        ({"position": "none"}, True, "every token sees the same tokens as before, and nothing marks their places"),
        ({}, False, "the position encoding now sees each token in a different place"),
        ({"position": "none", "mask": "causal"}, False, "there are no positions, but the mask goes by places"),
        ({"mask": "causal"}, False, "and the mask lets it look at others"),
        ({"position": "none", "temperature": 0.5, "heads_off": ((0, 1),)}, True, "every token sees the same tokens"),
    ],
)
def test_what_another_order_does_and_why(model: Model, settings: dict[str, str], same: bool, reason: str) -> None:
    asked = Settings(TIRED, **settings)  # type: ignore[arg-type]
    order = orders.shuffled(TIRED, 1)
    found = orders.difference(asked, order)
    runs = [model.run(text, **settings) for text in (TIRED, order)]  # type: ignore[arg-type]
    assert found == pytest.approx(measures.difference_in_new_order(*runs), abs=1e-6)
    assert found <= SAME if same else found > 0.1
    said = orders.why(asked, order)
    assert reason in said
    assert found == 0 or small(found) in said
    assert said.startswith("The same vectors in the new order" if same else "The vectors change")


def test_the_old_order() -> None:
    found = orders.why(Settings("how are you"), "how  are you")
    assert found == "This is the order they had: the vectors differ by 0."


def test_other_words_are_no_order() -> None:
    for order in ("", "how are", "how are you you", "you how is"):
        with pytest.raises(HeadlightError, match="must have the words of the sentence"):
            orders.difference(Settings("how are you"), order)


# ---- by the wire

WITH, WITHOUT = Settings("how are you"), Settings("how are you", position="none")


def said(**values: str) -> dict[str, Any]:
    """What the wire says of the shuffle test."""
    found: dict[str, Any] = json.loads(routes.answer("shuffled", urlencode(values).encode()))
    return found


def check(found: dict[str, Any], order: str, sides: dict[str, Settings]) -> None:
    assert found["order"] == order
    wanted = [f"{name}: {small(orders.difference(side, order))}" for name, side in sides.items()]
    assert [side["title"] for side in found["sides"]] == wanted


def test_a_random_order_is_that_of_its_number() -> None:
    sides = {"Learned positions": Settings(TIRED), "No positions": Settings(TIRED, position="none")}
    for seed in ("1", "2"):
        check(said(shuffle=seed), orders.shuffled(TIRED, int(seed)), sides)
    check(said(shuffle="0"), orders.shuffled(TIRED, 1), sides)


@pytest.mark.parametrize("position", ["none", "as trained"])
def test_sides_that_differ_in_the_order_alone(position: str) -> None:
    found = said(s="how are you", s2="you how are", order="you how are", pos=position, pos2=position)
    first, second = (WITHOUT, WITH) if position == "none" else (WITH, WITHOUT)
    names = {WITH: "Learned positions", WITHOUT: "No positions"}
    check(found, "you how are", {names[side]: side for side in (first, second)})


@pytest.mark.parametrize("order", ["you how is", "you how", "x" * 12_001, "x" * 24_001])
def test_an_order_that_is_none(order: str) -> None:
    with pytest.raises(
        HeadlightError, match=r"must have the words of the sentence|this one has (12,001|24,000 or more)"
    ):
        said(s="how are you", order=order)


def test_a_word_like_markup_stays_text() -> None:
    assert said(s="<b>it</b> $x$ ~ it", order="it <b>it</b> ~ $x$")["order"] == "it <b>it</b> ~ $x$"


def test_the_other_settings_are_with_positions_or_without(model: Model) -> None:
    assert orders.other_positions(WITH, model) == WITHOUT
    assert orders.other_positions(WITHOUT, model) == WITH
