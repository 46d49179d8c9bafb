"""What Explore is told of a link: its picture, and a sentence for each value that cannot be used."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from mha_core import Model
from pages.explore.first_row import PRONOUNS
from pages.kit.picture.link_query import Refused
from pages.kit.picture.presets import NAMES, PRESETS
from pages.kit.picture.settings import Settings
from pages.kit.wire import routes

from .conftest import answers, app_at, component, picture_of, told_to

ALL_HEADS = [f"L{layer} H{head}" for layer in range(6) for head in range(12)]


def shown(**values: str | list[str]) -> dict[str, Any]:
    """What is said of the picture of a link."""
    return picture_of("maps", **values)[0]


def test_default(model: Model) -> None:
    said, maps = picture_of("maps")
    run = model.run(PRESETS[0])
    assert said["digest"] == Settings(PRESETS[0]).digest
    assert (said["layer"], said["head"], said["row"]) == (3, 1, run.tokens.index("it"))
    assert said["origin"] == "pretrained"
    assert said["label"] == "nothing changed"
    assert (said["notices"], said["unusable"]) == ([], {})
    assert said["presets"] == list(PRESETS)
    assert said["presetNames"] == [NAMES[text] for text in PRESETS]
    assert said["defaults"]["s"] == said["typed"] == said["used"]["s"] == PRESETS[0]
    assert torch.equal(maps.view(15, 15), run.weights[3, 1].cpu())


def test_the_script_mounts_the_view_and_knows_nothing_of_what_it_shows() -> None:
    app = app_at("explore", s="how are you", at="2.3", mask="causal").run()
    told = told_to(component(app, "maps"))
    assert set(told) == {"visit", "heard", "own"}
    assert told["heard"] == 0
    assert told["own"] == {"picture": "", "sound": ""}, "nor of what it is told, but a file that was brought"
    assert "how are you" not in str(app.session_state.to_dict())


@pytest.mark.parametrize("at", ["0.0", "5.11.14.14", "2.3.999", "2.3.1.999"])
def test_any_layer_head_row_and_key(at: str) -> None:
    said = shown(at=at)
    layer, head, *rest = (int(number) for number in at.split("."))
    assert (said["layer"], said["head"]) == (layer, head)
    assert 0 <= said["row"] < 15
    assert said["key"] is None or 0 <= said["key"] < 15
    assert set(said["unusable"]) == ({"at"} if 999 in rest else set())


def test_all_heads_off() -> None:
    said = shown(off=ALL_HEADS)
    assert said["figures"][1]["value"] == "72 of 72"
    assert math.isfinite(float(said["figures"][0]["value"]))


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("My grandmother baked her cake and her sister ate it", "her"),  # pronouns first
        ("a", "a"),
        ("", "[SEP]"),
    ],
)
def test_the_row_looked_at_first(text: str, row: str, model: Model) -> None:
    run, said = model.run(text), shown(s=text)
    assert run.tokens[said["row"]] == row
    words = range(1, len(run.tokens) - 1)
    pairs = [(i, float(run.weights[3, 1, i, j])) for i in words for j in words if abs(i - j) > 1]
    pronouns = [pair for pair in pairs if run.tokens[pair[0]] in PRONOUNS]
    if pairs:
        assert said["row"] == max(pronouns or pairs, key=lambda pair: pair[1])[0]
    for elsewhere in ({"at": "5.2"}, {"pos": "none"}, {"mask": "causal"}):  # neither a head nor a change moves it
        assert shown(s=text, **elsewhere)["row"] == said["row"]


def test_kinds_are_told_of_the_layers_in_sight() -> None:
    said = shown(at="2.1")
    assert [len(layer) for layer in said["kinds"]] == [0, 0, 12, 0, 0, 0]
    every = shown(at="2.1", look="all")["kinds"]
    assert [len(layer) for layer in every] == [12] * 6
    assert every[2] == said["kinds"][2]


@pytest.mark.parametrize(("text", "told"), [("猫 は 寝る", True), ("مرحبا بالعالم", True), ("the cat 猫 sat", False)])
def test_a_text_that_is_not_english_is_told(text: str, told: bool) -> None:
    assert any(said.startswith("This model reads English.") for said in shown(s=text)["pieces"]) == told


def test_a_pinned_picture_has_its_own_numbers(model: Model) -> None:
    said, maps = picture_of("maps", pin=f"0.2.3~causal~none~0.5~1.1-0.0~{PRESETS[3]}", at="1.4")
    run = model.run(PRESETS[3], mask="causal", position="none", temperature=0.5, heads_off=((0, 0), (1, 1)))
    assert said["pin"]["tokens"] == run.tokens
    assert said["pin"]["at"] == "0.2.3"
    size = len(run.tokens)
    assert torch.equal(maps[-size * size :].view(size, size), run.weights[0, 2].cpu())


def test_equal_pictures_are_equal_bytes() -> None:
    first = answers("maps", "")[1]
    assert answers("maps", "")[1] == first
    assert answers("maps", "look=linear_sort&at=1.2.3")[1] == first, "how it is drawn changes no map"


def test_the_map_before_the_changes_comes_with_it(model: Model) -> None:
    said, maps = picture_of(
        "maps", look="difference_linear", at="3.1", pin="0.2~none~trained~1~~how are you", pos="none", mask="causal"
    )
    assert said["notices"] == []
    now = model.run(PRESETS[0], position="none", mask="causal").weights[3, 1].cpu()
    before = model.run(PRESETS[0]).weights[3, 1].cpu()
    assert torch.equal(maps[: 2 * 225].view(2, 15, 15), torch.stack([now, before]))
    assert said["before"]["distances"] == pytest.approx(((now - before).abs().sum(-1) / 2).tolist())
    assert said["before"]["forbidden"] == [""], "a cell that was seen is no cell without a difference"
    assert len(maps) == 2 * 225 + len(said["pin"]["tokens"]) ** 2


@pytest.mark.parametrize("values", [{"look": "difference"}, {}])
def test_otherwise_nothing_more_comes(values: dict[str, str]) -> None:
    said, maps = picture_of("maps", **values)
    assert said["before"] is None
    assert len(maps) == 15 * 15


def test_the_comparison_is_computed_when_it_is_asked_for() -> None:
    text = "only here"
    assert shown(s=text)["compared"] == ""
    value = routes.answer("compared", b"s=only+here&mask=causal").decode()
    assert value
    assert shown(s=text)["compared"] == value


def test_a_translator_s_groups_and_a_model_of_pictures() -> None:
    sides = {"encoder": (6, 6), "decoder": (11, 11), "cross": (11, 6)}
    for group, (rows, columns) in sides.items():
        model = f"dates-sinusoidal-1~{group}"
        said, floats = picture_of("maps", model=model)
        assert (said["groups"], said["group"]) == (list(sides), group)
        maps = floats.view(rows, columns)
        assert torch.allclose(maps.sum(1), torch.ones(rows), rtol=1e-5, atol=1e-6)
        assert (maps[0].argmax() == columns - 1) == (group == "cross"), "the first digit comes from the year"
        off, _ = picture_of("maps", model=model, off="L0 H0")
        assert off["label"].startswith("1 head off")
        pair, _ = picture_of("pair", model=model)
        assert pair["notices"] == said["notices"]
        for route in ("maps", "pair", "masked"):
            placed = [picture_of(route, model=model, at=f"0.0.1.{key}")[0] for key in (columns - 1, columns)]
            assert [of["key"] for of in placed] == [columns - 1, None], "a key is one of the columns"
            assert [of["unusable"] for of in placed] == [{}, {"at": ["0.0"]}]
        assert pair["contrast"] == f"One thing differs: {'positions' if group != 'cross' else 'temperature'}."
        assert said["pieces"] == ["[START] marks the start."] * (group == "cross") or group != "cross"
    with pytest.raises(Refused, match="reads pictures, not sentences"):
        picture_of("maps", model="shapes-sinusoidal-1")
