"""The three ways in which the tests compare floats. None of their bounds was read off a machine.

- `identical`: the same operations in the same order give the same bits.
- `same_function`: another road to the same result (another implementation, a library, a loop) is compared in float64,
  relative to the expected tensor, to `SAME_FUNCTION`: a million times what rounding can do, and a thousandth of what a
  fault does. `tests/core/test_closeness.py` breaks an attention layer in small ways and shows the second half.
- `within_rounding`: where float32 itself is the subject, the bound is computed by `mha_core.measure.rounding` from the
  lengths of the sums, for this input and depth.

A number that a text or a page quotes is no comparison of roads: `quoted` asks for the digits that are written.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["SAME_FUNCTION", "identical", "quoted", "relative_error", "same_function", "within_rounding"]

SAME_FUNCTION = 1e-9


def relative_error(actual: Tensor, expected: Tensor) -> float:
    """‖actual − expected‖ / ‖expected‖ in float64; infinite where one has numbers that the other has not."""
    a, b = (tensor.detach().cpu().double() for tensor in (actual, expected))
    a, b = torch.where(a == b, 0.0, a), torch.where(a == b, 0.0, b)  # infinities of one sign are equal
    length = torch.linalg.vector_norm(expected.detach().cpu().double().nan_to_num(0.0, 0.0, 0.0))
    distance = torch.linalg.vector_norm(a - b)
    if distance == 0:
        return 0.0
    return float(distance / length) if bool(distance.isfinite()) and length else torch.inf


def identical(actual: Tensor, expected: Tensor) -> None:
    """Assert the same dtype, shape and bits: for the same operations in the same order."""
    assert actual.dtype == expected.dtype, f"{actual.dtype} is not {expected.dtype}"
    assert actual.shape == expected.shape, f"{tuple(actual.shape)} is not {tuple(expected.shape)}"
    assert torch.equal(actual, expected), f"they differ by {relative_error(actual, expected):.2e}, relatively"


def same_function(actual: Any, expected: Any) -> None:
    """Assert that two float64 tensors (or numbers, computed in float64) are one function's result by two roads."""
    a, b = (x if isinstance(x, Tensor) else torch.as_tensor(x, dtype=torch.float64) for x in (actual, expected))
    for tensor in (a, b):
        assert tensor.dtype == torch.float64, f"two roads are compared in float64; this tensor is {tensor.dtype}"
    assert a.shape == b.shape, f"{tuple(a.shape)} is not {tuple(b.shape)}"
    error = relative_error(a, b)
    assert error <= SAME_FUNCTION, f"they differ by {error:.2e}, relatively"


def within_rounding(actual: Tensor, expected: Tensor, bound: float) -> None:
    """Assert that two tensors differ by rounding alone.

    Args:
        bound: of their relative difference, computed by `rounding.bound` or `rounding.of_sums` from what was summed.
    """
    assert actual.shape == expected.shape, f"{tuple(actual.shape)} is not {tuple(expected.shape)}"
    error = relative_error(actual, expected)
    assert error <= bound, f"they differ by {error:.2e}, relatively; rounding explains {bound:.2e}"


def quoted(actual: float, text: str) -> None:
    """Assert that a number is the one that is written, as "0.773": to one unit of its last digit."""
    digits = len(text.partition(".")[2])
    assert abs(float(actual) - float(text)) <= 10.0**-digits, f"{float(actual)} is not {text}"
