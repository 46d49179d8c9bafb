"""The shuffle test: the same words in another order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_core import Model
from mha_core.errors import HeadlightError
from mha_core.measure import compare
from pages.compare import orders
from pages.compare.pairs import SAME, small
from pages.kit.picture.pictures import Settings
from pages.kit.picture.presets import PRESETS

TIRED = PRESETS[0]


@given(st.text(max_size=60), st.integers(1, 9999))
def test_a_random_order_has_the_same_words(text: str, seed: int) -> None:
    mixed = orders.shuffled(text, seed)
    assert sorted(mixed.split()) == sorted(text.split())
    assert mixed == orders.shuffled(text, seed)


@pytest.mark.parametrize("text", ["how are you", "you how", TIRED])
def test_a_random_order_is_another_one(text: str) -> None:
    found = {orders.shuffled(text, seed) for seed in range(1, 30)}
    assert text not in found
    assert len(found) > 1 or len(text.split()) == 2


@pytest.mark.parametrize(
    ("settings", "same", "reason"),
    [
        ({"position": "none"}, True, "each token sees the same others, and nothing says where they stand"),
        ({}, False, "positions say where each token stands"),
        ({"position": "none", "mask": "causal"}, False, "there are no positions, but the mask goes by places"),
        ({"mask": "causal"}, False, "and the mask lets it look at others now"),
        ({"position": "none", "temperature": 0.5, "heads_off": ((0, 1),)}, True, "each token sees the same others"),
    ],
)
def test_what_another_order_does_and_why(model: Model, settings: dict[str, str], same: bool, reason: str) -> None:
    asked = Settings(TIRED, **settings)  # type: ignore[arg-type]
    order = orders.shuffled(TIRED, 1)
    found = orders.reordered(asked, order)
    runs = [model.run(text, **settings) for text in (TIRED, order)]  # type: ignore[arg-type]
    assert found.difference == pytest.approx(compare.difference_in_new_order(*runs), abs=1e-6)
    assert found.difference <= SAME if same else found.difference > 0.1
    said = orders.why(found)
    assert reason in said
    assert found.difference == 0 or small(found.difference) in said
    assert said.startswith("The same vectors in the new order" if same else "Other vectors")


def test_the_old_order() -> None:
    found = orders.reordered(Settings("how are you"), "how  are you")
    assert found.same_order
    assert orders.why(found) == "This is the old order: the vectors differ by 0."


@pytest.mark.parametrize("order", ["", "how are", "how are you you", "you how is"])
def test_other_words_are_no_order(order: str) -> None:
    with pytest.raises(HeadlightError, match="must have the words of the sentence"):
        orders.reordered(Settings("how are you"), order)
