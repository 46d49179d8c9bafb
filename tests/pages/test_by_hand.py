"""The By-hand page without a browser: links in, every control at its ends, and the real cell against the map."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from mha_core import Model
from mha_core.measure.by_hand import entropy
from pages.by_hand import real_cell
from pages.kit.draw.sheet import Block
from pages.kit.picture.place import At
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.recorded import Recorded, recorded
from pages.kit.picture.settings import Settings

from .conftest import app_at, component, every, told_to

TIRED = PRESETS[0]


def open_page(**values: str) -> AppTest:
    """The page with the values of a link."""
    return app_at("by_hand", **values).run()


def sheet_of(app: AppTest, key: str = "hand") -> list[Block]:
    """The blocks that a sheet was given."""
    found: list[Block] = told_to(component(app, "sheet", key))["blocks"]
    return found


def notices(app: AppTest) -> list[str]:
    return [line for block in every(sheet_of(app)) if block["kind"] == "notices" for line in block["sentences"]]


def matrix(app: AppTest, name: str) -> Block:
    return next(block for block in every(sheet_of(app)) if block.get("name") == name and "cells" in block)


def fold_of(app: AppTest) -> Any:
    """What holds the controls of the model."""
    (fold,) = [fold for fold in app.expander if fold.label.startswith("Change the model")]
    return fold


def headings(app: AppTest) -> list[str]:
    return [block["heading"] for block in every(sheet_of(app)) if block["kind"] == "panel"]


def steps(blocks: list[Block]) -> dict[str, float]:
    """The table from q · k to the weight: name -> value."""
    table = next(block for block in every(blocks) if block["kind"] == "table" and block["head"][0] == "step")
    return {
        name: float(value.replace("−", "-").replace("∞", "inf").replace("—", "nan")) for name, value, _ in table["rows"]
    }


# ---- the page


@pytest.mark.parametrize(
    "example", ["one head", "two sentences", "two heads", "stacked weights", "embedding", "a real cell", "entropy"]
)
def test_every_example(example: str) -> None:
    app = open_page(ex=example)
    assert notices(app) == []
    assert len(sheet_of(app)) > 2
    app.segmented_control(key="ex").set_value(None).run()
    assert sheet_of(app)


def test_a_link_brings_edited_matrices() -> None:
    app = open_page(m="s_0.5_0.9_0.4_0.1_0.8_0.3_0.4_0.3_0.1__a_1_0_0_1_1_0_1_1_1", sqrt="true")
    assert matrix(app, "scores")["cells"][0] == ["0.5", "0.9", "0.4"]
    assert matrix(app, "masked")["cells"][0][1:] == ["−∞", "−∞"]
    assert matrix(app, "scaled")["cells"][0][1] == f"{0.9 / math.sqrt(2):.4f}"
    assert notices(app) == []
    app = open_page(ex="two sentences", qw="how they", kw="you", m="e_9_1.2_4.1_4.2_3.1_3.2")
    assert matrix(app, "q")["cells"] == [["9.0000", "1.2000"], ["4.1000", "4.2000"]]


@pytest.mark.parametrize(
    "asked",
    [
        {"m": "x_1_2_3_4_5_inf", "ex": "nothing", "src": "nowhere", "sqrt": "2"},
        {"m": "x_1_2"},
        {"m": "a2_1_1_1_1_1_1_1_1_1"},
        {"m": "1" * 3000},
    ],
)
def test_garbage_in_a_link_is_told_and_ignored(asked: dict[str, str]) -> None:
    app = open_page(**asked)
    told = notices(app)
    assert {notice.split("=")[0] for notice in told} == {f"The link says {key}" for key in asked}
    assert len(told) == len(asked)
    assert max(map(len, told)) < 140
    assert matrix(app, "out")["cells"][0] == ["2.0630", "2.1630"]
    assert notices(app.run()) == told


@pytest.mark.parametrize("at", ["9.9", "3.1.2.999", "3.1.2.3.4"])
def test_a_cell_that_is_not_there_is_told(at: str) -> None:
    app = open_page(ex="a real cell", at=at)
    (notice,) = notices(app)
    assert notice.startswith(f"The link says at={at}")
    named = "animal → [CLS]" if at.endswith("999") else "it → animal"  # the row is there, the key is not
    assert f"Layer 3 head 1: {named}" in headings(app)


def test_other_words_keep_the_edited_ones() -> None:
    app = open_page(ex="two sentences", qw="how are", kw="you", m="e_1.1_1.2_7_2.2_3.1_3.2")
    app.text_input(key="qw").set_value("they are how").run()
    assert matrix(app, "q")["cells"] == [["4.1000", "4.2000"], ["7.0000", "2.2000"], ["1.1000", "1.2000"]]
    assert app.text_input(key="m").value == "e_4.1_4.2_7_2.2_1.1_1.2_3.1_3.2"


def test_too_long_a_sentence_keeps_the_last_numbers() -> None:
    app = open_page(ex="a real cell", s="it is short")
    before = headings(app)
    for text in ("x" * 12_001, "a b " * 300):
        app.text_input(key="s").set_value(text).run()
        assert headings(app) == before
        assert any("still" in said for said in notices(app))


def test_it_opens_on_one_head_and_the_division_is_chosen_at_the_scores() -> None:
    app = open_page()
    assert matrix(app, "out")["cells"] == [["2.0630", "2.1630"], ["2.1523", "2.2523"], ["2.0020", "2.1020"]]
    assert notices(app) == []
    (choice,) = [block for block in every(sheet_of(app)) if block.get("name") == "Softmax of"]
    assert [(one["text"], one["event"], one["pressed"]) for one in choice["buttons"]] == [
        ("scores", {"divide": False}, True),
        ("scores ÷ √2", {"divide": True}, False),
    ]
    scores = torch.tensor([[0.5, 0.1, 0.4], [0.1, 0.8, 0.3], [0.4, 0.3, 0.1]], dtype=torch.float64)
    plain, divided = (float((scores / by).softmax(-1).max()) for by in (1, math.sqrt(2)))
    (told,) = [block["text"] for block in every(sheet_of(app)) if "√d" in block.get("text", "")]
    assert told.endswith(f"Largest weight: {divided:.2f} divided, {plain:.2f} not.")
    divides = open_page(sqrt="true")
    assert told in [block.get("text") for block in every(sheet_of(divides))]
    assert matrix(divides, "scaled")["cells"][0][0] == f"{0.5 / math.sqrt(2):.4f}"


@pytest.mark.parametrize(
    ("values", "v_is"), [({}, "x itself"), ({"src": "from Q Kᵀ"}, "x Wv"), ({"ex": "two sentences"}, "x of the keys")]
)
def test_the_values_say_where_they_come_from(values: dict[str, str], v_is: str) -> None:
    found = [block for block in every(sheet_of(open_page(**values))) if block.get("name") == "v" and "cells" in block]
    assert found[-1]["formula"] == v_is


def test_what_is_changed_is_said_by_a_closed_fold() -> None:
    app = open_page(ex="a real cell", mask="causal", off="L3 H1", t="0.5")
    fold = fold_of(app)
    assert fold.label == "Change the model (mask causal, temperature 0.5, 1 head off)"
    assert not fold.proto.expanded
    del app.query_params["t"]  # as the browser does it when the control says its default
    app.slider(key="t").set_value(1.0).run()
    assert fold_of(app).label == "Change the model (mask causal, 1 head off)"
    assert fold_of(open_page(ex="a real cell")).label == "Change the model (nothing changed)"
    assert fold_of(open_page(ex="a real cell", pos="nothing")).label == "Change the model (nothing changed)"


def test_a_real_cell_begins_with_its_answer_as_the_design_says_it(model: Model) -> None:
    app = open_page(ex="a real cell")
    assert "Layer 3 head 1: it → animal" in headings(app)
    _, answer, choose, *_ = sheet_of(app)
    found = steps(sheet_of(app, "details"))
    own = float(model.run(TIRED).weights[3, 1, 10, 2])
    assert own == pytest.approx(0.64, abs=0.005)
    assert found["in the map"] == pytest.approx(own, abs=1e-9)
    assert answer["text"] == f"“it” looks at “animal” with {found['weight']:.2f}"
    large, which = choose["blocks"]
    assert which["heading"] == "Which weight"
    assert [number for number, _ in large["blocks"][0]["steps"]] == [
        f"{found['q · k']:.2f}",
        f"{found['÷ √32']:.2f}",
        f"{found['weight']:.2f}",
    ]
    (_, _, choose) = sheet_of(open_page(ex="a real cell", mask="causal", at="3.1.2.10"))
    assert [how for _, how in choose["blocks"][0]["blocks"][0]["steps"]][2:] == [
        "hidden by the mask",
        "softmax over 15 keys",
    ]


# ---- the real cell


@pytest.mark.parametrize(
    ("mask", "temperature", "position"),
    [
        ("none", 1.0, "trained"),
        ("causal", 0.1, "none"),
        ("window:1", 5.0, "sinusoidal"),
        ("window:3", 0.1, "trained"),
        ("causal", 5.0, "trained"),
    ],
)
def test_a_cell_by_hand_is_the_maps(model: Model, mask: str, temperature: float, position: str) -> None:
    settings = Settings(TIRED, mask, position, temperature)
    run = model.run(TIRED, mask=mask, position=position, temperature=temperature)
    for layer, head, row, key in ((3, 1, 10, 2), (0, 2, 4, 3), (5, 11, 0, 14)):
        blocks = real_cell.cell_blocks(recorded(settings, layer), settings, At(layer, head, row, key))
        found = steps(blocks)
        assert found["weight"] == pytest.approx(float(run.weights[layer, head, row, key]), abs=1e-6)
        assert found["in the map"] == pytest.approx(float(run.weights[layer, head, row, key]), abs=1e-9)
        assert found["difference"] < 1e-6
        assert found["position bias"] == 0
        assert not any("—" in cell for block in every(blocks) for line in block.get("rows", []) for cell in line[1:])
        json.dumps(blocks, allow_nan=False)


def test_without_a_key_the_largest_is_taken(model: Model) -> None:
    settings = Settings(TIRED)
    found = recorded(settings, 2)
    largest = int(model.run(TIRED).weights[2, 5, 7].argmax())
    assert real_cell.cell_blocks(found, settings, At(2, 5, 7)) == real_cell.cell_blocks(
        found, settings, At(2, 5, 7, largest)
    )


def test_a_bias_of_the_position_is_seen_in_the_scores(model: Model) -> None:
    settings = Settings(TIRED, temperature=2.0)
    found = recorded(settings, 3)
    slope = torch.arange(15).sub(torch.arange(15)[:, None]).abs().neg() / 8
    biased = Recorded(
        found.tokens, found.q, found.k, found.scores + slope / 2, (found.scores + slope / 2).softmax(-1), None
    )
    assert found.bias(1, 2.0) is None
    said = steps(real_cell.cell_blocks(biased, settings, At(3, 1, 10, 2)))
    assert said["position bias"] == pytest.approx(-1, abs=1e-4)
    assert said["difference"] < 1e-6


def test_a_row_without_allowed_keys_is_said() -> None:
    settings = Settings("how are you")
    found = recorded(settings, 0)
    nobody = torch.zeros_like(found.weights, dtype=torch.bool)
    empty = Recorded(found.tokens, found.q, found.k, found.scores, torch.zeros_like(found.weights), nobody)
    blocks = real_cell.cell_blocks(empty, settings, At(0, 0, 1, 2))
    assert any("may look at nobody" in block.get("text", "") for block in every(blocks))
    assert steps(blocks)["weight"] == 0
    json.dumps(blocks, allow_nan=False)
    json.dumps(real_cell.entropy_blocks(empty, settings, At(0, 0, 1)), allow_nan=False)


def test_a_forbidden_key_is_said() -> None:
    settings = Settings(TIRED, "causal", heads_off=((3, 1),))
    blocks = real_cell.cell_blocks(recorded(settings, 3), settings, At(3, 1, 2, 9))
    said = " ".join(block.get("text", "") for block in every(blocks))
    assert "The mask does not let “animal” look at “because”" in said
    assert "This head is switched off" in said
    assert steps(blocks)["exp"] == 0


def test_a_long_row_lists_the_largest(model: Model) -> None:
    settings = Settings("so it goes on and on " * 80)
    found = recorded(settings, 1)
    blocks = real_cell.cell_blocks(found, settings, At(1, 0, 3, 400))
    table = next(block for block in every(blocks) if block["kind"] == "table" and block["head"][0] == "key")
    assert len(table["rows"]) == real_cell.MOST_LISTED
    assert sum(line[0].startswith("400 ") for line in table["rows"]) == 1
    assert f"of {len(found.tokens)} keys" in table["caption"]


def test_words_are_bounded_in_number_and_length() -> None:
    usual = sheet_of(open_page(ex="two sentences"))
    app = open_page(ex="two sentences", qw="how are you " * 1500)
    omitted, notice = notices(app)
    assert omitted.startswith("The full link would be longer")
    assert notice == "The queries have 18,000 characters, at most 12,000 are used here: the words as given are shown."
    assert sheet_of(app)[1:] == usual[1:]
    app = open_page(ex="two sentences", qw="how are you " * 100, kw="a")
    assert notices(app) == ["The queries have 300 words, at most 8 are used here: the first ones."]
    assert len(matrix(app, "weights")["cells"]) == 8
    assert notices(open_page(ex="two sentences", qw="x" * 1999)) == []
    assert "at least one word" in notices(open_page(ex="two sentences", qw="", kw="a"))[0]


def test_the_buttons_say_where_one_is_and_lead_elsewhere() -> None:
    found = recorded(Settings("how are you " * 8), 0)
    groups = {
        block["name"]: block["buttons"]
        for block in every([real_cell.chooser(found, At(0, 2, 1), 6, 12)])
        if block["kind"] == "buttons"
    }
    assert {name: len(buttons) for name, buttons in groups.items()} == {"Layer": 6, "Head": 12, "Query": 26, "Key": 27}
    pressed = {name: [one["text"] for one in buttons if one["pressed"]] for name, buttons in groups.items()}
    assert pressed == {"Layer": ["0"], "Head": ["2"], "Query": ["1 how"], "Key": ["the largest"]}
    assert groups["Layer"][4]["event"] == {"part": "layer", "value": 4}
    assert groups["Key"][0]["event"] == {"part": "key", "value": None}


def test_of_a_short_sentence_query_and_key_are_chosen_in_the_map() -> None:
    found = recorded(Settings("how are you"), 0)
    (grid,) = [one for one in every([real_cell.chooser(found, At(0, 2, 1), 6, 12)]) if one["kind"] == "choice"]
    assert grid["marks"] == [[1, int(found.weights[2, 1].argmax())]]
    assert real_cell.moved(At(0, 2, 1), {"edit": grid["edit"], "row": 3, "col": 4, "text": ".1"}, 6, 12) == At(
        0, 2, 3, 4
    )
    for row, key in ((None, 1), (-1, 0), (0, 10**6), ("1", "2")):
        assert real_cell.moved(At(0, 2, 1), {"edit": grid["edit"], "row": row, "col": key}, 6, 12) == At(0, 2, 1)


@pytest.mark.parametrize(
    ("event", "at"),
    [
        ({"part": "layer", "value": 5}, "5.1.2.3"),
        ({"part": "head", "value": 0}, "0.0.2.3"),
        ({"part": "query", "value": 7}, "0.1.7.3"),
        ({"part": "key", "value": 8}, "0.1.2.8"),
        ({"part": "key", "value": None}, "0.1.2"),
    ],
)
def test_where_a_button_leads(event: dict[str, object], at: str) -> None:
    assert str(real_cell.moved(At(0, 1, 2, 3), event, 6, 12)) == at


def test_an_event_without_sense_leads_nowhere() -> None:
    for part, value in (("layer", 6), ("layer", None), ("head", -1), ("query", "1"), (["key"], 1), (None, None)):
        assert real_cell.moved(At(0, 1, 2, 3), {"part": part, "value": value}, 6, 12) == At(0, 1, 2, 3)


# ---- entropy


def test_entropy_of_the_rows_with_and_without_the_division(model: Model) -> None:
    settings = Settings(TIRED, "causal")
    run = model.run(TIRED, mask="causal")
    blocks = real_cell.entropy_blocks(recorded(settings, 3), settings, At(3, 1, 10))
    table = next(block for block in every(blocks) if block["kind"] == "table")
    expected = entropy(run.weights[3].double()).mean(-1)
    for (name, divided, raw), bits in zip(table["rows"], expected.tolist(), strict=True):
        assert float(divided) == pytest.approx(bits, abs=1e-3), name
        assert float(raw.replace("−", "-")) < float(divided)
    curves = next(block for block in every(blocks) if block["kind"] == "curves")
    assert [line["name"] for line in curves["series"]] == ["with ÷ √d", "without"]
    assert curves["most"] == 4
    assert all(0 <= value <= 4 for line in curves["series"] for value in line["values"])
