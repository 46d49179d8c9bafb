"""Numbers to take away: exact, and no cell that a spreadsheet runs."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
import torch

from mha_core import Model
from pages.kit.draw import sheet
from pages.kit.draw.tables import Table, csv_of_tables, map_of, npz_of, npz_of_tables, of_blocks, quoted


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
