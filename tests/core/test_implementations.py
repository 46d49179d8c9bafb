"""Every implementation against a slow dense one and against nn.MultiheadAttention, with its gradients.

Which cases an implementation takes part in is read from its `can`, so that further ones are covered as they come.
"""

import pytest
import torch

from mha_core import IMPLEMENTATIONS, Trace
from tests.closeness import identical, same_function

from .attention_cases import (
    MASKS,
    PAIRS,
    B,
    C,
    Case,
    H,
    build,
    canonical,
    cases_of,
    dense_pass,
    each,
    pass_of,
)
from .dense import random_weights, torch_twin

pytestmark = pytest.mark.numeric

CANONICAL = ["x", "q", "k", "v", "scores", "masked", "weights", "mixed", "joined", "out"]


@each
def test_equal_to_the_dense_one_under_masks_and_with_features(name: str) -> None:
    """Output, maps and gradients: with maps, without, and traced."""
    for case in cases_of(name):
        weights = random_weights(C, *case.biases, torch.float64)
        inputs, options = case.inputs(torch.float64)
        for need_weights in (True, False):
            out, maps, gradient = pass_of(name, weights, inputs, options, need_weights)
            expected_out, expected_maps, expected_gradient = dense_pass(weights, inputs, options, need_weights)
            same_function(out, expected_out)
            same_function(gradient, expected_gradient)
            assert (maps is not None) == need_weights
            if maps is not None:
                same_function(maps, expected_maps)
        trace = Trace()
        out, no_maps = build(name, weights)(*inputs, **options, need_weights=False, trace=trace)
        assert no_maps is None
        same_function(out, expected_out)
        identical(trace["out"].value, out)
        same_function(canonical(trace["weights"]), expected_maps)
        wanted = [step for step in CANONICAL if step != "masked" or options["allow"] is not None]
        assert [step.name for step in trace.steps if "." not in step.name] == wanted
        assert len({step.name for step in trace.steps}) == len(trace.steps)
        assert trace.steps[-1].name == "out"


@each
def test_equal_to_torchs_module(name: str) -> None:
    for number, mask in enumerate(MASKS):
        case = Case(mask, PAIRS[number % 3], "plain")
        if not case.needs <= IMPLEMENTATIONS[name].can:
            continue
        bias = number % 2 == 0
        weights = random_weights(C, bias, bias, torch.float64)
        inputs, options = case.inputs(torch.float64)
        out, maps = build(name, weights)(*inputs, **options)
        query, key, value = [*inputs, *inputs[-1:] * 2][:3]
        allow = options["allow"]
        # there True is blocked, one mask a head
        blocked = None if allow is None else ~allow.expand(B, H, query.shape[1], key.shape[1]).flatten(0, 1)
        expected_out, expected_maps = torch_twin(weights, H)(
            query, key, value, attn_mask=blocked, need_weights=True, average_attn_weights=False
        )
        assert maps is not None
        if mask == "empty row":
            real = allow.any(-1).expand(B, H, -1)
            assert expected_maps[~real].isnan().all()
            maps, expected_maps = maps[real], expected_maps[real]
            out, expected_out = out[real[:, 0]], expected_out[real[:, 0]]
        same_function(out, expected_out)
        same_function(maps, expected_maps)
