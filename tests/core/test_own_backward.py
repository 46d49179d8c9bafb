"""The fused layer's own backward pass against automatic differentiation of the plain formula."""

import math

import pytest
import torch
from torch import Tensor

from mha_core import attention
from mha_core.attention.own_backward import with_own_backward
from mha_core.measure.measures import relative_difference

pytestmark = pytest.mark.numeric


def inputs(dtype: torch.dtype = torch.float64) -> list[Tensor]:
    shapes = ((2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 5))
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]


MASKS = {
    "none": None,
    "random": torch.rand(2, 1, 4, 6, generator=torch.Generator().manual_seed(1)) < 0.6,
    "empty row": torch.arange(4)[:, None].expand(4, 6) != 2,
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("looked_at", ["mixed", "weights", "both"])
def test_gradients_are_those_of_the_formula(mask: str, looked_at: str) -> None:
    q, k, v = inputs()
    scale = 0.7 / math.sqrt(5)
    results = with_own_backward(q, k, v, MASKS[mask], scale), attention(q, k, v, allow=MASKS[mask], temperature=1 / 0.7)
    pulls = [torch.randn(2, 3, 4, 5, dtype=torch.float64), torch.randn(2, 3, 4, 6, dtype=torch.float64)]
    found = []
    for mixed, weights in results:
        pulled = [(mixed * pulls[0]).sum(), (weights * pulls[1]).sum()]
        loss = {"mixed": pulled[0], "weights": pulled[1], "both": pulled[0] + pulled[1]}[looked_at]
        found.append(torch.autograd.grad(loss, [q, k, v], allow_unused=True, materialize_grads=True))
    for own, expected in zip(*found, strict=True):
        assert relative_difference(own, expected) <= 1e-13
        assert own.isfinite().all()


def test_gradients_are_the_derivatives() -> None:
    assert torch.autograd.gradcheck(lambda q, k, v: with_own_backward(q, k, v, MASKS["random"], 0.4), inputs())


def test_a_second_derivative_is_refused() -> None:
    q, k, v = inputs()
    (of_q,) = torch.autograd.grad(with_own_backward(q, k, v, None, 0.4)[0].square().sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        torch.autograd.backward(of_q.sum())


def test_the_results_are_left_as_they_were() -> None:
    """The backward pass writes over what is its own only: the maps may be read, and run through, again."""
    q, k, v = inputs(torch.float32)
    mixed, weights = with_own_backward(q, k, v, MASKS["random"], 0.4)
    before = mixed.detach().clone(), weights.detach().clone()
    loss = mixed.sum() + weights.square().sum()
    (first,) = torch.autograd.grad(loss, q, retain_graph=True)
    (second,) = torch.autograd.grad(loss, q)
    assert torch.equal(mixed, before[0])
    assert torch.equal(weights, before[1])
    assert torch.equal(first, second)
