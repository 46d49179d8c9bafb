"""The border of a layer: sizes, kinds, masks, heads and weights that do not fit raise before anything is computed.

The base class alone stands there (no implementation overrides `forward`, `load` or `save`), so one implementation is
enough where the others are not named.
"""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS, MultiHeadAttention, Weights
from mha_core.attention import as_implementation, implementation
from mha_core.attention.switches import Ablation
from mha_core.errors import DeviceError, DtypeError, HeadlightError, MaskError, SizeError, Unsupported
from mha_core.positions import ALiBi, Rotary
from tests.closeness import identical

from .attention_cases import BIASES, B, C, H
from .dense import flat, random_weights

X, MAP = torch.ones(B, 4, C), torch.ones(4, 4, dtype=torch.bool)
WRONG: list[tuple[type[HeadlightError], str, tuple[Tensor, ...], dict[str, Any]]] = [
    (DtypeError, "query is torch.float32 and key is torch.float64", (X, X.double()), {}),
    (DtypeError, "query is torch.float64, the layer torch.float32", (X.double(),), {}),
    (DtypeError, "value must be a floating tensor, got torch.int64", (X, X, X.long()), {}),
    (DeviceError, "query is on cpu and value is on meta", (X, X, X.to("meta")), {}),
    (DeviceError, "query is on meta, the layer on cpu", (X.to("meta"),), {}),
    (MaskError, r"allow has shape \(4, 5\)", (X,), {"allow": torch.ones(4, 5, dtype=torch.bool)}),
    (MaskError, r"bool tensor \(True = may attend\), got torch.float32", (X,), {"allow": MAP.float()}),
    (MaskError, r"values has shape \(4, 5\)", (X,), {"ablate": Ablation(None, torch.ones(4, 5, dtype=torch.bool))}),
    *(
        (SizeError, rf"heads must be bool \({H},\) or \({B}, {H}\)", (X,), {"heads": heads})
        for heads in (MAP[0], torch.ones(B + 1, H, dtype=torch.bool), torch.ones(H), [True] * H)
    ),
    *((HeadlightError, "above 0", (X,), {"temperature": one}) for one in (0, -1.0, math.nan, math.inf)),
]


def test_arguments_that_do_not_fit_raise() -> None:
    for error, message, inputs, options in WRONG:
        with pytest.raises(error, match=message):
            MultiHeadAttention(C, H)(*inputs, **options)


def test_sizes_that_do_not_fit_raise() -> None:
    for shapes in (
        [(B, 4, C + 1)],
        [(C,)],
        [(1, B, 4, C)],
        [(B, 4, C), (1, 6, C)],
        [(4, C), (B, 6, C)],
        [(B, 4, C), (B, 6, C), (B, 5, C)],
    ):
        with pytest.raises(SizeError, match=rf"need \(b, i, {C}\)") as caught:
            MultiHeadAttention(C, H)(*map(torch.zeros, shapes))
        assert all(str(shape) in str(caught.value) for shape in shapes), shapes
    for empty in ([(B, 0, C)], [(0, C)], [(B, 4, C), (B, 0, C)]):
        with pytest.raises(SizeError, match="length 0; give at least one token"):
            MultiHeadAttention(C, H)(*map(torch.zeros, empty))


def test_sizes_that_cannot_be_built_raise() -> None:
    with pytest.raises(SizeError, match=r"d_model=50 cannot be split into 6 equal heads; choose a multiple of 6"):
        MultiHeadAttention(50, 6)
    for sizes in ((12, 0), (0, 3), (12, -3)):
        with pytest.raises(SizeError, match="at least 1"):
            MultiHeadAttention(*sizes)
    for dropout in (-0.1, 1.0, 2):
        with pytest.raises(HeadlightError, match=rf"dropout={dropout}"):
            MultiHeadAttention(12, 3, dropout=dropout)
    with pytest.raises(Unsupported, match="implementation='flash' is not known; choose one of naive, efficient"):
        implementation("flash")


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
def test_unsupported_requests_raise(feature: str, options: dict[str, Any]) -> None:
    x = torch.randn(B, 4, C)
    MultiHeadAttention(C, H)(x, **options)
    for kind in [kind for kind in IMPLEMENTATIONS.values() if feature not in kind.can]:
        with pytest.raises(Unsupported, match=feature):
            kind(C, H)(x, **options)


