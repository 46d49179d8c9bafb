"""Compare without a browser: what the wire answers a link of two sides, and what of it cannot be used."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest
import torch
from torch import Tensor

from mha_core import Model
from mha_core.errors import HeadlightError
from pages.compare import contrasts, message, pairs, right_side, tries
from pages.kit.picture import pictures
from pages.kit.picture.fields import DEFAULTS, SIDE
from pages.kit.picture.mask_codec import write_flips
from pages.kit.picture.place import At
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.kit.picture.words import NOT_TRAINED
from pages.kit.wire import routes

from .conftest import picture_of

TIRED, WIDE = PRESETS[:2]
BEGINS = Settings(TIRED), Settings(TIRED, position="none")  # both sides of a bare link


def asked(**values: str | list[str]) -> tuple[dict[str, Any], list[Tensor]]:
    """What the wire says of a link, and both maps."""
    header, floats = picture_of("pair", **values)
    first, second = (len(side["tokens"]) for side in header["sides"])
    return header, [floats[: first**2].view(first, -1), floats[first**2 :].view(second, -1)]


def check(values: dict[str, Any], left: Settings, right: Settings, layer: int = 0, head: int = 2) -> dict[str, Any]:
    """The link shows exactly these two."""
    header, maps = asked(**values)
    assert header["digest"] == f"{left.digest}-{right.digest}"
    for shown, settings in zip(maps, (left, right), strict=True):
        assert torch.equal(shown, pictures.picture(settings).run.weights[layer, head])
    return header


def test_default() -> None:
    header = check({}, *BEGINS)
    assert header["notices"] == []
    assert (header["layer"], header["head"], header["key"]) == (0, 2, None)
    assert header["used"] == {"s": TIRED, "s2": TIRED}
    assert (header["model"], header["defaults"]["at"], header["defaults"]["s"]) == ("minilm", "0.2", TIRED)
    assert (header["unusable"], header["begins"]) == ({}, {})
    assert header["tokens"][header["row"]] == "it"
    assert [figure["value"] for figure in header["answers"]] == ["0.9998 → 0.1094", "0.706"]
    assert [figure["value"] for figure in header["figures"][:1]] == ["0.9998 → 0.1094"]
    assert [side["title"] for side in header["sides"]] == ["Learned positions", "No positions"]
    assert (header["differs"], header["contrast"]) == (["pos"], "One thing differs: positions.")
    assert [side["repeated"] for side in header["sides"]] == [[1, 7], [1, 7]]
    assert "0.64 → 0.04" in [figure["value"] for figure in header["figures"]]
    assert [side["label"] for side in header["sides"]] == [
        "nothing changed, pretrained weights", "no positions, pretrained weights",
    ]  # fmt: skip
    assert [side["fitness"] for side in header["sides"]] == ["", f"{NOT_TRAINED}."]
    left, right = asked()[1]
    distances = (right - left).abs().sum(dim=1) / 2
    assert header["distances"] == pytest.approx(distances.tolist(), abs=1e-6)


@pytest.mark.parametrize("side", ["", "2"])
@pytest.mark.parametrize(
    ("values", "settings"),
    [
        ({"mask": "causal"}, {"mask": "causal"}),
        ({"mask": "window", "w": "2"}, {"mask": "window:2"}),
        ({"mask": "combination", "rule": "causal & window:2"}, {"mask": "causal & window:2"}),
        ({"pos": "sinusoidal"}, {"position": "sinusoidal"}),
        ({"t": "0.5"}, {"temperature": 0.5}),
        ({"off": ["L0 H1", "L3 H3"]}, {"heads_off": ((0, 1), (3, 3))}),
    ],
)
def test_every_control_of_both_sides(values: dict[str, str | list[str]], settings: dict[str, Any], side: str) -> None:
    left, right = BEGINS
    changed = Settings(TIRED, **{**({"position": "none"} if side else {}), **settings})
    link = {f"{key}{side}": value for key, value in values.items()}
    header = check(link, left if side else changed, changed if side else right)
    assert header["notices"] == []
    assert {key for key in header["used"] if key not in ("s", "s2")} == {key for key in link if "rule" in key}
    assert header["differs"] == [key for key in ("mask", "pos", "t", "off") if key in values or key == "pos"]


@pytest.mark.parametrize("side", ["", "2"])
def test_a_painted_mask_on_either_side(side: str) -> None:
    flips = torch.zeros(12, 15, 15, dtype=torch.bool)
    flips[2, 10, 9] = True
    painted = write_flips(flips)
    link = {f"mask{side}": "painted", f"p{side}": painted, f"pos{side}": "as trained"}
    own = Settings(TIRED, painted=painted)
    check(link, Settings(TIRED) if side else own, own if side else BEGINS[1])
    assert asked(**link)[1][1 if side else 0][10, 9] == 0
    header, _ = asked(**link, s="how are you")
    assert ["was painted for 15 tokens; the sentence has 5" in said for said in header["notices"]] == [True]
    untouched = Settings("how are you"), Settings("how are you", position="trained" if side else "none")
    assert header["digest"] == "-".join(one.digest for one in untouched)


def test_the_other_sentence() -> None:
    header = check({"s2": WIDE, "pos2": "as trained", "at": "3.1"}, Settings(TIRED), Settings(WIDE), 3, 1)
    assert header["fits"]
    assert header["used"] == {"s": TIRED, "s2": WIDE}
    assert "0.64 → 0.27" in [figure["value"] for figure in header["figures"]]
    header = check({"s2": "how are you"}, Settings(TIRED), Settings("how are you", position="none"))
    assert not header["fits"]
    assert header["distances"] == []
    assert header["said"].startswith("The left sentence has 15 tokens, the right one 5")


@pytest.mark.parametrize(
    "values",
    [
        *[{f"mask{side}": "everything"} for side in ("", "2")],
        *[{f"mask{side}": "painted", f"p{side}": "garbage"} for side in ("", "2")],
        *[{f"pos{side}": "learned"} for side in ("", "2")],
        *[{f"t{side}": text} for side in ("", "2") for text in ("99", "nan", "")],
        *[{f"off{side}": text} for side in ("", "2") for text in ("L6 H0", "3.1")],
        *[{f"unheard{side}": "x"} for side in ("", "2")],
        {"at": "6.0"},
        {"at": "x"},
        {"at": "0.2.99"},
        {"model": "../minilm"},
        {"dev": "cuda:9"},
        {"shuffle": "0"},
        {"look": "upside_down"},
        {"word": "x" * 200},
        {"s": ["one", "two"]},
        {"pos2": "elsewhere", "t2": "99", "shuffle": "x", "look": "upside_down", "off2": ["L9 H9"]},
    ],
    ids=lambda values: urlencode(values)[:30],
)
def test_what_cannot_be_used_is_named_and_the_rest_is_shown(values: dict[str, Any]) -> None:
    wrong = [key for key in values if not key.startswith("mask") or values[key] == "everything"]
    header = check(values, *BEGINS)
    assert set(header["unusable"]) == set(wrong)
    for key in wrong:
        assert [said for said in header["notices"] if f" {key}=" in said], key


@pytest.mark.parametrize("side", ["", "2"])
@pytest.mark.parametrize("text", ["0", "x", "1.5", "513"])
def test_the_numbers_of_a_mask_that_cannot_be_used(side: str, text: str) -> None:
    link = {f"mask{side}": "window", f"w{side}": text}
    own = Settings(TIRED, "window:3", "none" if side else "trained")
    header = check(link, BEGINS[0] if side else own, own if side else BEGINS[1])
    assert header["unusable"] == {f"w{side}": []}


def test_of_a_place_that_the_sentence_lacks_the_head_is_shown() -> None:
    left, right = (replace(side, text="how are you") for side in BEGINS)
    header = check({"s": "how are you", "at": "3.1.9"}, left, right, 3, 1)
    assert header["unusable"] == {"at": ["3.1"]}
    assert "The link says at=3.1.9, which cannot be used here; 3.1 is used instead." in header["notices"]


def test_a_rule_in_use_is_said() -> None:
    header, _ = asked(mask="combination", rule="causal&window:2", mask2="painted", on2="causal", rule2="ignored &")
    assert header["used"] == {"s": TIRED, "s2": TIRED, "rule": "causal&window:2", "on2": "causal"}


# ---- the wire


@pytest.mark.parametrize(
    ("values", "left", "right", "at"),
    [
        ({}, Settings(TIRED), Settings(TIRED, position="none"), (0, 2)),
        ({"s": "", "at": "5.11.1.0"}, Settings(""), Settings("", position="none"), (5, 11)),
        (
            {"s": "how are you", "mask": "window", "w": "2", "t": "0.5", "off": ["L1 H1", "L0 H0"]},
            Settings("how are you", "window:2", temperature=0.5, heads_off=((0, 0), (1, 1))),
            Settings("how are you", position="none"),
            (0, 2),
        ),
        (
            {"s2": WIDE, "mask2": "combination", "rule2": "causal|sinks:1", "pos2": "rotary", "off2": "L3 H1"},
            Settings(TIRED),
            Settings(WIDE, "causal | sinks:1", "rotary", heads_off=((3, 1),)),
            (0, 2),
        ),
        (
            {"s2": "how are you", "t2": "2", "at": "3.1.9"},
            Settings(TIRED),
            Settings("how are you", position="none", temperature=2.0),
            (3, 1),
        ),
    ],
)  # fmt: skip
def test_the_wire_answers_a_link_with_the_numbers_of_the_core(
    values: dict[str, str | list[str]], left: Settings, right: Settings, at: tuple[int, int]
) -> None:
    header = check(values, left, right, *at)
    sides = pictures.picture(left), pictures.picture(right)
    pair = pairs.Pair(*sides, At(*at))
    where = At.of(str(values.get("at", "0.2"))).on(sides[0].run.tokens)
    assert (header["row"], header["key"], tuple(header["marked"])) == (where.row, where.key, pairs.marked(pair, where))
    assert header["figures"] == pairs.figures(pair, where)
    titles = contrasts.titles(contrasts.contrasts(left, right, pair.left.model))
    assert tuple(side["title"] for side in header["sides"]) == titles
    assert [side["story"] for side in header["sides"]] == [pairs.story(side, *at) for side in sides]
    assert header["answers"] == pairs.answers(pair, titles)
    assert json.loads(routes.answer("asides", urlencode(values, doseq=True).encode())) == pairs.asides(pair, titles)


def test_a_page_begins_with_the_same_unless_a_side_is_long() -> None:
    query = urlencode({"s": "how are you", "s2": WIDE, "at": "3.1"}).encode()
    assert message.first(query) == message.pair(query)
    for side in ("s", "s2"):
        with pytest.raises(HeadlightError, match="at most 128 tokens"):
            message.first(urlencode({side: "it " * 150}).encode())


def test_each_comparison_to_try_is_what_its_link_says() -> None:
    header, _ = asked()
    assert list(header["tries"]) == list(tries.TRY)
    for name, values in header["tries"].items():
        there, _ = asked(**values)
        assert (there["tries"], there["unusable"]) == (header["tries"], {}), name


# ---- what the right side begins with: the left with one thing changed, whatever page one comes from


CHANGES: list[dict[str, Any]] = [
    {"mask": "causal", "off": ["L3 H5"]},
    {"mask": "dilated", "w": "2", "gap": "3"},
    {"mask": "combination", "rule": "causal & window:4 | sinks:1"},
    {"pos": "rotary", "t": "0.5"},
    {"pos": "none"},
    {"unheard": "0-2"},
]


def said(route: str, **values: Any) -> dict[str, Any]:
    return picture_of(route, **values)[0]


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
