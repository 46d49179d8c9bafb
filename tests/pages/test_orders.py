"""The shuffle test: the same words in another order."""

from __future__ import annotations

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
