"""What is said of two pictures: every figure and sentence against the core."""

from __future__ import annotations

import pytest
import torch

from mha_core import Model
from mha_core.measure import compare
from pages.compare import pairs
from pages.compare.pairs import Pair
from pages.kit.draw.numbers import small
from pages.kit.picture import pictures
from pages.kit.picture.place import At
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.kit.picture.words import NOT_TRAINED

TIRED, WIDE = PRESETS[:2]
BAG = Settings(TIRED, position="none")


def pair_of(left: Settings, right: Settings, layer: int = 0, head: int = 2) -> Pair:
    return Pair(pictures.picture(left), pictures.picture(right), layer, head)


def values(pair: Pair, at: At) -> dict[str, str]:
    """The figures: what each is -> its value."""
    return {figure["label"]: figure["value"] for figure in pairs.figures(pair, at)}


def test_the_numbers_of_the_default_screen() -> None:
    pair = pair_of(Settings(TIRED), BAG)
    at = At(0, 2).on(pair.left.run.tokens)
    found = values(pair, at)
    assert found["weight on the previous token, mean over queries"] == "0.9998 → 0.109"
    assert found["it → animal, layer 3 · head 1, the first of Explore"] == "0.64 → 0.04"
    assert found["it → because, the marked cell"] == ">0.9999 → 0.04"
    assert found["cosine of the two sentence vectors"] == "0.706"
    change = compare.largest_change(*pair.maps)
    tokens = pair.tokens
    assert found[f"the largest change: {tokens[change.row]} → {tokens[change.key]}, >0.9999 → 0.0009"] == "−0.999"
    (rows,) = [value for label, value in found.items() if "between the rows of “the” (at 1 and 7)" in label]
    before, after = rows.split(" → ")
    assert before == ">0.9999"
    assert float(after) <= pairs.SAME


def test_the_cell_that_is_marked() -> None:
    pair = pair_of(Settings(TIRED), BAG, 3, 1)
    tokens = pair.left.run.tokens
    it, animal, street = (tokens.index(word) for word in ("it", "animal", "street"))
    assert pairs.marked(pair, At(3, 1, it)) == (it, animal)
    assert pairs.marked(pair, At(3, 1, it, street)) == (it, street)
    assert values(pair, At(3, 1, it))["it → animal, the marked cell"] == "0.64 → 0.04"
    assert not [label for label in values(pair, At(3, 1, it)) if "Explore" in label], "it is that head"


def test_why_equal_words_are_equal_and_why_they_are_not() -> None:
    left, right, masked = pairs.sentences(pair_of(Settings(TIRED), BAG))
    assert (
        left == "Left: the rows of “the” (at 1 and 7) differ by more than 0.9999. Positions say where each one stands."
    )
    rows = pairs.repeated(pictures.picture(BAG))
    assert rows is not None
    said = "are equal in every layer and head" if rows.difference == 0 else f"{small(rows.difference)}."
    assert said in right
    assert right.endswith("Nothing in this model says where a token stands.")
    run = pictures.model_on("auto").run(TIRED, position="none", mask="causal")
    causal = compare.repeated_words(run.weights, run.ids)
    assert causal is not None
    assert causal.difference > 0.1
    assert masked.startswith(f"Right with a causal mask: they differ by up to {small(causal.difference)}, ")
    both = pairs.sentences(pair_of(BAG, Settings(TIRED, "causal", "none")))
    assert len(both) == 3
    assert both[2].endswith("The mask lets each look at other keys.")
    assert pairs.sentences(pair_of(Settings("how are you"), Settings("you how are"))) == []


def test_sentences_of_one_length_are_compared_place_by_place() -> None:
    pair = pair_of(Settings(TIRED), Settings(WIDE))
    assert pair.fits
    assert pair.tokens[13:] == ["tired/wide", "[SEP]"]
    assert pairs.difference(pair) == "The sentences differ at 1 position; the maps are compared position by position."
    assert pairs.difference(pair_of(Settings(TIRED), BAG)) == ""


def test_sentences_of_two_lengths_have_no_difference() -> None:
    pair = pair_of(Settings(TIRED), Settings("how are you"))
    assert not pair.fits
    assert pairs.difference(pair).startswith("The left sentence has 15 tokens, the right one 5: ")
    labels = list(values(pair, At(0, 2, 10)))
    assert not [label for label in labels if "change" in label or "cell" in label]
    assert [label for label in labels if "cosine" in label]


@pytest.mark.parametrize(
    "right",
    [
        Settings("", "window:1"),
        Settings("a", temperature=0.1, position="none"),
        Settings("[CLS] [CLS]", "window:1", "none", 0.1),
        Settings("🙂 字 字"),
        Settings("x " * 300, "window:1"),
    ],
    ids=lambda right: f"{len(right.text)} characters",
)
def test_nothing_on_the_screen_is_nan(right: Settings) -> None:
    pair = pair_of(right.untouched, right)
    at = At(0, 2).on(pair.left.run.tokens)
    said = [*values(pair, at).values(), *pairs.sentences(pair)]
    assert not [one for one in said if "nan" in one.lower() or "inf" in one]


def test_rows_that_are_empty() -> None:
    nobody = Settings(TIRED, "sinks:1 & !sinks:1")
    pair = pair_of(Settings(TIRED), nobody)
    assert torch.equal(pair.maps[1], torch.zeros_like(pair.maps[1]))
    assert values(pair, At(0, 2, 3))["weight on the previous token, mean over queries"] == "0.9998 → 0.000"
    assert pairs.fitness(pair.right) == f"{NOT_TRAINED}."
    assert pairs.fitness(pair.left) == ""


def test_each_head_is_computed_when_asked_and_then_known(model: Model) -> None:
    settings = Settings("a sentence for this test alone")
    assert pairs.each_head(settings, ask=False) is None
    heard: list[float] = []
    found = pairs.each_head(settings, ask=True, told=heard.append)
    assert heard[-1] == 1
    assert found is not None
    assert [len(own) for own in found] == [12] * 6
    assert pairs.each_head(settings, ask=False) is found
    run, whole = model.run(settings.text, heads_off=[(5, 3)]), model.run(settings.text)
    assert found[5][3] == pytest.approx(compare.cosine(run.sentence, whole.sentence), abs=1e-6)
