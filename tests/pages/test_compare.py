"""Compare by the wire: two sides of a link, two models, the shuffle test, and what of a link cannot be used."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest
import torch
from torch import Tensor

from headlight.link.cursor import Cursor
from headlight.link.mask_codec import write_flips
from headlight.link.presets import PRESETS
from headlight.picture import pictures
from headlight.picture.link_query import UnusableText
from headlight.picture.settings import Settings
from headlight.registry import pretrained
from headlight.ui.numbers import small
from mha_core import Model
from mha_core.errors import HeadlightError
from mha_core.measure import measures, rounding
from mha_core.measure.reading import merge_words
from mha_core.models.words import join_to_common, split_words
from pages.compare import contrasts, handlers, orders, pairs, suggestions
from pages.compare.pairs import ROUNDING
from tests.closeness import identical, within_rounding

from .conftest import picture_of

TIRED, WIDE = PRESETS[:2]
BEGINS = Settings(TIRED), Settings(TIRED, position="none")  # both sides of a bare link
WITH, WITHOUT = Settings("how are you"), Settings("how are you", position="none")
Link = dict[str, Any]


def answered(**values: str | list[str]) -> tuple[dict[str, Any], list[Tensor]]:
    """The header of a link's picture, and both maps."""
    header, floats = picture_of("pair", **values)
    first, second = (len(side["tokens"]) for side in header["sides"])
    return header, [floats[: first**2].view(first, -1), floats[first**2 :].view(second, -1)]


def header_of(route: str, **values: Any) -> dict[str, Any]:
    return picture_of(route, **values)[0]


def check(values: Link, left: Settings, right: Settings, layer: int = 0, head: int = 2) -> dict[str, Any]:
    """The link shows exactly these two."""
    header, maps = answered(**values)
    assert header["digest"] == f"{left.digest}-{right.digest}", values
    for shown, settings in zip(maps, (left, right), strict=True):
        identical(shown, pictures.picture(settings).run.weights[layer, head])
    return header


def test_default() -> None:
    header = check({}, *BEGINS)
    assert (header["notices"], header["layer"], header["head"], header["key"]) == ([], 0, 2, None)
    assert header["texts"] == {"s": TIRED, "s2": TIRED}
    assert (header["model"], header["defaults"]["at"], header["defaults"]["s"]) == ("minilm", "0.2", TIRED)
    assert (header["unusable"], header["initialValues"], header["tokens"][header["row"]]) == ({}, {}, "it")
    assert [figure["value"] for figure in header["answers"]] == ["1.00 → 0.11", "0.706"]
    assert [side["title"] for side in header["sides"]] == ["Learned positions", "No positions"]
    assert (header["differs"], header["contrast"]) == (["pos"], "One setting differs: positions.")
    left, right = answered()[1]
    distances = (right.double() - left.double()).abs().sum(dim=1) / 2
    within_rounding(torch.tensor(header["distances"]), distances, rounding.sum_bound(len(distances), 1))
    assert list(header["suggestions"]) == list(suggestions.SUGGESTIONS)
    for name, values in header["suggestions"].items():
        there, _ = answered(**values)
        assert (there["suggestions"], there["unusable"]) == (header["suggestions"], {}), name


def test_unusable_values_are_named_and_the_rest_is_drawn() -> None:
    of_a_side: list[Link] = [
        {"mask": "everything"}, {"mask": "painted", "p": "garbage"}, {"t": "nan"}, {"off": "L6 H0"}, {"unheard": "x"},
    ]  # fmt: skip
    of_both: list[Link] = [
        {"at": "6.0"}, {"model": "../minilm"}, {"dev": "cuda:9"}, {"word": "x" * 200}, {"s": ["one", "two"]},
        {"pos2": "elsewhere", "t2": "99", "shuffle": "x", "look": "upside_down", "off2": ["L9 H9"]},
    ]  # fmt: skip
    for values in [
        {f"{key}{side}": value for key, value in own.items()} for own in of_a_side for side in ("", "2")
    ] + of_both:
        wrong = [key for key in values if not key.startswith("mask") or values[key] == "everything"]
        header = check(values, *BEGINS)
        assert set(header["unusable"]) == set(wrong), values
        for key in wrong:
            assert [notice for notice in header["notices"] if f" {key}=" in notice], key


