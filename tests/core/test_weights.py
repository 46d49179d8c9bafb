"""Canonical weights: what load takes over and save gives back, and how one implementation becomes another."""

from itertools import product

import pytest
import torch

from mha_core import IMPLEMENTATIONS, Model, MultiHeadAttention, Weights
from mha_core.attention import as_implementation
from mha_core.errors import SizeError, Unsupported
from mha_core.measure.measures import largest_difference

from .attention_cases import BIASES, each
from .dense import flat, random_weights

NAMES = ["q", "k", "v", "o", "q_bias", "k_bias", "v_bias", "o_bias"]


def some(bias: bool = True, out_bias: bool = True, dtype: torch.dtype = torch.float32) -> Weights:
    return random_weights(6, bias, out_bias, dtype)


def swapped(weights: Weights, name: str, tensor: torch.Tensor | None) -> Weights:
    return Weights(**{**dict(weights.items()), name: tensor})  # type: ignore[arg-type]


def same(one: Weights, other: Weights) -> bool:
    """Bit for bit, and with the same biases."""
    pairs = zip(one.items(), other.items(), strict=True)
    return all(a is b is None if a is None or b is None else torch.equal(a, b) for (_, a), (_, b) in pairs)


def test_items_are_the_eight_in_order() -> None:
    weights = some()
    assert [name for name, _ in weights.items()] == NAMES
    assert all(tensor is getattr(weights, name) for name, tensor in weights.items())


@each
def test_save_gives_back_what_load_took(name: str) -> None:
    for bias, out_bias in product((True, False), repeat=2):
        weights = some(bias, out_bias)
        layer = IMPLEMENTATIONS[name](6, 3, bias=bias, out_bias=out_bias)
        assert layer.load(weights) is layer
        assert same(layer.save(), weights)


@each
def test_out_bias_follows_bias_unless_said_otherwise(name: str) -> None:
    for bias in (True, False):
        saved = IMPLEMENTATIONS[name](6, 3, bias=bias).save()
        assert [tensor is not None for key, tensor in saved.items() if "bias" in key] == [bias] * 4


@each
def test_load_and_save_copy(name: str) -> None:
    weights = some(dtype=torch.float64)
    layer = IMPLEMENTATIONS[name](6, 3).load(weights)
    assert all(parameter.requires_grad and parameter.is_leaf for parameter in layer.parameters())
    before = flat(weights).float()  # cast to the layer's
    for copied in (weights, layer.save()):
        for _, tensor in copied.items():
            assert tensor is not None
            assert not tensor.requires_grad
            tensor.zero_()
        assert torch.equal(flat(layer.save()), before)


@pytest.mark.parametrize("which", NAMES)
def test_a_wrong_shape_raises(which: str) -> None:
    with pytest.raises(SizeError, match=rf"{which} has shape \(5,\)"):
        MultiHeadAttention(6, 3).load(swapped(some(), which, torch.zeros(5)))


@pytest.mark.parametrize("which", ["q_bias", "k_bias", "v_bias", "o_bias"])
def test_a_missing_or_superfluous_bias_raises(which: str) -> None:
    option = {"o_bias": "out_bias", "v_bias": "v_bias"}.get(which, "bias")
    with pytest.raises(SizeError, match=rf"the layer has {which} .* {option}=False"):
        MultiHeadAttention(6, 3).load(swapped(some(), which, None))
    with pytest.raises(SizeError, match=rf"the weights have {which} .* {option}=True"):
        MultiHeadAttention(6, 3, bias=False).load(swapped(some(False, False), which, torch.zeros(6)))


def test_a_failed_load_changes_nothing() -> None:
    layer = MultiHeadAttention(6, 3)
    before = layer.save()
    with pytest.raises(SizeError):
        layer.load(swapped(some(), "o_bias", None))
    assert torch.equal(layer.save().q, before.q)


# ---- layers and models in another implementation


DTYPES = [torch.float32, torch.float64, torch.bfloat16]


@pytest.mark.parametrize(
    ("name", "bias", "dtype"),
    [(name, BIASES[n % 4], DTYPES[n % 3]) for n, name in enumerate([*IMPLEMENTATIONS, *IMPLEMENTATIONS])],
    ids=str,
)
def test_a_respelled_layer_keeps_weights_dtype_device_and_biases(
    name: str, bias: tuple[bool, bool], dtype: torch.dtype
) -> None:
    layer = IMPLEMENTATIONS["fused"](12, 3, bias=bias[0], out_bias=bias[1]).to(dtype)
    state = torch.get_rng_state()
    twin = as_implementation(layer, name)
    assert torch.equal(torch.get_rng_state(), state), "it draws no random numbers"
    assert type(twin) is IMPLEMENTATIONS[name]
    assert (twin.d_model, twin.n_heads, twin.bias, twin.out_bias) == (12, 3, *bias)
    own = next(layer.parameters())
    assert {(parameter.dtype, parameter.device) for parameter in twin.parameters()} == {(dtype, own.device)}
    assert not twin.training
    assert not any(parameter.requires_grad for parameter in twin.parameters())
    assert same(twin.save(), layer.save())
    with torch.no_grad():
        own.zero_()
    assert any(weight is not None and weight.abs().sum() > 0 for _, weight in twin.save().items()), "a copy"


def test_a_respelled_model_is_the_same_model(minilm: Model) -> None:
    assert minilm.as_implementation("fused") is minilm
    twin = minilm.as_implementation("efficient")
    assert (twin.sizes.implementation, minilm.sizes.implementation) == ("efficient", "fused")
    assert (twin.name, twin.origin, twin.folder, twin.facts) == (
        minilm.name, minilm.origin, minilm.folder, minilm.facts,
    )  # fmt: skip
    ours, theirs = (model.run("how are you", heads_off=[(0, 2)]) for model in (twin, minilm))
    assert largest_difference(ours.hidden, theirs.hidden) <= 1e-5
    assert not any(parameter.requires_grad for parameter in twin.encoder.parameters())
    with pytest.raises(Unsupported, match="'flash' is not known"):
        minilm.as_implementation("flash")
