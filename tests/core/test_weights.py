"""Canonical weights: what load takes over and save gives back, in every implementation."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from mha_core import IMPLEMENTATIONS, MultiHeadAttention, Weights
from mha_core.errors import SizeError

NAMES = ["q", "k", "v", "o", "q_bias", "k_bias", "v_bias", "o_bias"]
each = pytest.mark.parametrize("name", IMPLEMENTATIONS)


def some(d: int = 6, biases: bool = True, out_bias: bool = True, dtype: torch.dtype = torch.float32) -> Weights:
    q, k, v, o = (torch.randn(d, d, dtype=dtype) for _ in range(4))
    q_bias, k_bias, v_bias = (torch.randn(d, dtype=dtype) if biases else None for _ in range(3))
    return Weights(q, k, v, o, q_bias, k_bias, v_bias, torch.randn(d, dtype=dtype) if out_bias else None)


def swapped(weights: Weights, name: str, tensor: torch.Tensor | None) -> Weights:
    return Weights(**{**dict(weights.items()), name: tensor})  # type: ignore[arg-type]


def test_items_are_the_eight_in_order() -> None:
    weights = some()
    assert [name for name, _ in weights.items()] == NAMES
    assert all(tensor is getattr(weights, name) for name, tensor in weights.items())


@each
def test_save_gives_back_what_load_took(name: str) -> None:
    for bias, out_bias in product((True, False), repeat=2):
        weights = some(biases=bias, out_bias=out_bias)
        layer = IMPLEMENTATIONS[name](6, 3, bias=bias, out_bias=out_bias)
        assert layer.load(weights) is layer
        for (_, saved), (_, given) in zip(layer.save().items(), weights.items(), strict=True):
            assert (saved is None) == (given is None)
            assert saved is None or (given is not None and torch.equal(saved, given) and saved.shape == given.shape)


@each
def test_out_bias_follows_bias_unless_said_otherwise(name: str) -> None:
    for bias in (True, False):
        saved = IMPLEMENTATIONS[name](6, 3, bias=bias).save()
        assert [tensor is not None for key, tensor in saved.items() if "bias" in key] == [bias] * 4


@each
def test_save_copies(name: str) -> None:
    layer = IMPLEMENTATIONS[name](6, 3)
    saved, before = layer.save(), layer.save()
    for _, tensor in saved.items():
        assert tensor is not None
        assert not tensor.requires_grad
        tensor.zero_()
    for (key, now), (_, then) in zip(layer.save().items(), before.items(), strict=True):
        assert now is not None, key
        assert then is not None, key
        assert torch.equal(now, then), key


@each
def test_load_copies_and_leaves_the_parameters_trainable(name: str) -> None:
    weights = some()
    layer = IMPLEMENTATIONS[name](6, 3).load(weights)
    before = weights.q.clone()
    weights.q.zero_()
    assert torch.equal(layer.save().q, before)
    assert all(parameter.requires_grad and parameter.is_leaf for parameter in layer.parameters())


@each
def test_load_casts_to_the_layer(name: str) -> None:
    weights = some(dtype=torch.float64)
    saved = IMPLEMENTATIONS[name](6, 3).load(weights).save()
    assert saved.q.dtype == torch.float32
    assert torch.equal(saved.q, weights.q.float())


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
        MultiHeadAttention(6, 3, bias=False).load(swapped(some(biases=False, out_bias=False), which, torch.zeros(6)))


def test_a_failed_load_changes_nothing() -> None:
    layer = MultiHeadAttention(6, 3)
    before = layer.save()
    with pytest.raises(SizeError):
        layer.load(swapped(some(), "o_bias", None))
    assert torch.equal(layer.save().q, before.q)
