"""The words and numbers of the lessons on Shapes, computed once more by other means."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from headlight.picture.settings import Settings
from headlight.picture.traces import LayerTrace, trace_layer
from mha_core.attention import functional, sequence_first
from mha_core.measure import conventions, rounding
from mha_core.positions import rotated
from pages.shapes import exercise, reshape_lessons
from pages.shapes.lesson import MAX_SHOWN, StepLesson
from pages.shapes.reshape_lessons import LESSONS
from tests.closeness import same_function

from .numbers_shown import assert_shows, in_float64, read_number

pytestmark = pytest.mark.numeric
TEXTS = ("", "The animal didn't cross the street because it was too tired", "a b c " * 20)


@pytest.fixture(autouse=True)
def precise() -> Iterator[None]:
    with in_float64():
        yield


def blocks(lesson: StepLesson, kind: str) -> list[dict[str, Any]]:
    """The blocks of a kind, those inside rows too."""
    flat = [inner for block in lesson.blocks for inner in (block, *block.get("blocks", []))]
    return [block for block in flat if block["kind"] == kind]


def said(lesson: StepLesson) -> str:
    return " ".join(block["text"] for block in blocks(lesson, "text"))


def value(found: LayerTrace, name: str) -> Tensor:
    return next(step.value for step in found.steps if step.name == name).cpu()


def sizes(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.strip("()").split(","))


def assert_map(matrix: dict[str, Any], expected: Tensor) -> None:
    for line, weights in zip(matrix["cells"], expected.tolist(), strict=True):
        for cell, weight in zip(line, weights, strict=True):
            assert_shows(cell, weight)


def test_every_lesson_can_be_read_and_shows_the_code_that_ran() -> None:
    modules = (reshape_lessons, exercise, functional, sequence_first, conventions, rotated)
    known = "".join(inspect.getsource(module) for module in modules)
    known += exercise.GAPS[0].source(1) + exercise.GAPS[0].source(2)
    masks = {"wrong axis": "window:1", "products are loops": "causal", "dropout": "causal"}
    for name in LESSONS:
        mask = masks.get(name, "none")
        lesson = LESSONS[name](trace_layer(Settings("how are you", mask), 0, "efficient"), 3)
        assert lesson.blocks[0]["kind"] == "title"
        assert said(lesson).endswith("."), name
        assert not re.search(r"\bnan\b", repr(lesson.blocks), re.IGNORECASE), name
        functions = re.split(r"\n\n(?=def |class )", lesson.source)
        assert all(re.match("def |class ", function) for function in functions)
        assert all(line.strip() in known for function in functions for line in function.splitlines()), name


def test_origin_of_rows_in_the_wrong_view() -> None:
    """Each row of the wrong head is looked up, by its numbers, among all right rows."""
    for text, head in zip(TEXTS, (0, 11, 11), strict=True):
        found = trace_layer(Settings(text), 2, "efficient")
        projected, right = value(found, "q.project"), value(found, "q")
        n, c = projected.shape[1:]
        places: dict[tuple[float, ...], list[tuple[int, int]]] = {}
        for i in range(n):
            for h in range(12):
                places.setdefault(tuple(right[0, h, i].tolist()), []).append((i, h))
        # the mistake mixes up rows, it invents none
        real = [places[tuple(row)] for row in projected.reshape(12, n, c // 12)[head].tolist()]
        lesson = LESSONS["no transpose"](found, head)
        (table,) = blocks(lesson, "table")
        shown = min(n, MAX_SHOWN)
        assert len(table["rows"]) == shown
        for i, (row, token, own, verdict) in enumerate(table["rows"]):
            assert verdict == ("right" if (i, head) in real[i] else "wrong")
            assert row == f"{i} {found.tokens[i]}"
            number = int(token.split()[0])
            assert token == f"{number} {found.tokens[number]}"
            assert (number, int(own)) in real[i]
        right_ones = sum((i, head) in same for i, same in enumerate(real))
        assert f"{right_ones} of its {n} rows are what they are taken for" in said(lesson)


def test_the_right_and_the_wrong_map() -> None:
    for text, head in zip(TEXTS, (11, 0, 0), strict=True):
        found = trace_layer(Settings(text), 2, "efficient")
        lesson = LESSONS["no transpose"](found, head)
        n = len(found.tokens)
        shown, maps = min(n, MAX_SHOWN), []
        for name in ("{}", "{}.project"):
            q, k = (value(found, name.format(letter)).reshape(12, n, -1)[head] for letter in "qk")
            powers = (q @ k.T / math.sqrt(32)).exp()
            maps.append(powers / powers.sum(1, keepdim=True))
        for matrix, own in zip(blocks(lesson, "matrix"), maps, strict=True):
            assert matrix["rows"] == matrix["cols"] == found.tokens[:shown]
            assert_map(matrix, own[:shown, :shown])
            assert bool(matrix["note"]) == (n > shown)
        same_function(maps[0], value(found, "weights")[0, head])
        (difference,) = re.findall(r"between the two maps: (\S+)\.(?: |$)", said(lesson))
        assert_shows(difference, float((maps[0] - maps[1]).abs().max()))


def test_softmax_over_the_heads() -> None:
    for head, mask in ((5, "none"), (11, "causal")):
        found = trace_layer(Settings("you how are it", mask), 4, "efficient")
        powers = value(found, "masked" if mask == "causal" else "scores")[0].exp()
        lesson = LESSONS["wrong axis"](found, head)
        over_keys = powers / powers.sum(2, keepdim=True)
        over_heads = torch.where(powers.sum(0) > 0, powers / powers.sum(0).clamp(min=1e-300), 0.0)
        right, wrong = blocks(lesson, "matrix")
        for matrix, own in ((right, over_keys), (wrong, over_heads)):
            assert_map(matrix, own[head])
            for total, row in zip(matrix["sums"], own[head], strict=True):
                assert_shows(total, float(row.sum()))
        assert set(right["sums"]) == {"1.00"}


def test_the_loop_is_the_product() -> None:
    found = trace_layer(Settings("how are you"), 2, "efficient")
    (table,) = blocks(LESSONS["products are loops"](found, 0), "table")
    n = len(found.tokens)
    shapes = {row[0]: tuple(map(sizes, row[1:4])) for row in table["rows"]}
    assert shapes["q kᵀ of this layer"] == ((1, 12, n, 32), (1, 12, 32, n), (1, 12, n, n))
    for row in table["rows"]:
        left, _, result = (sizes(text) for text in row[1:4])
        assert (row[4], result[:-2]) == (" × ".join(str(size) for size in left[:-2]), left[:-2])
        assert 0 <= read_number(row[5]) <= rounding.sum_bound(left[-1]) * left[-1] * 4  # of normal numbers
    random = torch.Generator().manual_seed(1)
    for axes in ((), (2, 1, 3)):
        a, b = (torch.randn(*axes, *size, generator=random, dtype=torch.float64) for size in ((4, 5), (5, 6)))
        same_function(reshape_lessons.matmul_loop(a, b), torch.einsum("...id,...dj->...ij", a, b))
