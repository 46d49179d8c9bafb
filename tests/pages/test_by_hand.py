"""By hand without a browser: links, every control at its ends, a real cell and an embedding against the model."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import pytest
import torch
from streamlit.testing.v1 import AppTest

from headlight.link.cursor import Cursor
from headlight.link.presets import PRESETS
from headlight.picture.settings import Settings
from headlight.picture.traces import LayerTensors, layer_tensors
from headlight.ui.sheet import Block
from mha_core import Model
from mha_core.measure.by_hand import entropy
from pages.by_hand import embeddings, real_cell
from tests.closeness import quoted, same_function

from .conftest import app_at, component, every, told_to
from .numbers_shown import assert_shows, in_float64, read_number

pytestmark = pytest.mark.numeric
TIRED, CAN = PRESETS[0], "can you can that"


def open_page(**values: str) -> AppTest:
    return app_at("by_hand", **values).run()


def sheet_of(app: AppTest, key: str = "hand") -> list[Block]:
    found: list[Block] = told_to(component(app, "sheet", key))["blocks"]
    return found


def notices(app: AppTest) -> list[str]:
    return [line for block in every(sheet_of(app)) if block["kind"] == "notices" for line in block["sentences"]]


def matrix(app: AppTest, name: str) -> Block:
    return next(block for block in every(sheet_of(app)) if block.get("name") == name and "cells" in block)


def tables(made: list[Block]) -> list[Block]:
    return [block for block in every(made) if block["kind"] == "table"]


def steps(made: list[Block]) -> dict[str, str]:
    """The table from q · k to the weight: name -> value as it is written."""
    (table,) = [table for table in tables(made) if table["head"][0] == "step" and table["head"][1] == "value"]
    return {name: value for name, value, _ in table["rows"]}


def texts(made: list[Block]) -> str:
    return " ".join(block.get("text", "") for block in every(made))


@pytest.fixture
def precise() -> Iterator[Model]:
    with in_float64() as model:
        yield model


def test_link_brings_edited_matrices_and_the_source_of_the_values() -> None:
    app = open_page(m="s_0.5_0.9_0.4_0.1_0.8_0.3_0.4_0.3_0.1__a_1_0_0_1_1_0_1_1_1", sqrt="true")
    assert matrix(app, "scores")["cells"][0] == ["0.5", "0.9", "0.4"]
    assert matrix(app, "masked")["cells"][0][1:] == ["−∞", "−∞"]
    assert (matrix(app, "scaled")["cells"][0][1], notices(app)) == (f"{0.9 / math.sqrt(2):.4f}", [])


def test_other_words_keep_edited_cells() -> None:
    app = open_page(ex="two sentences", qw="how are", kw="you", m="e_1.1_1.2_7_2.2_3.1_3.2")
    app.text_input(key="qw").set_value("they are how").run()
    assert matrix(app, "q")["cells"] == [["4.1000", "4.2000"], ["7.0000", "2.2000"], ["1.1000", "1.2000"]]
    assert app.text_input(key="m").value == "e_4.1_4.2_7_2.2_1.1_1.2_3.1_3.2"


def test_cell_by_hand_is_the_models(precise: Model) -> None:
    for mask, temperature, position in (
        ("none", 1.0, "trained"), ("causal", 0.1, "none"), ("window:1", 5.0, "sinusoidal"),
        ("window:3", 0.1, "trained"),
    ):  # fmt: skip
        settings = Settings(TIRED, mask, position, temperature)
        run = precise.run(TIRED, mask=mask, position=position, temperature=temperature)
        for layer, head, row, key in ((3, 1, 10, 2), (5, 11, 0, 14)):
            same_function(layer_tensors(settings, layer).weights, run.weights[layer])
            made = real_cell.cell_blocks(layer_tensors(settings, layer), settings, Cursor(layer, head, row, key))
            found = steps(made)
            for name in ("weight", "in the map"):
                assert_shows(found[name], float(run.weights[layer, head, row, key]))
            assert_shows(found["÷ √32"], read_number(found["q · k"]) / math.sqrt(32))
            quoted(read_number(found["difference"]), "0.000000000")
            assert found["position bias"] == "0"
            assert not any("—" in cell for table in tables(made) for line in table["rows"] for cell in line[1:])
            json.dumps(made, allow_nan=False)


def test_mask_and_a_switched_off_head_are_named() -> None:
    settings = Settings("how are you")
    found = layer_tensors(settings, 0)
    nobody = torch.zeros_like(found.weights, dtype=torch.bool)
    empty = LayerTensors(found.tokens, found.q, found.k, found.scores, torch.zeros_like(found.weights), nobody)
    made = real_cell.cell_blocks(empty, settings, Cursor(0, 0, 1, 2))
    assert "may attend to no key" in texts(made)
    assert read_number(steps(made)["weight"]) == 0
    json.dumps([made, real_cell.entropy_blocks(empty, settings, Cursor(0, 0, 1))], allow_nan=False)
    settings = Settings(TIRED, "causal", heads_off=((3, 1),))
    made = real_cell.cell_blocks(layer_tensors(settings, 3), settings, Cursor(3, 1, 2, 9))
    assert "The mask blocks “animal” from “because”" in texts(made)
    assert "This head is ablated" in texts(made)
    assert read_number(steps(made)["exp"]) == 0


def test_entropy_of_the_rows_with_and_without_the_division(precise: Model) -> None:
    settings, run = Settings(TIRED, "causal"), precise.run(TIRED, mask="causal")
    made = real_cell.entropy_blocks(layer_tensors(settings, 3), settings, Cursor(3, 1, 10))
    for (name, divided, raw), bits in zip(tables(made)[0]["rows"], entropy(run.weights[3]).mean(-1), strict=True):
        assert_shows(divided, float(bits))
        assert read_number(raw) < read_number(divided), name


def test_last_line_of_an_embedding_is_the_models_first_hidden_state(precise: Model) -> None:
    for position in ("trained", "none", "sinusoidal"):
        settings, run = Settings(CAN, position=position), precise.run(CAN, position=position)
        made = embeddings.embedding_blocks(layer_tensors(settings, 0), settings, Cursor(0, 0, 3))
        own, all_tokens = tables(made)
        lines = {line[0]: line[1:-1] for line in own["rows"]}
        hidden = run.hidden[0, 3]
        for name in ("x", "+ shift"):
            for text, value in zip(lines[name], [*hidden[: embeddings.MAX_CHANNELS], hidden.norm()], strict=True):
                assert_shows(text, float(value))
        words = precise.stack.get_parameter("words.weight")[run.ids[3]]
        segment = precise.stack.get_parameter("segment")
        for at in range(embeddings.MAX_CHANNELS):
            assert_shows(lines["token embedding"][at], float(words[at]))
            assert_shows(lines["+ segment embedding"][at], float(segment[at]))
        assert (set(lines["+ position embedding"]) == {"0.0000", "0.000"}) is (position == "none")
        assert [line[1] for line in all_tokens["rows"]] == [str(one) for one in run.ids]
        for line, length in zip(all_tokens["rows"], run.hidden[0].norm(dim=-1), strict=True):
            assert_shows(line[-1], float(length))