PAINTED = write_flips((torch.arange(12 * 15 * 15) == (2 * 15 + 10) * 15 + 9).view(12, 15, 15))  # a cell of a head
CORE: list[tuple[Link, Settings, Settings, tuple[int, int]]] = [
    (
        {"s": "how are you", "mask": "window", "w": "2", "t": "0.5", "off": ["L1 H1", "L0 H0"]},
        Settings("how are you", "window:2", temperature=0.5, heads_off=((0, 0), (1, 1))), WITHOUT, (0, 2),
    ),
    (
        {"s2": WIDE, "mask2": "combination", "rule2": "causal|sinks:1", "pos2": "rotary", "off2": "L3 H1"},
        BEGINS[0], Settings(WIDE, "causal | sinks:1", "rotary", heads_off=((3, 1),)), (0, 2),
    ),
    ({"off": ["L3 MLP", "L1"], "pos2": "as trained", "off2": "L2 MLP", "at": "4.1"},
     Settings(TIRED, mlps_off=(3,), layers_off=(1,)), Settings(TIRED, mlps_off=(2,)), (4, 1)),
    ({"s2": "how are you", "t2": "2", "at": "3.1.9"}, BEGINS[0], replace(WITHOUT, temperature=2.0), (3, 1)),
    ({"mask": "painted", "p": PAINTED, "mask2": "window", "w2": "513"}, Settings(TIRED, painted=PAINTED),
     Settings(TIRED, "window:3", "none"), (0, 2)),
]  # fmt: skip


def test_a_link_is_answered_with_the_numbers_of_the_core() -> None:
    for values, left, right, at in CORE:
        header = check(values, left, right, *at)
        sides = pictures.picture(left), pictures.picture(right)
        pair = pairs.Pair(*sides, Cursor(*at))
        where = Cursor.from_text(str(values.get("at", "0.2"))).resolve(sides[0].run.tokens)
        place = (header["row"], header["key"], tuple(header["marked"]))
        assert place == (where.row, where.key, pairs.marked_cell(pair, where))
        assert ("w2" in header["unusable"]) == ("w2" in values)
        titles = contrasts.titles(contrasts.contrasts(left, right, pair.left.model))
        assert header["answers"] == pairs.answers(pair, titles)
    header = check({"s2": WIDE, "pos2": "as trained", "at": "3.1"}, Settings(TIRED), Settings(WIDE), 3, 1)
    assert (header["fits"], header["texts"]) == (True, {"s": TIRED, "s2": WIDE})
    header = check({"s2": "how are you"}, Settings(TIRED), WITHOUT)
    assert (header["fits"], header["distances"]) == (False, [])
    query = urlencode({"s": "how are you", "s2": WIDE, "at": "3.1"}).encode()
    assert handlers.first_message(query) == handlers.pair(query), "a page begins with the same"
    for side in ("s", "s2"):
        with pytest.raises(HeadlightError, match="at most 128 tokens"):
            handlers.first_message(urlencode({side: "it " * 150}).encode())


# ---- what the right side begins with: the left with one thing changed, whatever page one comes from

CHANGES: list[Link] = [
    {"mask": "dilated", "w": "2", "gap": "3", "off": ["L3 H5"]}, {"pos": "rotary", "t": "0.5"}, {"pos": "none"},
]  # fmt: skip


def test_from_another_page_one_thing_differs_and_a_link_opens_what_it_always_did() -> None:
    for values in CHANGES:
        begun = header_of("initial", **values)
        assert begun["differs"] == ["pos"]
        begins = begun["initialValues"]
        same = {f"{key}2": value for key, value in values.items() if key != "pos"}
        other = {"pos2": "as trained"} if values.get("pos", "as trained") != "as trained" else {}
        assert begins == same | other, "the link says it, without defaults"
        assert header_of("pair", **values, **begins) == begun | {"initialValues": {}}, "and opens the same"
        assert header_of("pair", **values)["initialValues"] == {}
    for values in ({}, {"mask": "causal", "t2": "0.5"}):
        assert header_of("initial", **values) == header_of("pair", **values), values
    assert header_of("initial", model="made_up-none-1", mask="window")["differs"] == ["mask"], "it has no positions"


# ---- two models, and the mean over heads

TEXT = "Unbelievably, it didn't cross"
WORDS = ["Unbelievably", ",", "it", "didn't", "cross"]


