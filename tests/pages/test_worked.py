"""The worked examples of By hand: what is typed and linked, every number of the sheet, outputs among the values."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given as drawn
from hypothesis import strategies as st
from torch import nn

from headlight.link.limits import MAX_MATRICES_LENGTH
from headlight.ui.sheet import Block
from mha_core import IMPLEMENTATIONS
from mha_core.measure.by_hand import softmax_steps, weights_from_matrices
from pages.by_hand import codec, examples
from pages.by_hand.codec import Matrix
from pages.by_hand.workbook import SWITCHES, Workbook, apply_event, defaults, from_link
from pages.by_hand.workbook import to_link as link_of
from tests.closeness import SAME_FUNCTION, identical, same_function

from .conftest import every
from .numbers_shown import assert_shows, read_number

DEFAULTS = defaults()


def given(**changes: Any) -> Workbook:
    matrices = {name: changes.pop(name) for name in list(changes) if name in DEFAULTS}
    queries, keys = changes.get("queries", ("how", "are", "you")), changes.get("keys", ("how", "are", "you"))
    return Workbook({**defaults(queries, keys), **matrices}, **changes)


def matrix(blocks: list[Block], name: str, nth: int = 0) -> Block:
    return [block for block in every(blocks) if block.get("name") == name and "cells" in block][nth]


def numbers(block: Block) -> list[list[float]]:
    return [[read_number(cell) for cell in line] for line in block["cells"]]


def texts(blocks: list[Block]) -> str:
    return " ".join(block["text"] for block in every(blocks) if block["kind"] == "text")


def assert_cells(block: Block, expected: torch.Tensor) -> None:
    for line, values in zip(block["cells"], expected.tolist(), strict=True):
        for cell, value in zip(line, values, strict=True):
            assert_shows(cell, value)


def test_numbers_as_typed() -> None:
    typed = {"0.5": 0.5, " -3 ": -3, "−2.5": -2.5, ".5": 0.5, "5.": 5, "1e-3": 0.001, "+7": 7, "-0": 0, "1e6": 1e6}
    assert {text: codec.parse_number(text) for text in typed} == typed
    assert math.copysign(1, codec.parse_number("-0")) == 1
    for why, wrong in (
        ("empty", [" "]), ("not a number", ["0,5", "1_000", "nan", "٣", "0x10", "x" * 400]),
        ("infinite", ["inf", "∞", "1e999"]), ("too large", ["1000001"]),
    ):  # fmt: skip
        for text in wrong:
            with pytest.raises(ValueError, match=why) as raised:
                codec.parse_number(text)
            assert len(str(raised.value)) < 120


@drawn(st.data())
def test_matrices_go_through_the_link(data: st.DataObject) -> None:
    cells = st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: value + 0.0)
    edited: dict[str, Matrix] = {}
    for name in data.draw(st.lists(st.sampled_from(sorted(DEFAULTS)), unique=True, max_size=2)):
        own = st.sampled_from([0.0, 1.0]) if name in SWITCHES else cells
        lines = [data.draw(st.lists(own, min_size=len(line), max_size=len(line))) for line in DEFAULTS[name]]
        edited[name] = tuple(map(tuple, lines))
    text = codec.write(edited, DEFAULTS)
    assert not set(text) - set("abcdefghijklmnopqrstuvwxyz0123456789._-")
    found = codec.parse(text, DEFAULTS, SWITCHES)
    assert found == {name: value for name, value in edited.items() if value != DEFAULTS[name]}


def test_text_that_is_no_matrix_is_refused() -> None:
    for text in (
        "x", "x_", *(f"x_1_2_3_4_5{end}" for end in ("", "_6_7", "_abc", "_inf", "_nan", "_1e7", "_6__")),
        "x_1_2_3_4_5_6__x_1_2_3_4_5_6", "nothing_1", "__class____", "a_1_1_1_1_1_1_1_1_2", "a_1_1_1_1_1_1_1_1_0.5",
        "x:1,2;3,4", "\ud800", "x_" + "_".join("1" * 400 for _ in range(6)),
    ):  # fmt: skip
        assert codec.parse(text, DEFAULTS, SWITCHES) is None, text
    assert codec.parse("", DEFAULTS, SWITCHES) == {}


def test_edit_changes_one_cell_and_a_wrong_text_is_kept_beside_the_last_number() -> None:
    now = apply_event(given(), {"edit": "s", "row": 0, "col": 1, "text": "0.9"})
    assert (now.matrices["s"][0], link_of(now)) == ((0.5, 0.9, 0.4), "s_0.5_0.9_0.4_0.1_0.8_0.3_0.4_0.3_0.1")
    now = apply_event(given(), {"edit": "x", "row": 2, "col": 1, "text": "a lot"})
    assert now.matrices == DEFAULTS
    text, why = now.invalid["x"][2, 1]
    assert (text, "not a number" in why, "3.2 is still used" in why) == ("a lot", True, True)
    block = now.block("x", "x", ("0", "1", "2"), ("0", "1"), "i c")
    assert (block["cells"][2], block["invalid"]) == (["3.1", "a lot"], [[2, 1, why]])
    mended = apply_event(now, {"edit": "x", "row": 2, "col": 1, "text": "4"})
    assert not mended.invalid["x"]
    assert mended.matrices["x"] == ((1.1, 1.2), (2.1, 2.2), (3.1, 4))
    assert apply_event(mended, {"reset": ["x", "s"]}).matrices == DEFAULTS


def test_event_without_sense_does_nothing() -> None:
    cell: dict[str, Any] = {"edit": "x", "row": 0, "col": 0, "text": "1"}
    wrong = [("edit", "nothing"), ("edit", ["x"]), ("row", 3), ("row", -1), ("row", 0.0), ("row", "0"), ("text", 1)]
    events: tuple[dict[str, Any], ...] = (
        *(cell | {key: value} for key, value in wrong), {}, {"edit": "x", "row": 0, "text": "1"},
        {"fill": "x", "preset": "causal"}, {"fill": "a", "preset": "nothing"}, {"reset": [1, None, "nothing"]},
    )  # fmt: skip
    for event in events:
        assert apply_event(given(), event) == given(), event


def test_link_stays_short() -> None:
    now = given()
    for name in ("wq0", "wk0", "wv0", "wq1", "wk1", "wv1", "wo", "x4", "s", "w0", "w1"):
        for row, line in enumerate(DEFAULTS[name]):
            for col in range(len(line)):
                now = apply_event(now, {"edit": name, "row": row, "col": col, "text": "-123456.12345678912"})
    assert len(link_of(now)) <= MAX_MATRICES_LENGTH
    assert any("holds at most" in why for cells in now.invalid.values() for _, why in cells.values())
    book, usable = from_link({"qw": "how are you", "kw": "how are you", "m": link_of(now)}.get)
    assert (usable, book.matrices) == (True, now.matrices)


def test_printed_numbers() -> None:
    blocks = examples.one_head(given())
    assert matrix(blocks, "out")["cells"] == [["2.0630", "2.1630"], ["2.1523", "2.2523"], ["2.0020", "2.1020"]]
    assert matrix(blocks, "weights")["sums"] == ["1.0000"] * 3
    blocks = examples.one_head(given(products=True, divide=True, wk=((0, 1), (1, 0))))
    assert matrix(blocks, "scores")["cells"][0] == ["2.6400", "4.9400", "7.2400"]
    assert matrix(blocks, "scaled")["cells"][0][0] == f"{2.64 / math.sqrt(2):.4f}"


def test_empty_rows_and_overflow_are_named() -> None:
    blocks = examples.one_head(given(a=((0, 0, 0), (1, 0, 1), (1, 1, 1))))
    assert matrix(blocks, "masked")["cells"][1] == ["0.1000", "−∞", "0.3000"]
    assert matrix(blocks, "weights")["cells"][0] == ["0.0000"] * 3
    assert matrix(blocks, "weights")["sums"] == ["0.0000", "1.0000", "1.0000"]
    assert "Row 0 “how” may attend to no key" in texts(blocks)
    assert "Row 1 “are” may not attend to itself" in texts(blocks)
    blocks = examples.one_head(given(s=((1e6, -1e6, 0), (0, 0, 0), (1, 2, 3))))
    assert matrix(blocks, "weights")["cells"][0] == ["1.0000", "0.0000", "0.0000"]
    assert "overflows in float32" in texts(blocks)


def test_two_sentences_of_different_length() -> None:
    blocks = examples.two_sentences(given(queries=("how", "are", "you"), keys=("you", "can")))
    q, k = torch.tensor([[1.1, 1.2], [2.1, 2.2], [3.1, 3.2]]).double(), torch.tensor([[3.1, 3.2], [4.1, 4.2]]).double()
    assert_cells(matrix(blocks, "out"), (q @ k.T).softmax(-1) @ k)
    (notice,) = examples.two_sentences(given(queries=(), keys=("you",)))
    assert "at least one word" in notice["sentences"][0]


def test_two_heads_equal_the_layer() -> None:
    for divide, small in ((False, True), (True, False)):
        wo = ((1, 2, 3, 4), (0, 1, 0, 0), (0, 0, 1, 1), (1, 0, 0, 1))
        now = given(divide=divide, a4=((1, 0, 0), (1, 1, 0), (1, 1, 1)), wo=wo)
        now = apply_event(now, {"fill": "x4", "preset": "÷ 1,000"}) if small else now
        blocks = examples.two_heads(now)
        w = {name: [now[f"w{name}{head}"] for head in range(2)] for name in "qkv"}
        layer = IMPLEMENTATIONS["efficient"](4, 2, bias=False).double()
        layer.load(weights_from_matrices(w["q"], w["k"], w["v"], now["wo"]))
        out, weights = layer(now["x4"], allow=now.allow("a4"), temperature=1.0 if divide else 1 / math.sqrt(2))
        assert weights is not None
        assert_cells(matrix(blocks, "out"), out)
        for head in range(2):
            assert_cells(matrix(blocks, "weights", head), weights[head])


def test_stacked_weights_are_one_product_as_a_linear_computes_it() -> None:
    blocks = examples.stacked_weights(given())
    rows = [[10, 100, 20, 200], [20, 200, 40, 400], [30, 300, 60, 600]]
    assert matrix(blocks, "product")["cells"] == [[str(cell) for cell in row] for row in rows]
    panel = examples.as_linear(apply_event(given(), {"edit": "w1", "row": 3, "col": 0, "text": "-7"}))
    shown = {block["name"]: torch.tensor(numbers(block)) for block in every([panel]) if "cells" in block}
    linear = nn.Linear(4, 4, bias=False)
    linear.load_state_dict({"weight": shown["W0 over W1"]})
    identical(linear(shown["x"]).detach(), shown["x Wᵀ"])  # whole numbers
    assert torch.equal(shown["W0 over W1"], torch.cat([shown["W0"], shown["W1"]]))


def test_six_projections_become_three() -> None:
    panel = [examples.as_linear(given())]
    (table,) = [block for block in every(panel) if block["kind"] == "table"]
    assert "6 projections become 3" in texts(panel)
    rows = [["naive", "6", "⟨2, 4⟩"], ["efficient", "3", "⟨4, 4⟩"], ["fused", "1", "⟨12, 4⟩"]]
    assert [line[:3] for line in table["rows"]] == rows
    for name, line in zip(examples.SPELLINGS, table["rows"], strict=True):
        layer = IMPLEMENTATIONS[name](4, 2, bias=False)
        learnt = sum(one.numel() for part, one in layer.named_parameters() if not part.startswith("out"))
        assert int(line[3]) == learnt == 48


@drawn(st.integers(1, 8), st.integers(0, 1000))
def test_every_output_is_a_convex_combination_of_values(keys: int, seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    scores, values = (torch.randn(*size, generator=random).double() for size in ((4, keys), (keys, 2)))
    done = softmax_steps(5 * scores, values)
    assert float(done.weights.min()) >= 0
    same_function(done.weights.sum(dim=-1), torch.ones(4, dtype=torch.float64))
    angles = torch.arange(720) * (math.pi / 360)  # seen from each side, no output lies beyond the values
    sides = torch.stack([angles.cos(), angles.sin()]).double()
    assert bool(((done.mixed @ sides).amax(0) <= (values @ sides).amax(0) + SAME_FUNCTION).all())
    assert "barycentre" in str(examples.one_head(given()))


def test_articles_numbers_and_where_they_differ() -> None:
    """The article that the inputs are from cuts digits off two weights, and adds 0.1 or 0.2 in place of attending."""
    made = {key: torch.tensor(value, dtype=torch.float64) for key, value in DEFAULTS.items()}
    one = softmax_steps(made["s"], made["x"])
    printed = torch.tensor([[0.38, 0.26, 0.35], [0.23, 0.48, 0.29], [0.38, 0.34, 0.28]], dtype=torch.float64)
    apart = (printed - one.weights.round(decimals=2)).abs() > 0.005
    assert apart.nonzero().tolist() == [[0, 0], [1, 0]]
    assert (one.weights[apart] * 100).floor().tolist() == [38, 23]
    for head, value in enumerate(([3.0, 30.0], [300.0, 3000.0])):
        v = made["x4"] @ made[f"wv{head}"]
        same_function(softmax_steps(v @ v.T, v).mixed[0], torch.tensor(value, dtype=torch.float64))
