"""More than two maps on Compare: the mean over heads as torch takes it, and what becomes of a word said twice."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
import torch

from headlight.link.presets import PRESETS
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.ui.numbers import cell_text
from mha_core import IMPLEMENTATIONS
from mha_core.errors import HeadlightError, TooLong
from pages.compare import multiple_maps
from tests.closeness import same_function

from .conftest import answer, every
from .numbers_shown import in_float64

pytestmark = pytest.mark.numeric
TWICE = PRESETS[2]


def shown(**values: str | list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(answer("encodings", urlencode(values, doseq=True).encode()))["blocks"]
    return list(every(found))


def panels(**values: str | list[str]) -> dict[str, list[dict[str, Any]]]:
    """What stands in each panel, by its heading."""
    return {block["heading"]: block["blocks"] for block in shown(at="3.1", **values) if block["kind"] == "panel"}


def cells(weights: torch.Tensor) -> list[list[str]]:
    return [[cell_text(float(weight)) for weight in row] for row in weights]


def test_mean_is_the_one_that_torch_gives() -> None:
    with in_float64() as model:
        picture = pictures.picture(Settings(TWICE))
        torchs = IMPLEMENTATIONS["torch"](model.sizes.d_model, model.sizes.n_heads).double()
        torchs.load(model.stack.block(3).attention.save())
        theirs = next(module for module in torchs.modules() if isinstance(module, torch.nn.MultiheadAttention))
        x = picture.run.hidden[3][None]
        with torch.no_grad():
            _, expected = theirs(x, x, x, need_weights=True, average_attn_weights=True)
        same_function(multiple_maps.head_map(picture, 3, None), expected[0])
        assert torch.equal(multiple_maps.head_map(picture, 3, 5), picture.run.weights[3, 5])
        for layer_and_head in ((6, None), (0, 12)):
            with pytest.raises(HeadlightError, match="6 layers of 12 heads"):
                multiple_maps.head_map(picture, *layer_and_head)


def test_bare_page_compares_three_positions_of_a_word_said_twice() -> None:
    with in_float64():
        found = panels(s=TWICE)
        assert list(found) == ["As trained", "No positional encoding", "Sinusoidal"]
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
                assert f"attends most to “{run.tokens[int(second.argmax())]}”" in text


@pytest.mark.usefixtures("shipped")
def test_models_of_one_task_stand_side_by_side_and_say_what_computed_them() -> None:
    assert multiple_maps.siblings("who-none-1") == {"none": "who-none-1", "rotary": "who-rotary-1"}
    assert multiple_maps.siblings("who-rotary-2") == {}  # its weights are not there
    assert multiple_maps.siblings("minilm") == multiple_maps.siblings("food-learned-1") == {}
    text = "dog saw dog"
    found = {block["heading"]: block["blocks"] for block in shown(model="who-none-1", s=text) if "heading" in block}
    assert list(found)[1] == "Rotary"
    weights = pictures.picture(Settings(text, model="who-rotary-1")).run.weights[0].mean(dim=0)
    assert found["Rotary"][0]["cells"] == cells(weights)


def test_button_says_what_the_link_then_says_and_what_cannot_be_shown_is_refused() -> None:
    buttons = [one for block in shown(s=TWICE, three=["none", "rotary"]) for one in block.get("buttons", [])]
    pressed = {one["text"]: one["event"] for one in buttons if one["pressed"]}
    assert pressed == {"none": {"three": ["rotary"]}, "rotary": {"three": ["none"]}, "mean of all": {"mean": "true"}}
    (more,) = [one["event"] for one in buttons if one["text"] == "sinusoidal"]
    assert more == {"three": ["none", "rotary", "sinusoidal"]}
    with pytest.raises(TooLong):
        shown(s="can " * 30)
