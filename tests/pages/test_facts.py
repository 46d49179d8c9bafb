"""What both sides must agree on is said once."""

from __future__ import annotations

import pytest
import torch

from mha_core import masks
from pages.kit.picture import facts
from pages.kit.picture.fields import FIELDS, MASKS


def test_the_browser_has_what_is_said_here() -> None:
    for file, text in facts.modules().items():
        assert file.read_text("utf-8") == text, "run python -m pages.kit.picture.facts"


def test_every_mask_with_numbers_and_every_encoding_is_described() -> None:
    table = facts.table()
    described = {mask["name"]: [key for key, *_ in mask["numbers"]] for mask in table["MASKS"][2]}
    assert described == {name: list(numbers) for name, numbers in MASKS.items() if name in described}
    assert set(MASKS) - set(described) == {"combination", "painted"}, "which are written out"
    assert set(table["POSITIONS"][2]) == set(FIELDS["pos"].choices)


@pytest.mark.parametrize("name", [mask["name"] for mask in facts.table()["MASKS"][2]])
def test_the_usual_numbers_are_a_mask(name: str) -> None:
    (numbers,) = (mask["numbers"] for mask in facts.table()["MASKS"][2] if mask["name"] == name)
    written = ":".join([name, *(str(usual) for *_, usual in numbers)])
    assert masks.allow(masks.parse(written), 4, 4).dtype == torch.bool