def test_everything_that_is_missing_is_named() -> None:
    layer, x = IMPLEMENTATIONS["torch"](C, H), torch.randn(B, 4, C)
    with pytest.raises(Unsupported, match="TorchAttention cannot do bias, heads, temperature; it can do head_mask, ma"):
        layer(x, position=ALiBi(H), heads=torch.ones(H, dtype=torch.bool), temperature=2.0)


# ---- canonical weights: what load takes over and save gives back, and how one implementation becomes another

NAMES = ["q", "k", "v", "o", "q_bias", "k_bias", "v_bias", "o_bias"]


def some(bias: bool = True, out_bias: bool = True, dtype: torch.dtype = torch.float32) -> Weights:
    return random_weights(6, bias, out_bias, dtype)


def swapped(weights: Weights, name: str, tensor: Tensor | None) -> Weights:
    return Weights(**{**dict(weights.items()), name: tensor})  # type: ignore[arg-type]


def same(one: Weights, other: Weights) -> bool:
    """Bit for bit, and with the same biases."""
    pairs = zip(one.items(), other.items(), strict=True)
    return all(a is b is None if a is None or b is None else torch.equal(a, b) for (_, a), (_, b) in pairs)


def test_load_and_save_copy_every_bias_that_there_is() -> None:
    for name, kind in IMPLEMENTATIONS.items():
        for bias, out_bias in BIASES:
            weights, layer = some(bias, out_bias), kind(6, 3, bias=bias, out_bias=out_bias)
            assert layer.load(weights) is layer
            assert same(layer.save(), weights), name
            saved = kind(6, 3, bias=bias).save()
            assert [tensor is not None for key, tensor in saved.items() if "bias" in key] == [bias] * 4, name
        weights = some(dtype=torch.float64)
        layer = kind(6, 3).load(weights)
        assert all(parameter.requires_grad and parameter.is_leaf for parameter in layer.parameters())
        before = flat(weights).float()  # cast to the layer's
        for copied in (weights, layer.save()):
            for _, tensor in copied.items():
                assert tensor is not None
                assert not tensor.requires_grad
                tensor.zero_()
            identical(flat(layer.save()), before)


@pytest.mark.parametrize("which", NAMES)
def test_weights_of_a_wrong_shape_raise(which: str) -> None:
    layer = MultiHeadAttention(6, 3)
    before = layer.save()
    with pytest.raises(SizeError, match=rf"{which} has shape \(5,\)"):
        layer.load(swapped(some(), which, torch.zeros(5)))
    if which.endswith("bias"):
        option = {"o_bias": "out_bias", "v_bias": "v_bias"}.get(which, "bias")
        with pytest.raises(SizeError, match=rf"the layer has {which} .* {option}=False"):
            layer.load(swapped(some(), which, None))
        with pytest.raises(SizeError, match=rf"the weights have {which} .* {option}=True"):
            MultiHeadAttention(6, 3, bias=False).load(swapped(some(False, False), which, torch.zeros(6)))
    assert same(layer.save(), before), "a failed load changes nothing"


def test_a_layer_in_another_implementation_keeps_weights_dtype_and_biases() -> None:
    dtypes = [torch.float32, torch.float64, torch.bfloat16] * 3
    for name, bias, dtype in zip(IMPLEMENTATIONS, BIASES * 2, dtypes, strict=False):
        layer = IMPLEMENTATIONS["fused"](12, 3, bias=bias[0], out_bias=bias[1]).to(dtype)
        state = torch.get_rng_state()
        twin = as_implementation(layer, name)
        assert torch.equal(torch.get_rng_state(), state), "it draws no random numbers"
        assert type(twin) is IMPLEMENTATIONS[name]
        assert (twin.d_model, twin.n_heads, twin.bias, twin.out_bias) == (12, 3, *bias)
        own = next(layer.parameters())
        assert {parameter.dtype for parameter in twin.parameters()} == {dtype}
        assert not twin.training
        assert not any(parameter.requires_grad for parameter in twin.parameters())
        assert same(twin.save(), layer.save())
        with torch.no_grad():
            own.zero_()
        assert any(weight is not None and weight.abs().sum() > 0 for _, weight in twin.save().items()), "a copy"