def test_two_models_are_compared_word_by_word() -> None:
    other, at = "food-none-1", (0, 1)
    link = {"s": TEXT, "model2": other, "at": "3.1", "at2": "0.1"}
    header, shown = answered(**link)
    left, right = (split_words(pictures.model_on("auto", name), TEXT) for name in (pretrained.MINILM, other))
    ours, theirs = join_to_common(left, right), join_to_common(right, left)
    run = pictures.picture(Settings(TEXT, model=other)).run
    identical(shown[0], merge_words(pictures.picture(Settings(TEXT)).run.weights[3, 1], ours, ours)[1:-1, 1:-1])
    first, last = run.ends[0], len(theirs) - run.ends[1]
    identical(shown[1], merge_words(run.weights[at], theirs, theirs)[first:last, first:last])
    assert [side["tokens"] for side in header["sides"]] == [WORDS, WORDS]
    places = [(side["layer"], side["head"], side["layers"], side["heads"]) for side in header["sides"]]
    assert places == [(3, 1, 6, 12), (*at, 1, 4)]
    assert (header["contrast"], header["fits"], header["isOfTwo"]) == ("One setting differs: model.", True, True)
    assert "word by word: on the left" in header["caption"]
    header, _ = answered(**link, mask2="window", w2="2", off2=[f"L{at[0]} H{at[1]}", "L1 H11"])
    changed = Settings(TEXT, mask="window:2", model=other, heads_off=(at,))
    assert header["digest"].endswith(changed.digest)
    assert header["unusable"] == {"off2": [f"L{at[0]} H{at[1]}"]}, "the right model has fewer heads"
    header, _ = answered(**link, s2="Incredibly, she didn't stop")
    assert (header["fits"], header["tokens"][2]) == (True, "it/she")
    header, _ = answered(**link, s2="how are you")
    assert not header["fits"]
    with pytest.raises(UnusableText) as refused:
        answered(**link, s2="word " * 600)
    assert refused.value.key == "s2"
    assert not answered(s=TEXT, model2=pretrained.MINILM)[0]["isOfTwo"]


def test_the_mean_over_heads_of_both_sides_and_before_and_after_a_mask() -> None:
    for look, count, whose in (
        ("mean", 12, "of a layer"), ("meanseen", 12, "in view"), ("meanall", 72, "of each model"),
    ):  # fmt: skip
        header, maps = answered(s="how are you", look=look, at="2.1", pos2="as trained", mask2="causal")
        for shown, mask in zip(maps, ("none", "causal"), strict=True):
            own = pictures.picture(Settings("how are you", mask)).run.weights
            identical(shown, own[2].mean(dim=0) if count == 12 else own.flatten(0, 1).mean(dim=0))
        assert header["mean"] == f"The mean over {count} heads {whose}."


# ---- the shuffle test: the same words in another order


def test_another_order_is_compared_and_explained(model: Model) -> None:
    order = orders.shuffle_words(TIRED, 1)
    table: list[tuple[Link, bool, str]] = [
        ({"position": "none"}, True, "every token sees the same tokens as before, and nothing marks their positions"),
        ({}, False, "each token now has a different positional encoding"),
        ({"position": "none", "mask": "causal"}, False, "there are no positions, but the mask depends on the position"),
        ({"mask": "causal"}, False, "and the mask allows it other keys"),
        ({"position": "none", "temperature": 0.5, "heads_off": ((0, 1),)}, True, "every token sees the same tokens"),
    ]
    for changes, same, reason in table:
        settings = Settings(TIRED, **changes)
        found, sentence = orders.difference(settings, order), orders.explain(settings, order)
        assert found == measures.difference_in_new_order(*(model.run(text, **changes) for text in (TIRED, order)))
        assert found <= ROUNDING if same else found > 0.1
        assert reason in sentence, changes
        assert found == 0 or small(found) in sentence
        assert sentence.startswith("The same vectors in the new order" if same else "The vectors change")
    for wrong in ("", "how are you you", "you how is"):
        with pytest.raises(HeadlightError, match="must contain the same words"):
            orders.difference(WITH, wrong)
    assert (orders.other_positions(WITH, model), orders.other_positions(WITHOUT, model)) == (WITHOUT, WITH)
    # a byte-level tokenizer gives the first word another token than the same word after a blank
    decoder = Settings("the dog bit the man", model="smollm2")
    assert orders.difference(decoder, "man bit the dog the") > 0.1
    assert orders.difference(decoder, decoder.text) == 0
