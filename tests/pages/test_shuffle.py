"""The shuffle test beside two orders: with and without positions, also where both sides have the same settings."""

from __future__ import annotations

import json

import pytest

from mha_core import Model
from pages.compare import orders, shuffle
from pages.kit.draw.numbers import small
from pages.kit.picture.settings import Settings

from .conftest import answers, app_at, component, control, unpacked

WITH, WITHOUT = Settings("how are you"), Settings("how are you", position="none")
SIDES = {"Learned positions": WITH, "No positions": WITHOUT}


@pytest.mark.parametrize(("position", "core"), [("none", "none"), ("as trained", "trained")])
def test_sides_that_differ_in_the_order_alone(position: str, core: str) -> None:
    app = app_at("compare", s="how are you", s2="you how are", order="you how are", pos=position, pos2=position).run()
    (packed,) = answers("pair", control(app, "pair")["query"])
    header, _ = unpacked(packed)
    sides = [Settings(text, position=core) for text in ("how are you", "you how are")]
    assert header["digest"] == "-".join(side.digest for side in sides)
    assert header["contrast"] == "One thing differs: sentence."
    said = json.dumps(json.loads(component(app, "sheet", "shuffle_sheet").json), ensure_ascii=False)
    for name, settings in SIDES.items():
        assert f"{name}: {small(orders.reordered(settings, 'you how are').difference)}" in said


def test_the_other_settings_are_with_positions_or_without(model: Model) -> None:
    assert shuffle.other_positions(WITH, model) == WITHOUT
    assert shuffle.other_positions(WITHOUT, model) == WITH
