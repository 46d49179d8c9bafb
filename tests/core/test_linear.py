"""The product of the decoder's network and head: the sums of torch's own linear, in another order."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from mha_core.models.linear import linear


@pytest.mark.parametrize("shape", [(1, 5, 48), (3, 48), (2, 4, 7, 48), (1, 1, 48), (0, 48), (48,)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_it_is_the_product(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, weight = torch.randn(shape, dtype=dtype), torch.randn(19, 48, dtype=dtype)
    found = linear(x, weight)
    assert found.shape == (*shape[:-1], 19)
    assert found.dtype == dtype
    exact = (x.double() @ weight.double().T).to(dtype)
    torch.testing.assert_close(found, exact, rtol=1e-5 if dtype != torch.bfloat16 else 0.02, atol=1e-5)


def test_what_lies_otherwise_in_memory_gives_the_same() -> None:
    x, weight = torch.randn(48, 5).t(), torch.randn(48, 19).t()
    torch.testing.assert_close(linear(x, weight), x.contiguous() @ weight.contiguous().t())
    part = torch.randn(9, 2, 48)[3:5, 1:]
    torch.testing.assert_close(linear(part, weight), part.contiguous() @ weight.contiguous().t())


def test_gradients_flow() -> None:
    x, weight = torch.randn(2, 5, 48, requires_grad=True), torch.randn(19, 48, requires_grad=True)
    linear(x, weight).square().sum().backward()  # type: ignore[no-untyped-call]
    of_x, of_weight = x.grad, weight.grad
    x.grad = weight.grad = None
    F.linear(x, weight).square().sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(of_x, x.grad)
    torch.testing.assert_close(of_weight, weight.grad)
