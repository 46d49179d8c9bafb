"""The figures: every box opens a step that a layer really makes, and arrows lead upwards."""

from __future__ import annotations

import pytest
import torch

from mha_core import IMPLEMENTATIONS, Trace
from pages.kit.draw.pages import PAGES, path
from pages.scaled_dot.diagram import FIGURES, Box, figures

from .conftest import picture_of


def steps() -> list[str]:
    """The steps of one layer with a mask, in the order in which they are made."""
    trace = Trace()
    IMPLEMENTATIONS["efficient"](4, 2)(torch.randn(1, 3, 4), allow=torch.ones(3, 3).tril().bool(), trace=trace)
    return [step.name for step in trace.steps]


@pytest.mark.parametrize("boxes", FIGURES.values(), ids=FIGURES)
def test_boxes_are_steps_in_their_order(boxes: tuple[Box, ...]) -> None:
    made = steps()
    assert all(box.step in made for box in boxes)
    for at, box in enumerate(boxes):
        assert 0 <= box.columns[0] <= box.columns[1] <= 2
        assert box.input_ is not bool(box.from_)
        below = [boxes[number] for number in box.from_]
        assert all(other.row < box.row for other in below)
        assert not below or min(made.index(other.step) for other in below) < made.index(box.step)
        assert all(number < at for number in box.from_)


def test_a_box_opens_its_step() -> None:
    drawn = {block["name"]: block for block in figures()}
    assert list(drawn) == list(FIGURES)
    for block in drawn.values():
        assert (block["path"], block["title"]) == (path("shapes"), PAGES["shapes"].title)
        assert all(box["link"][0][0] == "step" for box in block["boxes"])
    mask = next(box for box in drawn["Scaled dot-product attention"]["boxes"] if box["text"].startswith("Mask"))
    said, _ = picture_of("steps", **dict(mask["link"]))
    assert said["step"] == "masked"
    assert said["notices"] == []
