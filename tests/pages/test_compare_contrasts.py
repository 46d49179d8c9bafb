"""What two settings differ in, in words."""

from __future__ import annotations

from typing import Any

import pytest

from mha_core import Model
from pages.compare import contrasts
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings

TIRED, WIDE = PRESETS[:2]
PLAIN = Settings(TIRED)


@pytest.mark.parametrize(
    ("change", "names", "titles"),
    [
        ({}, [], ("Left", "Right")),
        ({"position": "none"}, ["positions"], ("Learned positions", "No positions")),
        ({"position": "scaled:2"}, ["positions"], ("Learned positions", "Doubled positions")),
        ({"position": "learned"}, ["positions"], ("Learned positions", "Learned positions (untrained)")),
        ({"text": WIDE}, ["sentence"], ("“tired”", "“wide”")),
        ({"text": "how are you"}, ["sentence"], (f"“{TIRED[:27]}…”", "“how are you”")),
        ({"mask": "causal"}, ["mask"], ("No mask", "Causal mask")),
        ({"mask": "window:3"}, ["mask"], ("No mask", "Mask window 3")),
        ({"mask": "causal & window:4"}, ["mask"], ("No mask", "Mask causal & window 4")),
        ({"painted": "x"}, ["mask"], ("No mask", "Painted mask")),
        ({"temperature": 0.5}, ["temperature"], ("Temperature 1", "Temperature 0.5")),
        ({"heads_off": ((3, 5),)}, ["heads off"], ("All heads on", "L3 H5 off")),
        ({"heads_off": ((3, 5), (4, 1))}, ["heads off"], ("All heads on", "2 heads off")),
        (
            {"mask": "causal", "position": "none", "heads_off": ((3, 5),)},
            ["mask", "positions", "heads off"],
            ("No mask, learned positions, all heads on", "Causal mask, no positions, L3 H5 off"),
        ),
    ],
)
def test_each_side_is_called_by_what_it_has(
    model: Model, change: dict[str, Any], names: list[str], titles: tuple[str, str]
) -> None:
    other = Settings(**{"text": TIRED, **change})
    found = contrasts.contrasts(PLAIN, other, model)
    assert [one.name for one in found] == names
    assert contrasts.titles(found) == titles
    assert contrasts.titles(contrasts.contrasts(other, PLAIN, model)) == (titles if not change else titles[::-1])
    said = contrasts.line(found)
    assert said.startswith(("Both sides are the same", "One thing differs", f"{len(names)} things differ"))
    assert all(name in said for name in names)


def test_two_paintings_cannot_be_told_apart_by_name(model: Model) -> None:
    found = contrasts.contrasts(Settings(TIRED, painted="a"), Settings(TIRED, painted="b"), model)
    assert [one.key for one in found] == ["mask"]
    assert contrasts.titles(found) == ("Left", "Right")
