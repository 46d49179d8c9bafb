"""Every implementation against a slow dense one and against nn.MultiheadAttention, with its gradients.

Which cases an implementation takes part in is read from its `can`, so that further ones are covered as they come.
"""

import pytest
import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS, Trace
from mha_core.attention.own_backward import with_own_backward
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
from .dense import dense_attention, random_weights, torch_twin

pytestmark = pytest.mark.numeric

CANONICAL = ["x", "q", "k", "v", "scores", "masked", "weights", "mixed", "joined", "out"]


all_pairs = pytest.param(True, marks=pytest.mark.thorough("Every mask meets every feature and every encoding."))


@each
@pytest.mark.parametrize("every_pair", [False, all_pairs])
def test_equal_to_the_dense_one_under_masks_and_with_features(name: str, every_pair: bool) -> None:
    """Output, maps and gradients: with maps, without, and traced."""
    for case in cases_of(name, every_pair):
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


@each
def test_odd_sizes(name: str) -> None:
    for d_model, n_heads, i, j in ((7, 7, 1, 1), (5, 1, 3, 2), (9, 3, 1, 5), (3, 3, 5, 1)):
        weights = random_weights(d_model, True, True, torch.float64)
        query, key = torch.randn(B, i, d_model, dtype=torch.float64), torch.randn(B, j, d_model, dtype=torch.float64)
        out, maps = build(name, weights, n_heads)(query, key)
        expected_out, expected_maps = dense_attention(weights, query, key, key, n_heads)
        same_function(out, expected_out)
        same_function(maps, expected_maps)


# ---- the fused layer's own backward pass, against automatic differentiation of the plain formula


def own_inputs(dtype: torch.dtype = torch.float64) -> list[Tensor]:
    shapes = ((2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 5))
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]


RANDOM = torch.rand(2, 1, 4, 6, generator=torch.Generator().manual_seed(1)) < 0.6


def test_a_second_derivative_is_refused() -> None:
    q, k, v = own_inputs()
    (of_q,) = torch.autograd.grad(with_own_backward(q, k, v, None, 0.4)[0].square().sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        torch.autograd.backward(of_q.sum())


def test_a_backward_pass_leaves_the_results_as_they_were() -> None:
    """It writes over what is its own only: the maps may be read, and run through, again."""
    q, k, v = own_inputs(torch.float32)
    mixed, weights = with_own_backward(q, k, v, RANDOM, 0.4)
    before = mixed.detach().clone(), weights.detach().clone()
    loss = mixed.sum() + weights.square().sum()
    (first,) = torch.autograd.grad(loss, q, retain_graph=True)
    (second,) = torch.autograd.grad(loss, q)
    identical(mixed, before[0])
    identical(weights, before[1])
    identical(first, second)
