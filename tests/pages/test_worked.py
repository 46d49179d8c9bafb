"""The worked examples: every number and sentence on the sheet, and the outputs as points among the values."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch
from hypothesis import given as drawn
from hypothesis import strategies as st
from torch import nn

from mha_core import IMPLEMENTATIONS
from mha_core.measure.by_hand import softmax_steps, weights_of
from pages.by_hand import barycentres, examples
from pages.by_hand.in_print import of
from pages.by_hand.workbook import SPREADS, SWITCHES, Workbook, changed
from pages.kit.draw.sheet import Block

from .conftest import every
from .test_workbook import DEFAULTS, given

EXAMPLES = [examples.one_head, examples.two_sentences, examples.two_heads, examples.stacked]


def matrix(blocks: list[Block], name: str, nth: int = 0) -> Block:
    return [block for block in every(blocks) if block.get("name") == name and "cells" in block][nth]


def numbers(block: Block) -> list[list[float]]:
    return [[float(cell.replace("−", "-").replace("∞", "inf")) for cell in line] for line in block["cells"]]


def texts(blocks: list[Block]) -> str:
    return " ".join(block["text"] for block in every(blocks) if block["kind"] == "text")


def test_the_printed_numbers() -> None:
    blocks = examples.one_head(given())
    assert matrix(blocks, "out")["cells"] == [["2.0630", "2.1630"], ["2.1523", "2.2523"], ["2.0020", "2.1020"]]
    weights = matrix(blocks, "weights")
    (printed_weights,) = (one.values for one in of("one head") if one.name == "weights")
    for line, printed in zip(numbers(weights), printed_weights, strict=True):
        assert line == pytest.approx(printed, abs=0.01)
    assert weights["sums"] == ["1.0000"] * 3
    assert matrix(blocks, "exp")["cells"][0] == ["1.6487", "1.1052", "1.4918"]
    assert matrix(blocks, "exp")["sums"][0] == "4.2457"


def test_no_text_is_spoken_of_that_nobody_sees() -> None:
    for name in examples.EXAMPLES:
        said = json.dumps(examples.EXAMPLES[name].blocks(given()), ensure_ascii=False)
        assert "post" not in said, name


def test_scores_from_products() -> None:
    blocks = examples.one_head(given(products=True, divide=True, wk=((0, 1), (1, 0))))
    assert matrix(blocks, "scores")["cells"][0] == ["2.6400", "4.9400", "7.2400"]
    assert matrix(blocks, "scaled")["cells"][0][0] == f"{2.64 / math.sqrt(2):.4f}"


def test_a_mask_is_shown_and_empty_rows_are_told() -> None:
    mask = ((0, 0, 0), (1, 0, 1), (1, 1, 1))
    blocks = examples.one_head(given(a=mask))
    assert matrix(blocks, "masked")["cells"][1] == ["0.1000", "−∞", "0.3000"]
    assert matrix(blocks, "weights")["cells"][0] == ["0.0000"] * 3
    assert matrix(blocks, "weights")["sums"] == ["0.0000", "1.0000", "1.0000"]
    assert matrix(blocks, "out")["cells"][0] == ["0.0000"] * 2
    assert "Row 0 “how” may look at nobody" in texts(blocks)
    assert "Row 1 “are” may not look at itself" in texts(blocks)
    assert "Row 2" not in texts(blocks)


def test_overflow_is_avoided_and_told() -> None:
    blocks = examples.one_head(given(s=((1e6, -1e6, 0), (0, 0, 0), (1, 2, 3))))
    assert matrix(blocks, "exp")["formula"] == "exp(score − max)"
    assert matrix(blocks, "weights")["cells"][0] == ["1.0000", "0.0000", "0.0000"]
    assert "overflows in float32" in texts(blocks)
    assert "In 1 of 3 rows one weight is above 0.999" in texts(blocks)


# ---- the others


def test_two_sentences_of_different_length() -> None:
    blocks = examples.two_sentences(given(queries=("how", "are", "you"), keys=("you", "can")))
    assert numbers(matrix(blocks, "x")) == [[1.1, 1.2], [2.1, 2.2], [3.1, 3.2], [4.1, 4.2]]
    assert [len(line) for line in matrix(blocks, "weights")["cells"]] == [2, 2, 2]
    q, k = torch.tensor([[1.1, 1.2], [2.1, 2.2], [3.1, 3.2]]).double(), torch.tensor([[3.1, 3.2], [4.1, 4.2]]).double()
    expected = (q @ k.T).softmax(-1) @ k
    for shown, line in zip(numbers(matrix(blocks, "out")), expected.tolist(), strict=True):
        assert shown == pytest.approx(line, abs=1e-4)
    assert "itself" not in texts(blocks)


def test_without_words_the_page_asks_for_some() -> None:
    for queries, keys in (((), ("you",)), (("you",), ()), ((), ())):
        (notice,) = examples.two_sentences(given(queries=queries, keys=keys))
        assert "at least one word" in notice["sentences"][0], queries


def test_words_that_repeat_and_words_that_are_long() -> None:
    mask = ((0, 0), (1, 1), (1, 1))
    long = "x" * 2000
    blocks = examples.two_sentences(given(queries=(long, "a", "a"), keys=("a", "a"), a2=mask))
    assert len(matrix(blocks, "x")["cells"]) == 2
    assert long[:30] not in texts(blocks)


def test_two_heads_equal_the_layer() -> None:
    for divide, small in ((False, True), (True, False)):
        now = given(
            divide=divide,
            a4=((1, 0, 0), (1, 1, 0), (1, 1, 1)),
            wo=((1, 2, 3, 4), (0, 1, 0, 0), (0, 0, 1, 1), (1, 0, 0, 1)),
        )
        now = changed(now, {"fill": "x4", "preset": "small"}) if small else now
        blocks = examples.two_heads(now)
        w = {name: [now[f"w{name}{head}"] for head in range(2)] for name in "qkv"}
        layer = (
            IMPLEMENTATIONS["efficient"](4, 2, bias=False).double().load(weights_of(w["q"], w["k"], w["v"], now["wo"]))
        )
        out, weights = layer(now["x4"], allow=now.allow("a4"), temperature=1.0 if divide else 1 / math.sqrt(2))
        assert weights is not None, divide
        for line, expected in zip(numbers(matrix(blocks, "out")), out.tolist(), strict=True):
            assert line == pytest.approx(expected, rel=1e-6, abs=1e-4), divide
        for head in range(2):
            for line, expected in zip(numbers(matrix(blocks, "weights", head)), weights[head].tolist(), strict=True):
                assert line == pytest.approx(expected, abs=1e-4), divide
        said = texts(blocks)
        assert float(said.rsplit(" ", 1)[1].rstrip(".").replace("−", "-")) < 1e-9, divide
        assert ("above 0.999" in said) is (not small), divide


def test_scores_are_told_to_be_chosen_while_they_are() -> None:
    assert "Chosen by hand" in matrix(examples.one_head(given()), "scores")["note"]
    assert matrix(examples.one_head(given(s=((1, 2, 3),) * 3)), "scores")["note"] == ""


def test_stacked_weights_are_one_product() -> None:
    blocks = examples.stacked(given())
    assert matrix(blocks, "product")["cells"] == [
        ["10", "100", "20", "200"],
        ["20", "200", "40", "400"],
        ["30", "300", "60", "600"],
    ]
    assert [matrix(blocks, f"head {head}")["cells"][0] for head in range(2)] == [["10", "100"], ["20", "200"]]
    assert "the two joined: 0." in texts(blocks)


def test_every_example_holds_at_its_ends() -> None:
    for value in (0.0, 1e6, -1e6, 1e-6):
        for example in EXAMPLES:
            matrices = {
                name: own if name in SWITCHES else tuple((value,) * len(line) for line in own)
                for name, own in DEFAULTS.items()
            }
            for now in (
                *(Workbook(matrices, divide=divide, products=not divide) for divide in (False, True)),
                Workbook({**DEFAULTS, "a": ((0,) * 3,) * 3, "a2": ((0,) * 3,) * 3, "a4": ((0,) * 3,) * 3}),
            ):
                blocks = example(now)
                json.dumps(blocks, allow_nan=False)
                shown = [cell for block in every(blocks) for line in block.get("cells", []) for cell in line]
                assert "—" not in shown, example
                assert "∞" not in shown, example


# ---- the stacked weights as nn.Linear keeps them


def test_it_is_what_a_linear_with_these_weights_computes() -> None:
    panel = examples.as_linear(changed(given(), {"edit": "w1", "row": 3, "col": 0, "text": "-7"}))
    shown = {block["name"]: torch.tensor(numbers(block)) for block in every([panel]) if "cells" in block}
    linear = nn.Linear(4, 4, bias=False)
    linear.load_state_dict({"weight": shown["W0 over W1"]})
    torch.testing.assert_close(linear(shown["x"]), shown["x Wᵀ"])
    assert torch.equal(shown["Wᵀ"], shown["W0 over W1"].T)
    assert torch.equal(shown["W0 over W1"], torch.cat([shown["W0"], shown["W1"]]))
    assert shown["W1"].tolist() == [[20, 0, 0, -7], [0, 20, 0, 0]]


def test_six_projections_become_three() -> None:
    panel = [examples.as_linear(given())]
    (table,) = [block for block in every(panel) if block["kind"] == "table"]
    assert "6 projections become 3" in texts(panel)
    assert [line[:3] for line in table["rows"]] == [
        ["naive", "6", "⟨2, 4⟩"],
        ["efficient", "3", "⟨4, 4⟩"],
        ["fused", "1", "⟨12, 4⟩"],
    ]
    for name, line in zip(examples.SPELLINGS, table["rows"], strict=True):
        layer = IMPLEMENTATIONS[name](4, 2, bias=False)
        numbers = sum(one.numel() for part, one in layer.named_parameters() if not part.startswith("out"))
        assert int(line[3]) == numbers == 48


# ---- outputs as points among the values


NUMBERS = st.floats(-1000, 1000, allow_nan=False, width=32)
POINTS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8)


def hull(blocks: list[Block]) -> Block:
    return next(block for block in every(blocks) if block["kind"] == "hull")


def beyond_any_side(point: tuple[float, float], points: list[tuple[float, float]]) -> float:
    """How far a point lies beyond points, seen from 720 sides: no corner, no edge, no order is asked for."""
    angles = [math.pi * n / 360 for n in range(720)]
    sides = [(math.cos(angle), math.sin(angle)) for angle in angles]
    return max(point[0] * x + point[1] * y - max(other[0] * x + other[1] * y for other in points) for x, y in sides)


@drawn(POINTS, st.integers(0, 1000))
def test_every_output_is_a_convex_combination_and_lies_inside(points: list[tuple[float, float]], seed: int) -> None:
    scores = 5 * torch.randn(4, len(points), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    done = softmax_steps(scores, torch.tensor(points, dtype=torch.float64))
    assert float(done.weights.min()) >= 0
    torch.testing.assert_close(done.weights.sum(dim=-1), torch.ones(4, dtype=torch.float64))
    corners = [points[at] for at in barycentres.hull(points)]
    for x, y in done.mixed.tolist():
        assert beyond_any_side((x, y), points) < 1e-9
        assert barycentres.outside((x, y), corners) < 1e-6


@drawn(POINTS, st.tuples(NUMBERS, NUMBERS))
def test_the_hull_holds_every_point_and_tells_who_is_outside(
    points: list[tuple[float, float]], other: tuple[float, float]
) -> None:
    corners = [points[at] for at in barycentres.hull(points)]
    assert len(corners) == len(set(corners))
    for point in points:
        assert beyond_any_side(point, corners) < 1e-3  # of 1,000: what is nearly on an edge is left out of the corners
    seen_from_720_sides = beyond_any_side(other, points)
    if seen_from_720_sides > 1e-3:
        assert barycentres.outside(other, corners) >= seen_from_720_sides - 1e-3


def test_a_triangle_a_line_and_a_point() -> None:
    assert barycentres.hull([(0, 0), (1, 0), (0, 1), (0.2, 0.2)]) == [0, 1, 2]
    assert barycentres.hull([(1.1, 1.2), (2.1, 2.2), (3.1, 3.2)]) == [0, 2]
    assert barycentres.hull([(1, 1), (1, 1)]) == [0]
    assert barycentres.outside((2, 0), [(0, 0), (1, 0), (0, 1)]) == 1
    assert barycentres.outside((0.2, 0.2), [(0, 0), (1, 0), (0, 1)]) == 0


def test_the_picture_of_the_first_example() -> None:
    book = given()
    picture = hull(examples.one_head(book))
    assert [value[2] for value in picture["values"]] == ["how", "are", "you"]
    weights = torch.tensor(picture["shares"], dtype=torch.float64)
    values = torch.tensor([value[:2] for value in picture["values"]], dtype=torch.float64)
    outputs = torch.tensor([output[:2] for output in picture["outputs"]], dtype=torch.float64)
    torch.testing.assert_close(weights @ values, outputs)
    apart = changed(book, {"fill": "x", "preset": SPREADS["apart"]})
    assert hull(examples.one_head(apart))["edge"] == [0, 1, 2]
    assert "The 3 values span an area, and every mix of them lies in it." in json.dumps(examples.one_head(apart))
    assert "The 3 values lie on one line, so every mix of them does too." in json.dumps(examples.one_head(book))


def test_a_row_that_looks_at_nobody_is_no_mean() -> None:
    for mask, outputs in ((((0,) * 3, (1,) * 3, (1,) * 3), 2), (((0,) * 3,) * 3, 0)):
        blocks = examples.one_head(given(a=mask))
        assert len(hull(blocks)["outputs"]) == outputs, mask
        said = json.dumps(blocks)
        assert ("1 row may look at nobody: its output is no mean" in said) is (outputs == 2), mask
        assert ("No row may look at anybody" in said) is (outputs == 0), mask
