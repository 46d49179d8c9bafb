from __future__ import annotations

import pytest
import torch

from mha_core import Trace, no_trace
from mha_core.errors import SizeError
from mha_core.trace import AXES


def test_no_trace_takes_what_a_trace_takes_and_keeps_nothing() -> None:
    assert no_trace("x", torch.zeros(1, 2, 3), "anything at all", "even this") is None  # type: ignore[func-returns-value]


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


def test_a_step_is_found_by_name() -> None:
    trace = Trace()
    trace("x", torch.zeros(1, 2, 3), "b i c")
    assert trace["x"] is trace.steps[0]
    with pytest.raises(KeyError, match=r"no step 'weights'; there are x"):
        trace["weights"]


def test_sizes_are_bound_over_the_whole_pass() -> None:
    trace = Trace()
    trace("x", torch.zeros(2, 5, 12), "b i c")
    trace("qkv", torch.zeros(2, 5, 36), "b i (3 c)")
    trace("q", torch.zeros(2, 4, 5, 3), "b h i d")
    trace("joined", torch.zeros(2, 5, 12), "b i (h d)")
    assert trace.sizes == {"b": 2, "i": 5, "c": 12, "h": 4, "d": 3}


def test_one_unknown_size_in_a_group_is_worked_out() -> None:
    trace = Trace()
    trace("q", torch.zeros(2, 4, 5, 3), "b h i d")
    trace("k", torch.zeros(8, 7, 3), "(b h) j d")
    trace("x", torch.zeros(2, 5, 24), "b i (2 c)")
    assert (trace.sizes["j"], trace.sizes["c"]) == (7, 12)


@pytest.mark.parametrize(
    ("axes", "shape", "told"),
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
def test_axes_that_do_not_fit_raise(axes: str, shape: tuple[int, ...], told: str) -> None:
    trace = Trace()
    trace("x", torch.zeros(2, 5, 12), "b i c")
    with pytest.raises(SizeError, match=told):
        trace("next", torch.zeros(shape), axes)
    assert [step.name for step in trace.steps] == ["x"]


def test_every_axis_of_the_glossary_has_one_letter() -> None:
    assert AXES.keys() == set("bijchdv")
