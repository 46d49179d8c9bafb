"""The border of a layer: sizes, kinds, masks and heads that do not fit raise before anything is computed.

The base class alone stands there (no implementation overrides `forward`), so one implementation is enough.
"""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS, MultiHeadAttention
from mha_core.attention.switches import EVERYTHING, Ablation
from mha_core.errors import DeviceError, DtypeError, HeadlightError, MaskError, SizeError, Unsupported
from mha_core.positions import ALiBi, Rotary

from .attention_cases import B, C, H

X, MAP = torch.ones(B, 4, C), torch.ones(4, 4, dtype=torch.bool)
WRONG: list[tuple[type[HeadlightError], str, tuple[Tensor, ...], dict[str, Any]]] = [
    (DtypeError, "query is torch.float32 and key is torch.float64", (X, X.double()), {}),
    (DtypeError, "query is torch.float64, the layer torch.float32", (X.double(),), {}),
    (DtypeError, "value must be a floating tensor, got torch.int64", (X, X, X.long()), {}),
    (DeviceError, "query is on cpu and value is on meta", (X, X, X.to("meta")), {}),
    (DeviceError, "query is on meta, the layer on cpu", (X.to("meta"),), {}),
    (MaskError, r"allow has shape \(4, 5\)", (X,), {"allow": torch.ones(4, 5, dtype=torch.bool)}),
    (MaskError, r"bool tensor \(True = may look\), got torch.float32", (X,), {"allow": MAP.float()}),
    (MaskError, r"values has shape \(4, 5\)", (X,), {"ablate": Ablation(None, torch.ones(4, 5, dtype=torch.bool))}),
    *(
        (SizeError, rf"heads must be bool \({H},\) or \({B}, {H}\)", (X,), {"heads": heads})
        for heads in (MAP[0], torch.ones(B + 1, H, dtype=torch.bool), torch.ones(H), [True] * H)
    ),
    *((HeadlightError, "above 0", (X,), {"temperature": one}) for one in (0, -1.0, math.nan, math.inf)),
]


@pytest.mark.parametrize(("error", "told", "inputs", "options"), WRONG)
def test_what_does_not_fit_raises(
    error: type[HeadlightError], told: str, inputs: tuple[Tensor, ...], options: dict[str, Any]
) -> None:
    with pytest.raises(error, match=told):
        MultiHeadAttention(C, H)(*inputs, **options)


@pytest.mark.parametrize(
    "shapes",
    [
        [(B, 4, C + 1)],
        [(C,)],
        [(1, B, 4, C)],
        [(B, 4, C), (B, 6, C - 1)],
        [(B, 4, C), (B + 1, 6, C)],
        [(B, 4, C), (1, 6, C)],
        [(B, 4, C), (6, C)],
        [(4, C), (B, 6, C)],
        [(B, 4, C), (B, 6, C), (B, 5, C)],
    ],
    ids=str,
)
def test_sizes_that_do_not_fit_raise(shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(SizeError, match=rf"need \(b, i, {C}\)") as caught:
        MultiHeadAttention(C, H)(*(torch.zeros(shape) for shape in shapes))
    assert all(str(shape) in str(caught.value) for shape in shapes)


@pytest.mark.parametrize("shapes", [[(B, 0, C)], [(0, C)], [(B, 4, C), (B, 0, C)], [(B, 0, C), (B, 4, C)]], ids=str)
def test_a_length_of_0_raises(shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(SizeError, match="length 0; give at least one token"):
        MultiHeadAttention(C, H)(*(torch.zeros(shape) for shape in shapes))


def test_heads_are_said_once() -> None:
    layer, x, heads = MultiHeadAttention(C, H), torch.randn(B, 4, C), torch.tensor([True, False, True])
    assert torch.equal(layer(x, heads=heads)[0], layer(x, ablate=Ablation(heads))[0])
    with pytest.raises(HeadlightError, match="both say which heads are off"):
        layer(x, heads=heads, ablate=Ablation(heads))


def test_sizes_that_cannot_be_built_raise() -> None:
    with pytest.raises(SizeError, match=r"d_model=50 cannot be split into 6 equal heads; choose a multiple of 6"):
        MultiHeadAttention(50, 6)
    for sizes in ((12, 0), (0, 3), (12, -3)):
        with pytest.raises(SizeError, match="at least 1"):
            MultiHeadAttention(*sizes)
    for dropout in (-0.1, 1.0, 2):
        with pytest.raises(HeadlightError, match=rf"dropout={dropout}"):
            MultiHeadAttention(12, 3, dropout=dropout)


@pytest.mark.parametrize(
    ("feature", "options"),
    [
        ("rotate", {"position": Rotary(C // H)}),
        ("bias", {"position": ALiBi(H)}),
        ("head_mask", {"allow": MAP.expand(H, 4, 4)}),
        ("heads", {"heads": torch.ones(H, dtype=torch.bool)}),
        ("temperature", {"temperature": 2.0}),
        ("values_off", {"ablate": Ablation(None, MAP)}),
    ],
)
def test_what_an_implementation_cannot_do_raises(feature: str, options: dict[str, Any]) -> None:
    class Poor(MultiHeadAttention):
        can = EVERYTHING - {feature}

    x = torch.randn(B, 4, C)
    MultiHeadAttention(C, H)(x, **options)
    with pytest.raises(Unsupported, match=rf"Poor cannot do {feature}; it can do .*maps"):
        Poor(C, H)(x, **options)
    kinds = [kind for kind in IMPLEMENTATIONS.values() if feature not in kind.can]
    for kind in kinds:
        with pytest.raises(Unsupported, match=feature):
            kind(C, H)(x, **options)


def test_everything_that_is_missing_is_named() -> None:
    layer, x = IMPLEMENTATIONS["torch"](C, H), torch.randn(B, 4, C)
    with pytest.raises(Unsupported, match="TorchAttention cannot do bias, heads, temperature; it can do head_mask, ma"):
        layer(x, position=ALiBi(H), heads=torch.ones(H, dtype=torch.bool), temperature=2.0)


def test_extra_repr_names_the_sizes() -> None:
    shown = repr(MultiHeadAttention(C, H, out_bias=False, dropout=0.1))
    assert "d_model=12, n_heads=3, bias=True, out_bias=False, dropout=0.1" in shown
