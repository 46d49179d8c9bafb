"""Numbers to take away: exact, and no cell that a spreadsheet runs."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from mha_core import Model
from pages.kit.draw.tables import csv_of_tables, map_of, npz_of, quoted


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
