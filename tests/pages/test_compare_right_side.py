"""What the right side of Compare begins with: the left with one thing changed, whatever page one comes from."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from mha_core import Model
from pages.compare import right_side
from pages.kit.picture.fields import DEFAULTS, SIDE

from .conftest import answers, unpacked

CHANGES: list[dict[str, Any]] = [
    {"mask": "causal", "off": ["L3 H5"]},
    {"mask": "dilated", "w": "2", "gap": "3"},
    {"mask": "combination", "rule": "causal & window:4 | sinks:1"},
    {"pos": "rotary", "t": "0.5"},
    {"pos": "none"},
    {"unheard": "0-2"},
]


def said(route: str, **values: Any) -> dict[str, Any]:
    header, _ = unpacked(answers(route, urlencode(values, doseq=True))[0])
    return header


@pytest.mark.parametrize("values", CHANGES, ids=str)
def test_from_another_page_one_thing_differs(values: dict[str, Any]) -> None:
    begun = said("begun", **values)
    assert begun["differs"] == ["pos"]
    begins = begun["begins"]
    same = {f"{key}2": value for key, value in values.items() if key != "pos"}
    other = {"pos2": "as trained"} if values.get("pos", "as trained") != "as trained" else {}
    assert begins == same | other, "the link says it, without defaults"
    there = said("pair", **values, **begins)
    assert there == begun | {"begins": {}}, "and opens the same"


def test_a_link_opens_what_it_always_did() -> None:
    for values in CHANGES:
        assert said("pair", **values)["begins"] == {}
    for values in ({}, {"s": "how are you"}, {"mask": "causal", "t2": "0.5"}, {"mask": "bogus"}):
        assert said("begun", **values) == said("pair", **values), values


def test_a_model_without_positions_differs_in_the_mask(shipped: object) -> None:
    begun = said("begun", model="who-none-1", mask="window")
    assert begun["differs"] == ["mask"]


def test_a_long_painting_is_not_said_twice(model: Model) -> None:
    left = {key: DEFAULTS[key] for key in SIDE} | {"mask": "painted", "on": "causal", "p": "x" * 2000}
    begun = right_side.one_change(left, model)
    assert (begun["mask"], begun["p"], begun["pos"]) == ("none", "", "as trained")
    short = right_side.one_change(left | {"p": "x"}, model)
    assert (short["mask"], short["p"], short["pos"]) == ("painted", "x", "none")
