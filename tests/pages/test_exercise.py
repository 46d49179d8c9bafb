"""The exercise: each line is the one that is run, and what is said of it is what it gives on the layer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from headlight.picture.settings import Settings
from headlight.picture.traces import LayerTrace, trace_layer
from mha_core import IMPLEMENTATIONS
from mha_core.measure.measures import relative_difference
from pages.shapes import exercise
from pages.shapes.exercise import GAPS, write_it
from pages.shapes.lesson import source_code
from tests.closeness import same_function

from .conftest import every
from .numbers_shown import in_float64
from .test_shapes import lesson

pytestmark = pytest.mark.numeric
RIGHT = (2, 3, 1, 3)
WORDS = Settings("the cat sat on the mat", "causal", temperature=2.0)  # neither of which acts on the exercise


@pytest.fixture
def found() -> Iterator[LayerTrace]:
    with in_float64():
        yield trace_layer(WORDS, 2, "efficient")


def verdicts(found: LayerTrace, lines: tuple[int, ...]) -> list[dict[str, Any]]:
    return [block for block in every(write_it(found, 0, lines).blocks) if block["kind"] == "verdict"]


def test_together_they_are_the_layer_or_are_not(found: LayerTrace) -> None:
    own, steps = exercise.plain_pass(found)
    assert own.n_heads == 12
    for lines in [RIGHT, *itertools.islice(itertools.product((1, 2, 3), repeat=4), 0, 81, 9)]:
        *_, whole = verdicts(found, lines)
        picked = [gap.function(line) for gap, line in zip(GAPS, lines, strict=True)]
        made = exercise.run(exercise.combined_layer, picked, own, steps["x"])
        fits = not isinstance(made, str) and relative_difference(made, steps["out"]) <= exercise.ROUNDING
        assert fits == (whole["result"] == "holds") == (lines == RIGHT), lines
        assert not isinstance(made, str) or made in whole["reason"]
    theirs = IMPLEMENTATIONS["torch"](384, 12).double().load(own.save())
    with torch.no_grad():
        same_function(theirs(steps["x"])[0], steps["out"])


def test_lines_that_are_pressed_stand_in_the_link() -> None:
    link = {"s": "how are you", "lw": "random", "biases": "output alone", "lesson": "write it"}
    begun = lesson(**link)
    assert "4 lines to choose" in str(begun["blocks"])
    assert begun["wrote"] == "0.0.0.0"
    assert lesson(**link, wrote="7.1.1.1") == begun, "a link that holds something else is read as none"
    found = lesson(**link, wrote="2.3.1.3")
    assert found["wrote"] == "2.3.1.3"
    shown = list(every(found["blocks"]))
    lines = [one for block in shown if block["kind"] == "buttons" for one in block["buttons"]]
    right = zip(GAPS, RIGHT, strict=True)
    assert [one["text"] for one in lines if one["pressed"]] == [gap.lines[n - 1] for gap, n in right]
    *_, whole = [block for block in shown if block["kind"] == "verdict"]
    assert whole["result"] == "holds"
    sources = [source_code(exercise.combined_layer), *(gap.source(n) for gap, n in zip(GAPS, RIGHT, strict=True))]
    assert found["source"] == "\n\n".join(sources)
