"""Two models side by side on Compare, and the mean over heads there, by the wire."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from mha_core.measure.reading import merged
from mha_core.models.words import in_common, words_of
from pages.kit.picture import models, pictures
from pages.kit.picture.link_query import Refused
from pages.kit.picture.settings import Settings

from .conftest import picture_of
from .test_compare import asked

TEXT = "Unbelievably, it didn't cross"
WORDS = ["Unbelievably", ",", "it", "didn't", "cross"]
BOTH = {"s": TEXT, "model2": models.SMOLLM2, "at": "3.1", "at2": "16.0"}


def weights(model: str, layer: int, head: int) -> Tensor:
    return pictures.picture(Settings(TEXT, model=model)).run.weights[layer, head]


def test_two_models_are_compared_word_by_word() -> None:
    header, shown = asked(**BOTH)
    left, right = (words_of(pictures.model_on("auto", name), TEXT) for name in (models.MINILM, models.SMOLLM2))
    ours, theirs = in_common(left, right), in_common(right, left)
    assert torch.equal(shown[0], merged(weights(models.MINILM, 3, 1), ours, ours)[1:-1, 1:-1])
    assert torch.equal(shown[1], merged(weights(models.SMOLLM2, 16, 0), theirs, theirs))
    assert [side["tokens"] for side in header["sides"]] == [WORDS, WORDS]
    places = [(side["layer"], side["head"], side["layers"], side["heads"]) for side in header["sides"]]
    assert places == [(3, 1, 6, 12), (16, 0, 30, 9)]
    assert header["contrast"] == "One thing differs: model."
    assert header["fits"]
    assert header["isOfTwo"]
    assert "word by word: on the left" in header["said"]
    assert header["said"].count("goes to the model’s own tokens") == 1, "SmolLM2 has none"
    assert (header["vectors"]["cosines"], header["next"]) == ([], [])
    assert "different spaces" in header["vectors"]["said"]


def test_the_right_models_own_controls_and_place() -> None:
    header, _ = asked(**BOTH, mask2="window", w2="2", off2=["L16 H0", "L1 H11"])
    right = Settings(TEXT, mask="window:2", model=models.SMOLLM2, heads_off=((16, 0),))
    assert header["digest"].endswith(right.digest)
    assert header["unusable"] == {"off2": ["L16 H0"]}, "the right model has 9 heads"
    assert header["sides"][1]["forbidden"] != header["sides"][0]["forbidden"]
    assert header["defaults"]["pos2"] == "as trained"


def test_a_mean_may_look_where_one_of_its_heads_may() -> None:
    painted = {"mask": "painted", "on": "none", "p": "6.3rFB"}  # in one head alone
    header, _ = asked(s="a b c d", **painted, mask2="none", look="mean")
    one, _ = asked(s="a b c d", **painted, mask2="none")
    assert len(one["sides"][0]["forbidden"]) == 12
    assert [side["forbidden"] for side in header["sides"]] == [[""], [""]]


def test_words_of_two_sentences_are_compared_by_their_places_where_they_are_as_many() -> None:
    header, _ = asked(**BOTH, s2="Incredibly, she didn't stop")
    assert header["fits"]
    assert header["tokens"][2] == "it/she"
    header, _ = asked(**BOTH, s2="how are you")
    assert not header["fits"]
    assert "different numbers of words, 5 on the left, 3 on the right" in header["said"]


def test_a_model_that_is_not_there_and_one_that_is_the_left_one() -> None:
    header, _ = asked(s=TEXT, model2="nobody")
    assert header["unusable"]["model2"] == []
    assert not header["isOfTwo"]
    assert "model2=nobody" in header["told"][0]
    assert not asked(s=TEXT, model2=models.MINILM)[0]["isOfTwo"]
    with pytest.raises(Refused) as refused:
        asked(**BOTH, s2="word " * 600)
    assert refused.value.key == "s2"


@pytest.mark.parametrize(
    ("look", "count", "whose"),
    [("mean", 12, "of a layer"), ("meanseen", 12, "in sight"), ("meanall", 72, "of each model")],
)
def test_the_mean_over_heads_on_both_sides(look: str, count: int, whose: str) -> None:
    header, maps = asked(s="how are you", look=look, at="2.1", pos2="as trained", mask2="causal")
    for shown, mask in zip(maps, ("none", "causal"), strict=True):
        own = pictures.picture(Settings("how are you", mask)).run.weights
        assert torch.equal(shown, own[2].mean(dim=0) if count == 12 else own.flatten(0, 1).mean(dim=0))
    assert "this mean over heads" in header["answers"][0]["label"]
    assert header["mean"] == f"The mean over {count} heads {whose}."


def test_the_mean_over_heads_before_and_after_a_mask() -> None:
    header, maps = picture_of("masked", s="how are you", mask="causal", look="mean", at="2.1")
    for one, mask in zip(maps.view(2, 5, 5), ("none", "causal"), strict=True):
        assert torch.equal(one, pictures.picture(Settings("how are you", mask)).run.weights[2].mean(dim=0))
    assert header["label"].startswith("Mean over 12 heads, ")
    assert header["look"] == "mean"
