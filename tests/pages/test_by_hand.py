"""By hand without a browser: links, every control at its ends, a real cell and an embedding against the model."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from mha_core import Model
from mha_core.measure.by_hand import entropy
from pages.by_hand import embeddings, real_cell
from pages.kit.draw.sheet import Block
from pages.kit.picture.place import At
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.recorded import Recorded, recorded
from pages.kit.picture.settings import Settings
from tests.closeness import quoted, same_function

from .conftest import app_at, blocks, component, every, told_to
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


def fold_label(app: AppTest) -> str:
    (fold,) = [fold for fold in app.expander if fold.label.startswith("Change the model")]
    assert not fold.proto.expanded
    return str(fold.label)


def headings(app: AppTest) -> list[str]:
    return [block["heading"] for block in every(sheet_of(app)) if block["kind"] == "panel"]


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


def test_a_link_brings_edited_matrices_and_the_source_of_the_values() -> None:
    app = open_page(m="s_0.5_0.9_0.4_0.1_0.8_0.3_0.4_0.3_0.1__a_1_0_0_1_1_0_1_1_1", sqrt="true")
    assert matrix(app, "scores")["cells"][0] == ["0.5", "0.9", "0.4"]
    assert matrix(app, "masked")["cells"][0][1:] == ["−∞", "−∞"]
    assert (matrix(app, "scaled")["cells"][0][1], notices(app)) == (f"{0.9 / math.sqrt(2):.4f}", [])
    two = {"ex": "two sentences", "qw": "how they", "kw": "you", "m": "e_9_1.2_4.1_4.2_3.1_3.2"}
    assert matrix(open_page(**two), "q")["cells"] == [["9.0000", "1.2000"], ["4.1000", "4.2000"]]
    cases: tuple[tuple[dict[str, str], str], ...] = (
        ({}, "x itself"),
        ({"src": "from Q Kᵀ"}, "x Wv"),
        (two, "x of the"),
    )
    for values, source in cases:
        found = [one for one in every(sheet_of(open_page(**values))) if one.get("name") == "v" and "cells" in one]
        assert found[-1]["formula"].startswith(source), values


def test_a_link_with_garbage_says_so_and_shows_the_default() -> None:
    for link in (
        {"m": "x_1_2_3_4_5_inf", "ex": "nothing", "src": "nowhere", "sqrt": "2"},
        *({"m": text} for text in ("x_1_2", "a2_1_1_1_1_1_1_1_1_1", "1" * 3000)),
    ):
        app = open_page(**link)
        warnings = notices(app)
        assert {one.split("=")[0] for one in warnings} == {f"The link says {key}" for key in link}
        assert len(warnings) == len(link)
        assert max(map(len, warnings)) < 140
        assert matrix(app, "out")["cells"][0] == ["2.0630", "2.1630"]
    assert notices(app.run()) == warnings


@pytest.mark.thorough("several runs of the whole page, which a browser opens in every run")
def test_a_link_to_a_missing_cell_says_so() -> None:
    for at, heading in (("9.9", "it → animal"), ("3.1.2.999", "animal → [CLS]"), ("3.1.2.3.4", "it → animal")):
        app = open_page(ex="a real cell", at=at)
        (notice,) = notices(app)
        assert notice.startswith(f"The link says at={at}")
        assert f"Layer 3 head 1: {heading}" in headings(app), at


def test_other_words_keep_edited_cells_and_a_long_sentence_keeps_the_last_numbers() -> None:
    app = open_page(ex="two sentences", qw="how are", kw="you", m="e_1.1_1.2_7_2.2_3.1_3.2")
    app.text_input(key="qw").set_value("they are how").run()
    assert matrix(app, "q")["cells"] == [["4.1000", "4.2000"], ["7.0000", "2.2000"], ["1.1000", "1.2000"]]
    assert app.text_input(key="m").value == "e_4.1_4.2_7_2.2_1.1_1.2_3.1_3.2"
    app = open_page(ex="a real cell", s="it is short")
    before = headings(app)
    for text in ("x" * 12_001, "a b " * 300):
        app.text_input(key="s").set_value(text).run()
        assert headings(app) == before
        assert any("still" in notice for notice in notices(app))


@pytest.mark.thorough("several runs of the whole page, which a browser opens in every run")
def test_words_are_bounded_in_number_and_length() -> None:
    usual = sheet_of(open_page(ex="two sentences"))
    app = open_page(ex="two sentences", qw="how are you " * 1500)
    omitted, notice = notices(app)
    assert omitted.startswith("The full link would be longer")
    assert notice == "The queries have 18,000 characters, at most 12,000 are used here: the words as given are shown."
    assert sheet_of(app)[1:] == usual[1:]
    app = open_page(ex="two sentences", qw="how are you " * 100, kw="a")
    assert notices(app) == ["The queries have 300 words, at most 8 are used here: the first ones."]
    assert (len(matrix(app, "weights")["cells"]), notices(open_page(ex="two sentences", qw="x" * 1999))) == (8, [])
    assert "at least one word" in notices(open_page(ex="two sentences", qw="", kw="a"))[0]


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
    (text,) = [block["text"] for block in every(sheet_of(app)) if "√d" in block.get("text", "")]
    assert text.endswith(f"Largest weight: {divided:.2f} divided, {plain:.2f} not.")
    divides = open_page(sqrt="true")
    assert text in [block.get("text") for block in every(sheet_of(divides))]
    assert matrix(divides, "scaled")["cells"][0][0] == f"{0.5 / math.sqrt(2):.4f}"


@pytest.mark.thorough("several runs of the whole page, which a browser opens in every run")
def test_a_closed_fold_says_what_is_changed() -> None:
    app = open_page(ex="a real cell", mask="causal", off="L3 H1", t="0.5")
    assert fold_label(app) == "Change the model (mask causal, temperature 0.5, 1 head off)"
    del app.query_params["t"]  # as the browser does when the control is at its default
    assert fold_label(app.slider(key="t").set_value(1.0).run()) == "Change the model (mask causal, 1 head off)"
    for values in ({}, {"pos": "nothing"}):
        assert fold_label(open_page(ex="a real cell", **values)) == "Change the model (nothing changed)"


def test_a_real_cell_begins_with_its_answer(model: Model) -> None:
    app = open_page(ex="a real cell")
    assert "Layer 3 head 1: it → animal" in headings(app)
    _, answer, choose, *_ = sheet_of(app)
    found = steps(sheet_of(app, "details"))
    assert_shows(found["in the map"][:6], float(model.run(TIRED).weights[3, 1, 10, 2]))
    quoted(read_number(found["weight"]), "0.64")
    assert answer["text"] == f"“it” looks at “animal” with {read_number(found['weight']):.2f}"
    large, which = choose["blocks"]
    assert which["heading"] == "Which weight"
    shown = [number for number, _ in large["blocks"][0]["steps"]]
    assert shown == [f"{read_number(found[name]):.2f}" for name in ("q · k", "÷ √32", "weight")]
    (_, _, choose) = sheet_of(open_page(ex="a real cell", mask="causal", at="3.1.2.10"))
    chain = choose["blocks"][0]["blocks"][0]["steps"]
    assert [how for _, how in chain][2:] == ["hidden by the mask", "softmax over 15 keys"]


def test_a_cell_by_hand_is_the_models(precise: Model) -> None:
    for mask, temperature, position in (
        ("none", 1.0, "trained"), ("causal", 0.1, "none"), ("window:1", 5.0, "sinusoidal"),
        ("window:3", 0.1, "trained"),
    ):  # fmt: skip
        settings = Settings(TIRED, mask, position, temperature)
        run = precise.run(TIRED, mask=mask, position=position, temperature=temperature)
        for layer, head, row, key in ((3, 1, 10, 2), (5, 11, 0, 14)):
            same_function(recorded(settings, layer).weights, run.weights[layer])
            made = real_cell.cell_blocks(recorded(settings, layer), settings, At(layer, head, row, key))
            found = steps(made)
            for name in ("weight", "in the map"):
                assert_shows(found[name], float(run.weights[layer, head, row, key]))
            assert_shows(found["÷ √32"], read_number(found["q · k"]) / math.sqrt(32))
            quoted(read_number(found["difference"]), "0.000000000")
            assert found["position bias"] == "0"
            assert not any("—" in cell for table in tables(made) for line in table["rows"] for cell in line[1:])
            json.dumps(made, allow_nan=False)


def test_without_a_key_the_largest_is_taken(model: Model) -> None:
    settings, run = Settings(TIRED), model.run(TIRED)
    found, largest = recorded(settings, 2), int(run.weights[2, 5, 7].argmax())
    own, named = (real_cell.cell_blocks(found, settings, at) for at in (At(2, 5, 7), At(2, 5, 7, largest)))
    assert own == named


def test_a_position_bias_appears_in_the_scores(precise: Model) -> None:
    settings = Settings(TIRED, temperature=2.0)
    found = recorded(settings, 3)
    assert found.bias(1, 2.0) is None
    scores = found.scores - torch.arange(15).sub(torch.arange(15)[:, None]).abs() / 16
    biased = Recorded(found.tokens, found.q, found.k, scores, scores.softmax(-1), None)
    shown = steps(real_cell.cell_blocks(biased, settings, At(3, 1, 10, 2)))
    assert_shows(shown["position bias"], -1)
    assert_shows(shown["weight"], float(biased.weights[1, 10, 2]))
    assert shown["in the map"] == shown["weight"]


def test_the_mask_and_a_switched_off_head_are_named() -> None:
    settings = Settings("how are you")
    found = recorded(settings, 0)
    nobody = torch.zeros_like(found.weights, dtype=torch.bool)
    empty = Recorded(found.tokens, found.q, found.k, found.scores, torch.zeros_like(found.weights), nobody)
    made = real_cell.cell_blocks(empty, settings, At(0, 0, 1, 2))
    assert "may look at nobody" in texts(made)
    assert read_number(steps(made)["weight"]) == 0
    json.dumps([made, real_cell.entropy_blocks(empty, settings, At(0, 0, 1))], allow_nan=False)
    settings = Settings(TIRED, "causal", heads_off=((3, 1),))
    made = real_cell.cell_blocks(recorded(settings, 3), settings, At(3, 1, 2, 9))
    assert "The mask does not let “animal” look at “because”" in texts(made)
    assert "This head is switched off" in texts(made)
    assert read_number(steps(made)["exp"]) == 0


def test_a_long_row_lists_the_largest() -> None:
    settings = Settings("so it goes on and on " * 20)
    found = recorded(settings, 1)
    made = real_cell.cell_blocks(found, settings, At(1, 0, 3, 100))
    (table,) = [table for table in tables(made) if table["head"][0] == "key"]
    listed = [int(line[0].split()[0]) for line in table["rows"]]
    assert listed == sorted(set(listed))
    assert 100 in listed
    assert len(listed) == real_cell.MOST_LISTED
    largest = found.weights[0, 3].sort(descending=True).indices[: real_cell.MOST_LISTED - 1].tolist()
    assert set(largest) <= set(listed)
    assert f"of {len(found.tokens)} keys" in table["caption"]


def test_buttons_lead_to_every_place_of_a_long_sentence_and_a_map_to_those_of_a_short_one() -> None:
    long, short = recorded(Settings("how are you " * 8), 0), recorded(Settings("how are you"), 0)
    chooser = every([real_cell.chooser(long, At(0, 2, 1), 6, 12)])
    groups = {block["name"]: block["buttons"] for block in chooser if block["kind"] == "buttons"}
    assert {name: len(group) for name, group in groups.items()} == {"Layer": 6, "Head": 12, "Query": 26, "Key": 27}
    pressed = {name: [one["text"] for one in group if one["pressed"]] for name, group in groups.items()}
    assert pressed == {"Layer": ["0"], "Head": ["2"], "Query": ["1 how"], "Key": ["the largest"]}
    assert groups["Layer"][4]["event"] == {"part": "layer", "value": 4}
    assert groups["Key"][0]["event"] == {"part": "key", "value": None}
    (grid,) = [one for one in every([real_cell.chooser(short, At(0, 2, 1), 6, 12)]) if one["kind"] == "choice"]
    assert grid["marks"] == [[1, int(short.weights[2, 1].argmax())]]
    start = At(0, 2, 1)
    events: list[Any] = [(row, key, start) for row, key in ((None, 1), (-1, 0), (0, 10**6), ("1", "2"))]
    for row, key, to in [*events, (3, 4, At(0, 2, 3, 4))]:
        assert real_cell.moved(start, {"edit": grid["edit"], "row": row, "col": key}, 6, 12) == to, (row, key)


def test_an_event_moves_one_part_of_the_place_or_none() -> None:
    for part, value, at in (
        ("layer", 5, "5.1.2.3"), ("head", 0, "0.0.2.3"), ("query", 7, "0.1.7.3"), ("key", 8, "0.1.2.8"),
        ("key", None, "0.1.2"),
        *((*event, "0.1.2.3") for event in (("layer", 6), ("layer", None), ("head", 12), ("head", -1), ("query", "1"))),
        (["key"], 1, "0.1.2.3"), (None, None, "0.1.2.3"),
    ):  # fmt: skip
        assert str(real_cell.moved(At(0, 1, 2, 3), {"part": part, "value": value}, 6, 12)) == at, (part, value)


def test_entropy_of_the_rows_with_and_without_the_division(precise: Model) -> None:
    settings, run = Settings(TIRED, "causal"), precise.run(TIRED, mask="causal")
    made = real_cell.entropy_blocks(recorded(settings, 3), settings, At(3, 1, 10))
    for (name, divided, raw), bits in zip(tables(made)[0]["rows"], entropy(run.weights[3]).mean(-1), strict=True):
        assert_shows(divided, float(bits))
        assert read_number(raw) < read_number(divided), name
    (curves,) = [block for block in every(made) if block["kind"] == "curves"]
    assert ([line["name"] for line in curves["series"]], curves["most"]) == (["with ÷ √d", "without"], 4)
    assert all(0 <= value <= 4 for line in curves["series"] for value in line["values"])


def test_the_last_line_of_an_embedding_is_the_models_first_hidden_state(precise: Model) -> None:
    for position in ("trained", "none", "sinusoidal"):
        settings, run = Settings(CAN, position=position), precise.run(CAN, position=position)
        made = embeddings.embedding_blocks(recorded(settings, 0), settings, At(0, 0, 3))
        own, all_tokens = tables(made)
        lines = {line[0]: line[1:-1] for line in own["rows"]}
        hidden = run.hidden[0, 3]
        for name in ("x", "+ shift"):
            for text, value in zip(lines[name], [*hidden[: embeddings.SHOWN], hidden.norm()], strict=True):
                assert_shows(text, float(value))
        words = precise.encoder.get_parameter("words.weight")[run.ids[3]]
        segment = precise.encoder.get_parameter("segment")
        for at in range(embeddings.SHOWN):
            assert_shows(lines["row of the word"][at], float(words[at]))
            assert_shows(lines["+ segment"][at], float(segment[at]))
        for at, text in enumerate(lines["= sum"][:-1]):
            parts = (lines[name][at] for name in ("row of the word", "+ segment", "+ position"))
            quoted(sum(map(read_number, parts)), text[:-1].replace("−", "-"))
        assert (set(lines["+ position"]) == {"0.0000", "0.000"}) is (position == "none")
        assert [line[1] for line in all_tokens["rows"]] == [str(one) for one in run.ids]
        for line, length in zip(all_tokens["rows"], run.hidden[0].norm(dim=-1), strict=True):
            assert_shows(line[-1], float(length))


def test_an_embedding_names_its_row_and_its_twin(model: Model) -> None:
    app = open_page(ex="embedding", s=CAN, at="0.0.3")
    token = model.run(CAN).ids[3]
    (title,) = [block["text"] for block in blocks(app, "hand") if block["kind"] == "title"]
    assert title == f"“can” is id {token:,}: row {token:,} of a table of 30,522 rows"
    twin = "“can” stands at place 1 too: the same row of the table, and its x "
    assert f"{twin}differs by up to" in texts(sheet_of(app))
    (chooser,) = [block for block in blocks(app, "hand") if block.get("name") == "Token"]
    assert [one["text"] for one in chooser["buttons"] if one["pressed"]] == ["3 can"]
    assert f"{twin}is the same" in texts(sheet_of(open_page(ex="embedding", s=CAN, at="0.0.3", pos="none")))


def test_a_small_model_has_neither_segment_nor_norm() -> None:
    settings = Settings("the cat saw the dog", model="who-rotary-1")
    own, _ = tables(embeddings.embedding_blocks(recorded(settings, 0), settings, At(0, 0, 1)))
    assert [line[0] for line in own["rows"]] == ["row of the word", "+ position", "= sum", "x"]
