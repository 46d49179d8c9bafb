"""Side by side: maps with numbers, the mean over heads as torch takes it, and what becomes of a word said twice."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from headlight.link.presets import PRESETS
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.ui.numbers import in_a_cell
from mha_core import IMPLEMENTATIONS
from mha_core.errors import HeadlightError, TooLong
from pages.side_by_side import beside
from tests.closeness import same_function

from .conftest import app_at, blocks
from .numbers_shown import in_float64

pytestmark = pytest.mark.numeric
TWICE = PRESETS[2]


def panels(**values: str | list[str]) -> dict[str, list[dict[str, Any]]]:
    """What stands in each panel, by its heading."""
    found = blocks(app_at("side_by_side", **values).run(), "side_by_side")
    return {block["heading"]: block["blocks"] for block in found if block["kind"] == "panel"}


def cells(weights: torch.Tensor) -> list[list[str]]:
    return [[in_a_cell(float(weight)) for weight in row] for row in weights]


def test_the_mean_is_the_one_that_torch_gives() -> None:
    with in_float64() as model:
        picture = pictures.picture(Settings(TWICE))
        torchs = IMPLEMENTATIONS["torch"](model.sizes.d_model, model.sizes.n_heads).double()
        torchs.load(model.stack.block(3).attention.save())
        theirs = next(module for module in torchs.modules() if isinstance(module, torch.nn.MultiheadAttention))
        x = picture.run.hidden[3][None]
        with torch.no_grad():
            _, expected = theirs(x, x, x, need_weights=True, average_attn_weights=True)
        same_function(beside.map_of(picture, 3, None), expected[0])
        assert torch.equal(beside.map_of(picture, 3, 5), picture.run.weights[3, 5])
        for layer_and_head in ((6, None), (0, 12)):
            with pytest.raises(HeadlightError, match="6 layers of 12 heads"):
                beside.map_of(picture, *layer_and_head)


def test_the_bare_page_compares_three_positions_of_a_word_said_twice() -> None:
    assert app_at("side_by_side").run().session_state["s"] == TWICE
    with in_float64():
        found = panels()
        assert list(found) == ["As trained", "No positions", "Sinusoidal"]
        for (heading, shown), position in zip(found.items(), ("trained", "none", "sinusoidal"), strict=True):
            run = pictures.picture(Settings(TWICE, position=position)).run
            mean = run.weights[3].mean(dim=0)
            assert shown[0]["cells"] == cells(mean)
            first, second = mean[1], mean[3]  # [CLS] can you can that [SEP]
            text = str(shown[1]["text"])
            assert text.startswith("The rows of “can” (at 1 and 3) "), heading
            if position == "none":
                same_function(first, second)
            else:
                assert f"looks most at “{run.tokens[int(second.argmax())]}”" in text


@pytest.mark.usefixtures("shipped")
def test_models_of_one_task_stand_side_by_side_and_say_what_computed_them() -> None:
    assert beside.siblings("who-none-1") == {"none": "who-none-1", "rotary": "who-rotary-1"}
    assert beside.siblings("who-rotary-2") == {}  # its weights are not there
    assert beside.siblings("minilm") == beside.siblings("food-learned-1") == {}
    text = "dog saw dog"
    found = panels(model="who-none-1", s=text)
    assert list(found)[1] == "Rotary"
    weights = pictures.picture(Settings(text, model="who-rotary-1")).run.weights[0].mean(dim=0)
    assert found["Rotary"][0]["cells"] == cells(weights)


def test_what_cannot_be_shown_is_said() -> None:
    with pytest.raises(TooLong):
        beside.panels({"none": Settings("can " * 30)}, 0, None)
    shown = blocks(app_at("side_by_side", s="can " * 30).run(), "side_by_side")
    (notices,) = [block for block in shown if block["kind"] == "notices"]
    assert "24" in notices["sentences"][0]
    assert [block for block in shown if block["kind"] == "matrix"]  # of the last text that fits
