"""The three comparisons of floats: small faults of an attention layer are a thousand times beyond `same_function`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS, Weights, masks
from tests.closeness import SAME_FUNCTION, identical, quoted, relative_error, same_function, within_rounding

from .dense import dense_attention, random_weights

C, H, N = 12, 3, 6
CAUSAL = masks.allow(masks.causal, N, N)


FAULTS: dict[str, Callable[[Weights], tuple[Weights, Tensor, float]]] = {
    "no bias": lambda weights: (replace(weights, v_bias=torch.zeros(C).double()), CAUSAL, 1.0),
    "√(d_head + 1)": lambda weights: (weights, CAUSAL, math.sqrt((C // H + 1) / (C // H))),
    "a mask off by one": lambda weights: (weights, masks.allow(masks.prefix(2), N, N), 1.0),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_a_thousand_times_beyond_the_bound(fault: str) -> None:
    weights, x = random_weights(C, True, True, torch.float64), torch.randn(2, N, C, dtype=torch.float64)
    expected, _ = dense_attention(weights, x, x, x, H, allow=CAUSAL)
    layer = IMPLEMENTATIONS["fused"](C, H).double()
    same_function(layer.load(weights)(x, allow=CAUSAL)[0], expected)
    wrong, allow, temperature = FAULTS[fault](weights)
    out = layer.load(wrong)(x, allow=allow, temperature=temperature)[0]
    assert relative_error(out, expected) > 1000 * SAME_FUNCTION
    with pytest.raises(AssertionError, match="differ by"):
        same_function(out, expected)


def test_comparisons_refuse_wrong_dtypes_and_shapes() -> None:
    one = torch.ones(3, dtype=torch.float64)
    with pytest.raises(AssertionError, match="float64"):
        same_function(one.float(), one)
    for check in (identical, same_function, lambda a, b: within_rounding(a, b, 1.0)):
        with pytest.raises(AssertionError, match="is not"):
            check(one, one[:2])
    with pytest.raises(AssertionError, match="differ"):
        identical(one, torch.nextafter(one, 2 * one))
    with pytest.raises(AssertionError, match="rounding explains"):
        within_rounding(one + torch.finfo(torch.float32).eps, one, torch.finfo(torch.float32).eps / 4)
    with pytest.raises(AssertionError, match="differ"):
        same_function(torch.where(one > 0, math.nan, one), one)
    with pytest.raises(AssertionError, match=r"is not 0\.77"):
        quoted(0.781, "0.77")
    quoted(0.7731, "0.773")
