"""What is said of two pictures: their differences by name, every figure, sentence and vector against the core."""

from __future__ import annotations

import torch

from headlight.link.cursor import Cursor
from headlight.link.presets import PRESETS
from headlight.picture import pictures
from headlight.picture.settings import Settings
from mha_core import Model
from mha_core.measure import measures
from pages.compare import contrasts, pairs
from pages.compare.pairs import Pair

from .conftest import picture_of
from .numbers_shown import assert_shows

TIRED, WIDE = PRESETS[:2]
BAG = Settings(TIRED, position="none")


def pair_of(left: Settings, right: Settings, layer: int = 0, head: int = 2) -> Pair:
    return Pair(pictures.picture(left), pictures.picture(right), Cursor(layer, head))


def test_figures_of_a_head_that_is_not_the_default() -> None:
    pair = pair_of(Settings(TIRED), BAG, 3, 1)
    tokens = pair.left.run.tokens
    it, animal, street = (tokens.index(word) for word in ("it", "animal", "street"))
    assert pairs.marked_cell(pair, Cursor(3, 1, it)) == (it, animal)
    assert pairs.marked_cell(pair, Cursor(3, 1, it, street)) == (it, street)
    change = measures.largest_change(*pair.maps)
    largest = f"largest change in this head, {tokens[change.row]} → {tokens[change.key]}: "
    largest += "learned positions → no positions"
    assert pairs.answers(pair, ("Learned positions", "No positions"))[0]["label"] == largest
    assert pair_of(Settings(TIRED), Settings(WIDE)).tokens[13:] == ["tired/wide", "[SEP]"]
    apart = pair_of(Settings(TIRED), Settings("how are you"))
    assert pairs.difference(apart).startswith("The left sentence has 15 tokens, the right one 5. ")
    assert not [figure for figure in pairs.answers(apart, ("a", "b")) if "change" in figure["label"]]


def test_nothing_on_the_screen_is_nan_and_rows_may_be_empty() -> None:
    for right in (
        Settings("", "window:1"), Settings("a", temperature=0.1, position="none"), Settings("🙂 字 字"),
        Settings("[CLS] [CLS]", "window:1", "none", 0.1), Settings("x " * 120, "window:1"),
    ):  # fmt: skip
        pair = pair_of(right.baseline, right)
        titles = contrasts.titles(contrasts.contrasts(pair.left.settings, right, pair.left.model))
        answers = [text for figure in pairs.answers(pair, titles) for text in (figure["value"], figure["label"])]
        stories = [pairs.story(side, 0, 2) for side in (pair.left, pair.right)]
        assert not [one for one in (*answers, *stories) if "nan" in one.lower() or "inf" in one]
    pair = pair_of(Settings(TIRED), Settings(TIRED, "sinks:1 & !sinks:1"))
    assert torch.equal(pair.maps[1], torch.zeros_like(pair.maps[1]))
    assert pairs.answers(pair, ("a", "b"))[0]["value"] == "1.00 → 0.00"


# ---- the vectors of one token, after every layer

FAIR = {"s": "she won a prize at the fair", "s2": "the rules of the game are fair", "pos2": "as trained", "at": "3.1.7"}
HORSE = {"s": TIRED, "s2": TIRED.replace("animal", "horse"), "pos2": "as trained", "at": "3.1.10"}


def vectors(**link: str) -> tuple[str, list[str], list[str]]:
    """What is said of a token's vectors, their cosines and the largest changes of an entry, as they are written."""
    (panel,) = picture_of("pair", **link)[0]["vectors"]
    summary, *rows = panel["blocks"]
    cosines, changes = (bars["values"] for bars in rows[0]["blocks"]) if rows else ([], [])
    return summary["text"], cosines, changes


def window(w: int) -> dict[str, str]:
    return {f"{key}{side}": value for side in ("", "2") for key, value in (("mask", "window"), ("w", str(w)))}


def test_one_word_in_two_senses_parts_layer_by_layer(model: Model) -> None:
    _, cosines, changes = vectors(**FAIR)
    left, right = (model.run(FAIR[side]).hidden[:, 7].double() for side in ("s", "s2"))
    wanted = (left * right).sum(-1) / left.norm(dim=-1) / right.norm(dim=-1)
    for text, value in zip(cosines, wanted.tolist(), strict=True):
        assert_shows(text, value)
    for text, value in zip(changes, (left - right).abs().amax(-1).tolist(), strict=True):
        assert_shows(text, value)
    assert (cosines[0], changes[0]) == ("1.000", "0")  # the same word in the same place
    assert float(cosines[3]) < 0.85
    _, cosines, changes = vectors(**FAIR, **window(1))
    assert (set(changes), set(cosines)) == ({"0"}, {"1.000"})


def test_news_travels_one_window_a_layer() -> None:
    """“it” stands eight words behind “animal”, which becomes “horse”."""
    for w, first in ((2, None), (3, 4), (5, 2)):
        sentence, _, changes = vectors(**HORSE, **window(w))
        reached = [layer for layer, change in enumerate(changes) if change != "0"]
        assert (reached[0] if reached else None) == first
        equal = "equal in every layer" if first is None else f"equal up to H[{first - 1}] and differ from H[{first}]"
        assert equal in sentence
    sentence, *bars = vectors(s="how are you", s2="can you can that", pos2="as trained")
    assert bars == [[], []]
    assert sentence.startswith("The left sentence has 5 tokens, the right one 6:")
