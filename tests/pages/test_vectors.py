"""One token's vectors in two sentences: cosine and largest change after every layer, as the lessons need them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
import torch

from mha_core import Model
from mha_core.errors import SizeError
from mha_core.measure import measures

from .conftest import answers, unpacked

FAIR = {"s": "she won a prize at the fair", "s2": "the rules of the game are fair", "pos2": "as trained", "at": "3.1.7"}
ANIMAL = "The animal didn't cross the street because it was too tired"
HORSE = {"s": ANIMAL, "s2": ANIMAL.replace("animal", "horse"), "pos2": "as trained", "at": "3.1.10"}


def vectors(**link: str) -> dict[str, Any]:
    header, _ = unpacked(answers("pair", urlencode(link))[0])
    found: dict[str, Any] = header["vectors"]
    return found


def window(w: int) -> dict[str, str]:
    return {f"{key}{side}": value for side in ("", "2") for key, value in (("mask", "window"), ("w", str(w)))}


def test_one_word_in_two_senses_parts_layer_by_layer(model: Model) -> None:
    found = vectors(**FAIR)
    left, right = (model.run(FAIR[side]).hidden[:, 7].double() for side in ("s", "s2"))
    wanted = (left * right).sum(-1) / left.norm(dim=-1) / right.norm(dim=-1)
    torch.testing.assert_close(torch.tensor(found["cosines"], dtype=torch.float64), wanted, atol=1e-5, rtol=0)
    torch.testing.assert_close(
        torch.tensor(found["changes"], dtype=torch.float64), (left - right).abs().amax(-1), atol=1e-5, rtol=0
    )
    assert (found["cosines"][0], found["changes"][0]) == (1, 0)  # the same word in the same place
    assert found["cosines"][3] < 0.85
    assert found["said"].startswith(
        "The two vectors of “fair” are equal up to H[0] and differ from H[1] on; they differ most"
    )


def test_equal_in_every_layer_is_said_only_of_no_difference_at_all() -> None:
    alone = vectors(**FAIR, **window(1))
    assert set(alone["changes"]) == {0}
    assert set(alone["cosines"]) == {1}
    assert alone["said"] == "The two vectors of “fair” are equal in every layer: no entry differs."
    differs = vectors(**FAIR | {"at": "3.1.1"})
    assert differs["said"].startswith("The two vectors of “she/the” differ from the embeddings on;")


@pytest.mark.parametrize(("w", "first"), [(2, None), (3, 4), (5, 2)])
def test_news_travels_one_window_a_layer(w: int, first: int | None) -> None:
    """“it” stands eight words behind “animal”, which becomes “horse”."""
    found = vectors(**HORSE, **window(w))
    reached = [layer for layer, change in enumerate(found["changes"]) if change]
    assert (reached[0] if reached else None) == first
    said = "equal in every layer" if first is None else f"equal up to H[{first - 1}] and differ from H[{first}]"
    assert said in found["said"]


def test_sentences_of_other_lengths_have_no_common_places() -> None:
    found = vectors(s="how are you", s2="can you can that", pos2="as trained")
    assert (found["cosines"], found["changes"], found["shown"]) == ([], [], [])
    assert found["said"].startswith("The left sentence has 5 tokens, the right one 6:")
    with pytest.raises(SizeError):
        measures.vector_changes(torch.zeros(7, 4), torch.zeros(6, 4))
