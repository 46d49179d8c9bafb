"""Sheets as data: the shape of every block."""

from __future__ import annotations

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from pages.kit.draw import sheet

INF = math.inf


def test_a_matrix() -> None:
    block = sheet.matrix(
        "scores", [[0.5, -INF], [1, 2]], rows=["how", "are"], cols=["x", "y"], formula="q kᵀ", sums=[0.5, 3]
    )
    assert block["kind"] == "matrix"
    assert block["cells"] == [["0.5000", "−∞"], ["1.0000", "2.0000"]]
    assert block["axes"] == [["i", "2 queries"], ["j", "2 keys"]]
    assert block["sums"] == ["0.5000", "3.0000"]
    assert block["levels"] is None


def test_whole_matrices_and_single_rows() -> None:
    block = sheet.matrix("x", [[1, 10]], rows=["how"], cols=["0", "1"], axes="i c")
    assert block["cells"] == [["1", "10"]]
    assert block["axes"] == [["i", "1 query"], ["c", "2 channels"]]


def test_a_field_keeps_what_was_typed_wrongly() -> None:
    wrong = {(1, 0): ("abc", "not a number")}
    block = sheet.matrix("x", [[0.1, 2], [3, 1e-7]], rows="ab", cols="cd", edit="x", invalid=wrong)
    assert block["kind"] == "number"
    assert block["cells"] == [["0.1", "2"], ["abc", "1e-07"]]
    assert block["invalid"] == [[1, 0, "not a number"]]
    assert sheet.matrix("a", [[1]], rows="a", cols="b", edit="a", how="switch")["kind"] == "switch"


def test_levels_of_colour() -> None:
    weights = sheet.matrix("w", [[0, 0.5, 1.0000001]], rows="a", cols="bcd", colour="weights")
    assert weights["levels"] == [[0, 128, 255]]
    signed = sheet.matrix("s", [[-2, 1, -INF]], rows="a", cols="bcd", colour="signed")
    assert signed["levels"] == [[-100, 50, 0]]
    assert sheet.matrix("s", [[0.0]], rows="a", cols="b", colour="signed")["levels"] == [[0]]


def test_bars_scale_to_the_largest() -> None:
    block = sheet.bars("q · k", ["0", "1"], [-2.0, 1.0])
    assert (block["sizes"], block["values"]) == ([-1, 0.5], ["−2.0000", "1.0000"])
    assert sheet.bars("bits", ["0"], [1.0], most=4.0)["sizes"] == [0.25]
    assert sheet.bars("none", ["0"], [0.0])["sizes"] == [0]
    assert sheet.bars("nothing", [], [])["sizes"] == []


def test_number_columns_stand_to_the_right() -> None:
    block = sheet.table(
        ["key", "score", "weight"], [["how", "−∞", "0.5000"], ["1", "1.2e−5", "—"]], marks={(1, -1): "here"}
    )
    assert block["right"] == [False, True, True]
    assert block["marks"] == [[1, -1, "here"]]
    assert sheet.table(["a"], [])["right"] == [False]


def test_signs_stand_between_blocks() -> None:
    one, two, three = (sheet.text(text) for text in "abc")
    kinds = [block["text"] for block in sheet.row([one, two, three], ["·", "=", "unused"])["blocks"]]
    assert kinds == ["a", "·", "b", "=", "c"]
    assert [block["kind"] for block in sheet.row([one, two])["blocks"]] == ["text", "text"]


def test_in_a_chain_a_sign_goes_with_the_matrix_behind_it() -> None:
    one, two = (sheet.matrix(name, [[1.5]], rows="a", cols="b") for name in "ab")
    made = sheet.chain([one, two], ["→"])
    first, pair = made["blocks"]
    assert made["chain"]
    assert first == one | {"compact": True}
    assert [block.get("text", block.get("name")) for block in pair["blocks"]] == ["→", "b"]


def test_curves_bring_their_table() -> None:
    block = sheet.curves("bits", "d", ["1", "2"], [("with", [4.0, 2.0])], most=4.0)
    assert block["table"]["head"] == ["d", "1", "2"]
    assert block["table"]["rows"] == [["with", "4.00", "2.00"]]


@given(st.lists(st.floats(), min_size=1, max_size=4))
def test_every_block_is_json_whatever_the_numbers(values: list[float]) -> None:
    names = [str(at) for at in range(len(values))]
    blocks = [
        sheet.matrix("m", [values], rows=["a"], cols=names, colour=colour, sums=values[:1])
        for colour in (None, "weights", "signed")
        if not (colour and any(map(math.isnan, values)))
    ]
    if not any(map(math.isnan, values)):
        blocks.append(sheet.bars("b", names, values))
    json.dumps(blocks, allow_nan=False)
