"""Sheets as data, the shape of every block; and numbers to take away: exact, and no cell that a spreadsheet runs."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mha_core import Model
from pages.kit.draw import sheet
from pages.kit.draw.tables import Table, csv_of_tables, map_of, npz_of, npz_of_tables, of_blocks, quoted

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


# ---- to take away


def test_formulas_are_quoted_and_other_text_is_left_alone() -> None:
    formulas, others = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"], ["it", "[CLS]", "##s", "", "1=1", "'", "é"]
    assert [quoted(text) for text in formulas] == [f"'{text}" for text in formulas]
    assert [quoted(text) for text in others] == others


@pytest.mark.parametrize("text", ["=1+1 - @ +x", 'a "quoted", word; 😀 שלום', ""])
def test_csv_has_every_weight_in_full(model: Model, text: str) -> None:
    run = model.run(text)
    head, *rows = csv.reader(
        io.StringIO(csv_of_tables([map_of("layer 2 head 7: query / key", run, 2, 7)]).decode("utf-8-sig"))
    )
    assert head[0] == "layer 2 head 7: query / key"
    assert [cell.removeprefix("'") for cell in head[1:]] == [token.removeprefix("'") for token in run.tokens]
    assert head[1:] == [row[0] for row in rows]
    assert not [cell for cell in head[1:] if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert np.array_equal(np.array([row[1:] for row in rows], np.float32), run.weights[2, 7].cpu().numpy())
    assert not [cell for row in rows for cell in row[1:] if cell.startswith("'")]


LABELS = ['"', ",", "a\nb", "😀", "=cmd", "-1", "@x", "[CLS]", "é"]
VALUES = np.array([0.1, -0.0, 1e-30, 3.4028235e38, np.inf, -np.inf, np.nan, 1 / 3, 123456.789], np.float32)


def test_any_label_and_any_number_survive() -> None:
    table = Table("=a map", LABELS, ["=1+1"], torch.from_numpy(VALUES[:, None]))
    head, *rows = csv.reader(io.StringIO(csv_of_tables([table]).decode("utf-8-sig"), newline=""))
    assert head == ["'=a map", "'=1+1"]
    assert [row[0] for row in rows] == [f"'{text}" if text[0] in "=+-@" else text for text in LABELS]
    assert rows[0][1] == "0.1", "in the fewest digits that mean it"
    assert np.array_equal(np.array([row[1] for row in rows], np.float32), VALUES, equal_nan=True)
    with np.load(io.BytesIO(npz_of_tables([table, table])), allow_pickle=False) as arrays:
        for name in ("=a map", "=a map 1"):  # of two that are called alike neither is lost
            assert np.array_equal(arrays[name][:, 0], VALUES, equal_nan=True)
            assert arrays[f"{name}_rows"].tolist() == LABELS


def test_every_matrix_of_a_sheet_is_a_table() -> None:
    def matrix(name: str) -> sheet.Block:
        return sheet.matrix(name, [[0.25, 1e300]], rows=["how"], cols=["a", "b"], axes="")

    inside = sheet.chain([matrix("q"), matrix("k")], ["·"])
    found = of_blocks([sheet.text("no"), sheet.panel("Scores", [inside]), matrix("out")])
    assert [table.name for table in found] == ["Scores, q", "Scores, k", "out"]
    assert all(table.values.tolist() == [[0.25, float("inf")]] for table in found), "as float32"


def test_npz_is_read_without_pickle(model: Model) -> None:
    run = model.run("=1 it 😀")
    with np.load(io.BytesIO(npz_of(run)), allow_pickle=False) as arrays:
        assert set(arrays) == {"tokens", "ids", "weights", "hidden", "sentence"}
        assert arrays["tokens"].tolist() == run.tokens
        assert arrays["ids"].tolist() == run.ids
        for name in ("weights", "hidden", "sentence"):
            wanted = getattr(run, name).cpu().numpy()
            assert arrays[name].dtype == wanted.dtype == np.float32
            assert np.array_equal(arrays[name], wanted)
