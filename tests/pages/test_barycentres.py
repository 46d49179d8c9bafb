"""Outputs as points among the values: inside their hull, whatever the weights."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mha_core.measure.by_hand import softmax_steps
from pages.by_hand import barycentres, examples
from pages.by_hand.workbook import SPREADS, Workbook, changed, defaults
from pages.kit.draw.sheet import Block

from .conftest import every

NUMBERS = st.floats(-1000, 1000, allow_nan=False, width=32)
POINTS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8)


def drawn(blocks: list[Block]) -> Any:
    return next(block for block in every(blocks) if block["kind"] == "hull")


def beyond_any_side(point: tuple[float, float], points: list[tuple[float, float]]) -> float:
    """How far a point lies beyond points, seen from 720 sides: no corner, no edge, no order is asked for."""
    angles = [math.pi * n / 360 for n in range(720)]
    sides = [(math.cos(angle), math.sin(angle)) for angle in angles]
    return max(point[0] * x + point[1] * y - max(other[0] * x + other[1] * y for other in points) for x, y in sides)


@given(POINTS, st.integers(0, 1000))
def test_every_output_is_a_convex_combination_and_lies_inside(points: list[tuple[float, float]], seed: int) -> None:
    scores = 5 * torch.randn(4, len(points), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    done = softmax_steps(scores, torch.tensor(points, dtype=torch.float64))
    assert float(done.weights.min()) >= 0
    torch.testing.assert_close(done.weights.sum(dim=-1), torch.ones(4, dtype=torch.float64))
    corners = [points[at] for at in barycentres.hull(points)]
    for x, y in done.mixed.tolist():
        assert beyond_any_side((x, y), points) < 1e-9
        assert barycentres.outside((x, y), corners) < 1e-6


@given(POINTS, st.tuples(NUMBERS, NUMBERS))
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
    book = Workbook(defaults())
    picture = drawn(examples.one_head(book))
    assert [value[2] for value in picture["values"]] == ["how", "are", "you"]
    weights = torch.tensor(picture["shares"], dtype=torch.float64)
    values = torch.tensor([value[:2] for value in picture["values"]], dtype=torch.float64)
    outputs = torch.tensor([output[:2] for output in picture["outputs"]], dtype=torch.float64)
    torch.testing.assert_close(weights @ values, outputs)
    apart = changed(book, {"fill": "x", "preset": SPREADS["apart"]})
    assert drawn(examples.one_head(apart))["edge"] == [0, 1, 2]
    assert "The 3 values span an area, and every mix of them lies in it." in json.dumps(examples.one_head(apart))
    assert "The 3 values lie on one line, so every mix of them does too." in json.dumps(examples.one_head(book))


@pytest.mark.parametrize(("mask", "outputs"), [(((0,) * 3, (1,) * 3, (1,) * 3), 2), (((0,) * 3,) * 3, 0)])
def test_a_row_that_looks_at_nobody_is_no_mean(mask: Any, outputs: int) -> None:
    blocks = examples.one_head(Workbook({**defaults(), "a": mask}))
    assert len(drawn(blocks)["outputs"]) == outputs
    said = json.dumps(blocks)
    assert ("1 row may look at nobody: its output is no mean" in said) is (outputs == 2)
    assert ("No row may look at anybody" in said) is (outputs == 0)
