"""Every implementation against a slow dense one and against nn.MultiheadAttention, with its gradients.

Which cases an implementation takes part in is read from its `can`, so that further ones are covered as they come.
"""

import copy
from functools import cache
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS, MultiHeadAttention, Weights
from mha_core.attention import AttentionLayer
from mha_core.attention.switches import EVERYTHING
from mha_core.measure.measures import relative_difference
from mha_core.positions import ALiBi, Learned, Position, Rotary, Shaw, Sinusoidal, T5Bias, Together

from .attention_cases import (
    BIASES,
    EXACT,
    FEATURES,
    GRADIENTS,
    MASKS,
    ON_ITSELF,
    PAIRS,
    PAIRWISE,
    B,
    C,
    Case,
    H,
    able,
    bounds,
    build,
    canonical,
    dense_pass,
    each,
    pass_of,
    traced,
)
from .dense import dense_attention, random_weights, torch_twin

pytestmark = pytest.mark.numeric

CANONICAL = ["x", "q", "k", "v", "scores", "masked", "weights", "mixed", "joined", "out"]
ENCODINGS: dict[str, Position] = {
    "learned": Learned(C, 6, std=1.0),
    "rotary": Rotary(C // H),
    "alibi": ALiBi(H),
    "alibi causal": ALiBi(H, symmetric=False),
    "t5": T5Bias(H),
    "t5 causal": T5Bias(H, causal=True),
    "shaw": Shaw(C // H, 2),
    "in every place": Together(Together(Sinusoidal(C), Rotary(C // H)), Shaw(C // H, 2)),
}


def test_every_pair_of_conditions_is_tried() -> None:
    for one, other in (("mask", "feature"), ("mask", "pair"), ("feature", "pair"), ("mask", "biases"),
                       ("feature", "biases"), ("pair", "biases")):  # fmt: skip
        choices = {"mask": MASKS, "feature": FEATURES, "pair": PAIRS, "biases": BIASES}
        tried = {(getattr(case, one), getattr(case, other)) for case in PAIRWISE}
        assert tried == set(product(choices[one], choices[other])), (one, other)


@cache
def dense_one(case: Case, dtype: torch.dtype) -> tuple[Weights, list[Tensor], dict[str, Any], list[list[Tensor]]]:
    """What a case gives to each implementation, and the dense pass: with the gradient of the maps too, and without."""
    torch.manual_seed(len(str(case)))
    weights = random_weights(C, *case.biases, dtype)
    inputs, options = case.inputs(dtype)
    passes = [dense_pass(weights, inputs, options, need_weights=need) for need in (True, False)]
    return weights, inputs, options, [[tensor.detach() for tensor in one] for one in passes]


@able(PAIRWISE)
def test_equal_to_the_dense_one(name: str, case: Case) -> None:
    """In float64: with maps, without, and traced."""
    weights, inputs, options, (with_maps, without) = dense_one(case, torch.float64)
    out, maps, gradient = pass_of(name, weights, inputs, options)
    expected_out, expected_maps, expected_gradient = with_maps
    assert maps is not None
    assert relative_difference(maps, expected_maps) <= EXACT
    assert relative_difference(out, expected_out) <= EXACT
    assert relative_difference(gradient, expected_gradient) <= GRADIENTS[torch.float64]
    assert gradient.isfinite().all()

    out, no_maps, gradient = pass_of(name, weights, inputs, options, need_weights=False)
    _, _, expected_gradient = without
    assert no_maps is None
    assert relative_difference(out, expected_out) <= EXACT
    assert relative_difference(gradient, expected_gradient) <= GRADIENTS[torch.float64]
    assert gradient.isfinite().all()

    out, trace = traced(build(name, weights), *inputs, **options)
    assert relative_difference(out, expected_out) <= EXACT
    assert torch.equal(trace["out"].value, out)
    assert relative_difference(canonical(trace["weights"]), expected_maps) <= EXACT
    wanted = [step for step in CANONICAL if step != "masked" or options["allow"] is not None]
    assert [step.name for step in trace.steps if "." not in step.name] == wanted
    assert len({step.name for step in trace.steps}) == len(trace.steps)
    assert trace.steps[-1].name == "out"


@able(ON_ITSELF)
def test_equal_to_the_dense_one_in_float32(name: str, case: Case) -> None:
    weights, inputs, options, ((expected_out, expected_maps, expected_gradient), _) = dense_one(case, torch.float32)
    out, maps, gradient = pass_of(name, weights, inputs, options)
    of_out, of_maps = bounds(weights, H, inputs, options)
    assert maps is not None
    assert relative_difference(maps, expected_maps) <= of_maps
    assert relative_difference(out, expected_out) <= of_out
    assert relative_difference(gradient, expected_gradient) <= GRADIENTS[torch.float32]


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        (name, encoding)
        for name in IMPLEMENTATIONS
        for encoding, position in ENCODINGS.items()
        if position.acts - {"add"} <= IMPLEMENTATIONS[name].can
    ],
)
def test_every_encoding_in_every_implementation(name: str, encoding: str) -> None:
    position, weights = copy.deepcopy(ENCODINGS[encoding]).double(), random_weights(C, True, True, torch.float64)
    for mask, pair in (("none", "self"), ("causal", "cross"), ("padding", "self"), ("none", "cross")):
        inputs, options = Case(mask, pair, "plain").inputs(torch.float64)
        options["position"] = position
        for need_weights in (True, False):
            out, maps, gradient = pass_of(name, weights, inputs, options, need_weights)
            expected_out, expected_maps, expected_gradient = dense_pass(weights, inputs, options, need_weights)
            assert relative_difference(out, expected_out) <= EXACT
            assert relative_difference(gradient, expected_gradient) <= GRADIENTS[torch.float64]
            assert (maps is not None) == need_weights
            assert maps is None or relative_difference(maps, expected_maps) <= EXACT


@able([Case(mask, PAIRS[number % 3], "plain") for number, mask in enumerate(MASKS)])
def test_equal_to_torchs_module(name: str, case: Case) -> None:
    for bias, dtype in product((True, False), GRADIENTS):
        weights = random_weights(C, bias, bias, dtype)
        inputs, options = case.inputs(dtype)
        out, maps = build(name, weights)(*inputs, **options)
        query, key, value = [*inputs, *inputs[-1:] * 2][:3]
        allow = options["allow"]
        # there True is blocked, one mask a head
        blocked = None if allow is None else ~allow.expand(B, H, query.shape[1], key.shape[1]).flatten(0, 1)
        expected_out, expected_maps = torch_twin(weights, H)(
            query, key, value, attn_mask=blocked, need_weights=True, average_attn_weights=False
        )
        assert maps is not None
        limits = (EXACT, EXACT) if dtype == torch.float64 else bounds(weights, H, inputs, options)
        if case.mask == "empty row":
            real = allow.any(-1).expand(B, H, -1)
            assert expected_maps[~real].isnan().all()
            maps, expected_maps = maps[real], expected_maps[real]
            out, expected_out = out[real[:, 0]], expected_out[real[:, 0]]
        assert relative_difference(out, expected_out) <= limits[0]
        assert relative_difference(maps, expected_maps) <= limits[1]


@each
def test_odd_sizes(name: str) -> None:
    for d_model, n_heads, i, j in ((7, 7, 1, 1), (5, 1, 3, 2), (9, 3, 1, 5), (3, 3, 5, 1)):
        weights = random_weights(d_model, True, True, torch.float64)
        layer = IMPLEMENTATIONS[name](d_model, n_heads).double().load(weights)
        query, key = torch.randn(B, i, d_model, dtype=torch.float64), torch.randn(B, j, d_model, dtype=torch.float64)
        out, maps = layer(query, key)
        expected_out, expected_maps = dense_attention(weights, query, key, key, n_heads)
        assert relative_difference(out, expected_out) <= EXACT
        assert relative_difference(maps, expected_maps) <= EXACT


def test_the_implementations() -> None:
    """All pass through the one `forward` that checks their arguments, and the one `load` and `save`."""
    assert list(IMPLEMENTATIONS) == ["naive", "efficient", "fused", "einsum", "sequence_first", "sdpa", "torch"]
    assert IMPLEMENTATIONS["fused"] is MultiHeadAttention
    for kind in IMPLEMENTATIONS.values():
        assert issubclass(kind, AttentionLayer)
        assert not {"forward", "__init__", "load", "save"} & vars(kind).keys()
        assert kind.can <= EVERYTHING
        assert isinstance(kind.can, frozenset)
