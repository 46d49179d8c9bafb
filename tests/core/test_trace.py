"""The record of a pass: what a step tells of its tensor, and sizes bound over the whole pass."""

import pytest
import torch

from mha_core import Trace
from mha_core.errors import HeadlightError


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


def test_a_step_of_what_no_step_leads_to_is_refused() -> None:
    trace = Trace()
    trace("x", torch.zeros(1, 2, 3), "b i c")
    trace("q.view", torch.ones(1, 1, 2, 3), "b h i d", inputs=("q",))
    trace("q", torch.ones(1, 1, 2, 3), "b h i d", inputs=("q",))
    with pytest.raises(HeadlightError, match=r"step 'mixed' is of 'weights', to which none of .* leads: x, q.view, q"):
        trace("mixed", torch.ones(1, 1, 2, 3), "b h i d", inputs=("q", "weights"))
    assert [step.inputs for step in trace.steps] == [(), ("x",), ("q.view",)]
