"""The shuffle test beside two orders: with and without positions, also where both sides have the same settings."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from mha_core import Model
from mha_core.errors import HeadlightError
from pages.compare import orders
from pages.kit.draw.numbers import small
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.kit.wire import routes

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
    sides = {"Learned positions": Settings(PRESETS[0]), "No positions": Settings(PRESETS[0], position="none")}
    for seed in ("1", "2"):
        check(said(shuffle=seed), orders.shuffled(PRESETS[0], int(seed)), sides)
    check(said(shuffle="0"), orders.shuffled(PRESETS[0], 1), sides)


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
