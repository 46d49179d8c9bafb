"""The record of a pass: what a step tells of its tensor, sizes bound over the whole pass, and tracers of one head."""

import sys
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from mha_core import Trace, no_trace
from mha_core.errors import HeadlightError, SizeError
from mha_core.trace import AXES, of_head, together


def test_a_step_describes_its_tensor() -> None:
    trace = Trace()
    x = torch.randn(2, 3, 8, requires_grad=True)
    trace("x", x, "b i c", "given")
    viewed = x.view(2, 3, 4, 2).transpose(1, 2)
    trace("q.view", viewed, "b h i d", "x.view(b, i, h, d).transpose(1, 2)")
    trace("q", viewed.contiguous(), "b h i d")
    first, second, third = trace.steps
    assert (first.name, first.expression, first.axes) == ("x", "given", "b i c")
    assert (first.shape, first.strides, first.contiguous, first.is_view) == ((2, 3, 8), (24, 8, 1), True, False)
    assert (second.shape, second.strides, second.contiguous, second.is_view) == (
        (2, 4, 3, 2),
        (24, 2, 8, 1),
        False,
        True,
    )
    assert (third.shape, third.strides, third.contiguous, third.is_view) == ((2, 4, 3, 2), (24, 6, 2, 1), True, False)
    assert not first.value.requires_grad
    assert torch.equal(third.value, viewed)
    assert trace["x"] is first
    with pytest.raises(KeyError, match=r"no step 'weights'; there are x, q.view, q"):
        trace["weights"]


def test_sizes_are_bound_over_the_whole_pass() -> None:
    trace = Trace()
    trace("x", torch.zeros(2, 5, 12), "b i c")
    trace("qkv", torch.zeros(2, 5, 36), "b i (3 c)")
    trace("q", torch.zeros(2, 4, 5, 3), "b h i d")
    trace("joined", torch.zeros(2, 5, 12), "b i (h d)")
    assert trace.sizes == {"b": 2, "i": 5, "c": 12, "h": 4, "d": 3}
    trace("k", torch.zeros(8, 7, 3), "(b h) j d")  # one unknown size in a group is worked out
    assert trace.sizes["j"] == 7
    other = Trace()
    other("x", torch.zeros(2, 5, 24), "b i (2 c)")
    assert other.sizes["c"] == 12
    assert AXES.keys() == set("bijchgdv"), "every axis of the glossary has one letter"


@pytest.mark.parametrize(
    ("axes", "shape", "message"),
    [
        ("b i", (2, 5, 12), "has 3"),  # too few axes
        ("b i c d", (2, 5, 12), "has 3"),  # too many
        ("b j c", (2, 5, 11), "c=12"),  # another c than before
        ("i b c", (2, 5, 12), "i=5"),  # swapped
        ("b i (5 d)", (2, 5, 12), "do not fit"),  # 12 is no multiple of 5
        ("b i (h d)", (2, 5, 12), "do not fit"),  # two unknowns
        ("b i 3", (2, 5, 12), "do not fit"),  # a literal size
        ("b i w", (2, 5, 12), "'w' is not an axis"),
    ],
)
def test_axes_that_do_not_fit_raise(axes: str, shape: tuple[int, ...], message: str) -> None:
    trace = Trace()
    trace("x", torch.zeros(2, 5, 12), "b i c")
    with pytest.raises(SizeError, match=message):
        trace("next", torch.zeros(shape), axes)
    assert [step.name for step in trace.steps] == ["x"]


def test_a_step_of_what_no_step_leads_to_is_refused() -> None:
    trace = Trace()
    trace("x", torch.zeros(1, 2, 3), "b i c")
    trace("q.view", torch.ones(1, 1, 2, 3), "b h i d", of=("q",))
    trace("q", torch.ones(1, 1, 2, 3), "b h i d", of=("q",))
    with pytest.raises(HeadlightError, match=r"step 'mixed' is of 'weights', to which none of .* leads: x, q.view, q"):
        trace("mixed", torch.ones(1, 1, 2, 3), "b h i d", of=("q", "weights"))
    assert [step.of for step in trace.steps] == [(), ("x",), ("q.view",)]


def test_a_tracer_of_one_head_says_which() -> None:
    trace = Trace()
    third = of_head(trace, 3)
    third("scores", torch.zeros(2, 5, 5), "b i j", "q kᵀ")
    third("mixed", torch.zeros(2, 5, 4), "b i d")
    assert [(step.name, step.axes, step.expression) for step in trace.steps] == [
        ("scores.head3", "b i j", "q kᵀ"),
        ("mixed.head3", "b i d", ""),
    ]
    with pytest.raises(SizeError, match=r"'scores\.head0'.*i=5"):
        of_head(trace, 0)("scores", torch.zeros(2, 6, 6), "b i j")


def test_heads_together_are_one_step_with_a_head_axis() -> None:
    trace = Trace()
    parts = [torch.full((2, 5, 4), float(head)) for head in range(3)]
    together(trace, "q", parts, "b h i d", "stacked")
    (step,) = trace.steps
    assert (step.name, step.expression, step.shape) == ("q", "stacked", (2, 3, 5, 4))
    assert all(torch.equal(step.value[:, head], part) for head, part in enumerate(parts))
    assert not step.is_view
    assert step.contiguous, "stacked in the order of its axes"


def test_without_a_trace_nothing_is_stacked_and_no_head_named() -> None:
    assert of_head(no_trace, 5) is no_trace
    assert no_trace("x", torch.zeros(1, 2, 3), "anything at all", "even this") is None  # type: ignore[func-returns-value]

    class Untouchable(Sequence[torch.Tensor]):
        def __len__(self) -> int:
            raise AssertionError("stacked for nobody")

        def __getitem__(self, index: Any) -> Any:
            raise AssertionError("stacked for nobody")

    together(no_trace, "q", Untouchable(), "b h i d")


def test_a_step_knows_the_line_that_recorded_it() -> None:
    trace = Trace()

    def layer() -> int:
        first = sys._getframe().f_lineno + 1
        trace("x", torch.zeros(1, 2, 3), "b i c")
        of_head(trace, 0)("q", torch.zeros(1, 2, 4), "b i d")
        together(trace, "k", [torch.zeros(1, 2, 4)], "b h j d")
        return first

    first = layer()
    assert [step.line - first for step in trace.steps] == [0, 1, 2]
    assert all(step.code is layer.__code__ for step in trace.steps), "the helpers speak for the layer"


def test_steps_read_in_between_are_built_once() -> None:
    trace = Trace()
    x = torch.zeros(1, 2, 3)
    trace("x", x, "b i c")
    first = trace.steps[0]
    trace("x.view", x.view(2, 1, 3), "i b c")
    assert trace.steps[0] is first
    assert [step.is_view for step in trace.steps] == [False, True]
