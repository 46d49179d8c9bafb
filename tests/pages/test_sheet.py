"""What pages draw, as data: the blocks of sheets, charts, formulas; and numbers to take away, exact and safe."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from typing import Any

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from headlight.ui import equations, sheet
from headlight.ui.tables import Table, map_table, quoted, run_to_npz, tables_from_blocks, to_csv, to_npz
from headlight.ui.web import FOLDER
from mha_core import Model

INF = math.inf


def test_matrix_has_its_numbers_axes_sums_and_invalid_cells() -> None:
    block = sheet.matrix(
        "scores", [[0.5, -INF], [1, 2]], rows=["how", "are"], cols=["x", "y"], formula="q kᵀ", sums=[0.5, 3]
    )
    assert (block["kind"], block["sums"]) == ("matrix", ["0.5000", "3.0000"])
    assert block["cells"] == [["0.5000", "−∞"], ["1.0000", "2.0000"]]
    assert block["axes"] == [["i", "2 queries"], ["j", "2 keys"]]
    invalid = {(1, 0): ("abc", "not a number")}
    block = sheet.matrix("x", [[0.1, 2], [3, 1e-7]], rows="ab", cols="cd", edit="x", invalid=invalid)
    assert (block["kind"], block["cells"]) == ("number", [["0.1", "2"], ["abc", "1e-07"]])
    assert block["invalid"] == [[1, 0, "not a number"]]
    weights = sheet.matrix("w", [[0, 0.5, 1.0000001]], rows="a", cols="bcd", colour="weights")
    assert weights["levels"] == [[0, 128, 255]]
    signed = sheet.matrix("s", [[-2, 1, -INF]], rows="a", cols="bcd", colour="signed")
    assert signed["levels"] == [[-100, 50, 0]]


@given(st.lists(st.floats(), min_size=1, max_size=4))
def test_every_block_is_json_whatever_the_numbers(values: list[float]) -> None:
    names, nan = [str(at) for at in range(len(values))], any(map(math.isnan, values))
    colours = (None,) if nan else (None, "weights", "signed")
    blocks = [
        sheet.matrix("m", [values], rows=["a"], cols=names, colour=colour, sums=values[:1])  # type: ignore[arg-type]
        for colour in colours
    ]
    json.dumps([*blocks, *([] if nan else [sheet.bars("b", names, values)])], allow_nan=False)


def test_csv_has_every_weight_in_full_and_no_formula(model: Model) -> None:
    formulas, others = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"], ["it", "[CLS]", "##s", "", "1=1", "'", "é"]
    assert [quoted(text) for text in [*formulas, *others]] == [*(f"'{text}" for text in formulas), *others]
    for text in ("=1+1 - @ +x", 'a "quoted", word; 😀 שלום', ""):
        run, name = model.run(text), "layer 2 head 7: query / key"
        head, *rows = csv.reader(io.StringIO(to_csv([map_table(name, run, 2, 7)]).decode("utf-8-sig")))
        assert head[0] == name
        assert [cell.removeprefix("'") for cell in head[1:]] == [token.removeprefix("'") for token in run.tokens]
        assert head[1:] == [row[0] for row in rows]
        assert np.array_equal(np.array([row[1:] for row in rows], np.float32), run.weights[2, 7].cpu().numpy())
        assert not [cell for row in rows for cell in row[1:] if cell.startswith("'")]


LABELS = ['"', ",", "a\nb", "😀", "=cmd", "-1", "@x", "[CLS]", "é"]
VALUES = np.array([0.1, -0.0, 1e-30, 3.4028235e38, np.inf, -np.inf, np.nan, 1 / 3, 123456.789], np.float32)


def test_any_label_and_any_number_survive() -> None:
    table = Table("=a map", LABELS, ["=1+1"], torch.from_numpy(VALUES[:, None]))
    head, *rows = csv.reader(io.StringIO(to_csv([table]).decode("utf-8-sig"), newline=""))
    assert head == ["'=a map", "'=1+1"]
    assert [row[0] for row in rows] == [f"'{text}" if text[0] in "=+-@" else text for text in LABELS]
    assert rows[0][1] == "0.1", "in the fewest digits that mean it"
    assert np.array_equal(np.array([row[1] for row in rows], np.float32), VALUES, equal_nan=True)
    with np.load(io.BytesIO(to_npz([table, table])), allow_pickle=False) as arrays:
        for name in ("=a map", "=a map 1"):  # of two that are called alike neither is lost
            assert np.array_equal(arrays[name][:, 0], VALUES, equal_nan=True)
            assert arrays[f"{name}_rows"].tolist() == LABELS


def test_every_matrix_of_a_sheet_is_a_table_and_a_run_is_read_without_pickle(model: Model) -> None:
    q, k, out = (
        sheet.matrix(name, [[0.25, 1e300]], rows=["how"], cols=["a", "b"], axes="") for name in ("q", "k", "o")
    )
    found = tables_from_blocks([sheet.text("no"), sheet.panel("Scores", [sheet.chain([q, k], ["·"])]), out])
    assert [table.name for table in found] == ["Scores, q", "Scores, k", "o"]
    assert all(table.values.tolist() == [[0.25, INF]] for table in found), "as float32"
    run = model.run("=1 it 😀")
    with np.load(io.BytesIO(run_to_npz(run)), allow_pickle=False) as arrays:
        assert set(arrays) == {"tokens", "ids", "weights", "hidden", "sentence"}
        assert (arrays["tokens"].tolist(), arrays["ids"].tolist()) == (run.tokens, run.ids)
        for name in ("weights", "hidden", "sentence"):
            wanted = getattr(run, name).cpu().numpy()
            assert arrays[name].dtype == wanted.dtype == np.float32
            assert np.array_equal(arrays[name], wanted)


# ---- formulas

# How many children an element of MathML takes; None = any number.
CHILDREN = {"mfrac": 2, "msup": 2, "msub": 2, "munder": 2, "msubsup": 3, "msqrt": 1, "mrow": None}


def nodes(node: Any) -> list[Any]:
    tag, axis, *children = node
    inner = [one for child in children if isinstance(child, list) for one in nodes(child)]
    return [(tag, axis, children), *inner]


def text_of(node: Any) -> str:
    return "".join(text_of(child) if isinstance(child, list) else child for child in node[2:])


def test_every_element_of_a_formula_is_one_that_the_browser_builds() -> None:
    source = (FOLDER / "sheets" / "equation.js").read_text("utf-8")
    assert "innerHTML" not in source
    assert equations.name("<b>") == ["mi", "", "<b>"]
    (listed,) = re.findall(r'new Set\("([a-z ]+)"', source)
    for block in (equations.attention(3, 5, 6, 4, (2,)), equations.multi_head(3, 1, 6)):
        for tag, axis, children in (node for line in block["lines"] for node in nodes(line)):
            assert tag in listed.split()
            assert axis in {*"bhijdcv", ""}
            wanted = CHILDREN.get(tag, 1)
            assert wanted is None or len(children) == wanted, (tag, children)
            assert tag not in ("mi", "mn", "mo", "mtext") or isinstance(children[0], str)
