"""Each implementation's peculiarities: its parameters, the shapes on its way, its own border, what it cannot do."""

from __future__ import annotations

import inspect
from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import nn

from mha_core import IMPLEMENTATIONS, Trace, masks
from mha_core.attention import AttentionLayer, as_implementation
from mha_core.attention.sequence_first import SequenceFirstAttention
from mha_core.attention.switches import Switches
from mha_core.attention.torch_module import TorchAttention
from mha_core.errors import Unsupported
from tests.closeness import identical, same_function

from .dense import random_weights, torch_twin

B, H, C, D = 2, 3, 12, 4

# parameters as (number of tensors, one of their shapes)
LAYOUTS = {
    "naive": (3 * 2 * H + 2, (D, C)),
    "efficient": (8, (C, C)),
    "fused": (4, (3 * C, C)),
    "einsum": (8, (H, D, C)),
    "sequence_first": (8, (C, C)),
    "sdpa": (8, (C, C)),
    "torch": (4, (3 * C, C)),
}
# what an implementation shows beside the steps that all have, under a mask; naive's heads are left out
OWN_STEPS = {
    "naive": "",
    "efficient": "q.project q.view q.transpose k.project k.view k.transpose v.project v.view v.transpose "
    "scores.product mixed.transpose mixed.contiguous",
    "fused": "qkv.project qkv.view",
    "einsum": "q.project q.view k.project k.view v.project v.view scores.product weights.exp",
    "sequence_first": "x.transpose q.project q.view k.project k.view v.project v.view scores.product masked.allow "
    "out.project",
    "sdpa": "",
    "torch": "",
}


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_the_way_from_x_to_out(name: str) -> None:
    layer = IMPLEMENTATIONS[name](C, H)
    parameters, (tensors, one_shape) = list(layer.parameters()), LAYOUTS[name]
    assert len(parameters) == tensors
    assert one_shape in [tuple(parameter.shape) for parameter in parameters]
    assert sum(parameter.numel() for parameter in parameters) == 4 * C * C + 4 * C
    trace = Trace()
    layer(torch.randn(B, 5, C), allow=masks.allow(masks.causal, 5, 5), trace=trace)
    own = [step.name for step in trace.steps if "." in step.name and ".head" not in step.name]
    assert own == OWN_STEPS[name].split()
    assert all(step.expression for step in trace.steps if ".head" not in step.name)
    for step in trace.steps:
        lines, first = inspect.getsourcelines(step.code)
        line = lines[step.line - first]
        calls = ("trace(", "trace)(", "record_stacked(", "head(", "head_tracer(")
        assert any(call in line for call in calls), (step.name, line)
    if name in ("sdpa", "torch"):  # what the libraries do not show
        second = {step.name for step in trace.steps if step.expression.startswith("second pass: ")}
        assert {"scores", "masked", "weights"} <= second
        assert not {"x", "out"} & second


def test_naive_shows_every_head_on_its_own() -> None:
    trace, layer = Trace(), IMPLEMENTATIONS["naive"](C, H)
    layer(torch.randn(B, 5, C), torch.randn(B, 4, C), allow=torch.rand(5, 4) < 0.7, trace=trace)
    for name, head in product(("q", "k", "v", "scores", "masked", "weights", "mixed"), range(H)):
        alone = trace[f"{name}.head{head}"]
        assert torch.equal(alone.value, trace[name].value[:, head])
        assert "h" not in alone.axes


def test_einsum_takes_the_notebooks_steps() -> None:
    """Its products by its own strings, no axis moved between them; U, of which Uₜ is the share, is written down."""
    trace, layer, x = Trace(), IMPLEMENTATIONS["einsum"](C, H).double(), torch.randn(B, 5, C, dtype=torch.float64)
    weights = random_weights(C, True, True, torch.float64)
    layer.load(weights)(x, allow=masks.allow(masks.causal, 5, 5), trace=trace)
    step = {step.name: step.value for step in trace.steps}
    biases = (weights.q_bias, weights.k_bias, weights.v_bias)
    for letter, matrix, bias in zip("qkv", (weights.q, weights.k, weights.v), biases, strict=True):
        assert bias is not None
        same_function(step[f"{letter}.project"], torch.einsum("ij,bsj->bsi", matrix, x) + bias)
        assert torch.equal(step[letter], step[f"{letter}.project"].reshape(B, 5, H, D))
    same_function(step["scores.product"], torch.einsum("bshi,bthi->bhst", step["q"], step["k"]))
    same_function(step["weights"], step["weights.exp"] / step["weights.exp"].sum(-1, keepdim=True))
    same_function(step["mixed"], torch.einsum("bhst,bthi->bshi", step["weights"], step["v"]))
    assert weights.o_bias is not None
    same_function(step["out"], torch.einsum("ij,bsj->bsi", weights.o, step["joined"]) + weights.o_bias)
    assert trace["weights.exp"].expression.startswith("second pass: ")
    source = inspect.getsource(type(layer))
    assert all(string in source for string in ('"ij,bsj->bsi"', '"bshi,bthi->bhst"', '"bhst,bthi->bshi"'))


# ---- sequence first


def pair() -> tuple[SequenceFirstAttention, AttentionLayer]:
    weights = random_weights(C, True, True, torch.float64)
    own = SequenceFirstAttention(C, H).double().load(weights)
    return own, IMPLEMENTATIONS["efficient"](C, H).double().load(weights)


@pytest.mark.parametrize("shape", [(4, 6, B), (1, 6, B), (4, 6, 1), (1, 6, 1)], ids=str)
def test_time_first_and_its_masks_broadcast(shape: tuple[int, ...]) -> None:
    own, other = pair()
    query, key = torch.randn(B, 4, C, dtype=torch.float64), torch.randn(B, 6, C, dtype=torch.float64)
    mask = torch.rand(shape) < 0.6
    out, weights = own.time_first(query.transpose(0, 1), key.transpose(0, 1), key.transpose(0, 1), mask)
    assert (out.shape, weights.shape) == ((4, B, C), (4, 6, B, H))
    expected_out, expected = other(query, key, allow=mask.expand(4, 6, B).permute(2, 0, 1)[:, None])
    same_function(out.transpose(0, 1), expected_out)
    same_function(weights.permute(2, 3, 0, 1), expected)


def test_the_steps_of_the_annotated_code() -> None:
    """Project, split, scores, × 1/√d_k, the mask with one axis for all heads, softmax over the keys, and on."""
    own, _ = pair()
    x, mask = torch.randn(5, B, C, dtype=torch.float64), torch.rand(1, 5, B) < 0.7
    mask[0, 0] = True
    trace = Trace()
    own.time_first(x, x, x, mask, Switches(trace=trace))
    step = {step.name: step for step in trace.steps}
    same_function(step["q.project"].value, own.query.linear(x))
    assert step["q.view"].is_view
    assert torch.equal(step["q"].value, step["q.project"].value.view(5, B, H, D))
    same_function(step["scores"].value, step["scores.product"].value / D**0.5)
    assert (step["masked.allow"].axes, step["masked.allow"].shape) == ("1 j b 1", (1, 5, B, 1))
    assert torch.equal(step["masked.allow"].value[..., 0], mask)
    assert torch.equal(step["masked"].value.isinf(), ~mask[..., None].expand(5, 5, B, H))
    same_function(step["weights"].value, step["masked"].value.softmax(dim=1))
    assert step["masked"].inputs == ("scores", "masked.allow")
    assert step["masked.allow"].inputs == step["q.project"].inputs == (), "what comes from outside"


def test_value_and_output_keep_their_biases_where_query_and_key_have_none() -> None:
    random = random_weights(C, True, True, torch.float64)
    given, zero = (replace(random, q_bias=bias, k_bias=bias) for bias in (None, torch.zeros(C).double()))
    x = torch.randn(B, 5, C, dtype=torch.float64)
    expected = IMPLEMENTATIONS["torch"](C, H).double().load(zero)(x)[0]
    for name in IMPLEMENTATIONS:
        if name in ("fused", "torch"):
            with pytest.raises(Unsupported, match="one matrix for q, k and v"):
                IMPLEMENTATIONS[name](C, H, bias=False, v_bias=True)
            continue
        layer = IMPLEMENTATIONS[name](C, H, bias=False, v_bias=True, out_bias=True).double().load(given)
        saved = layer.save()
        assert [key for key, tensor in saved.items() if tensor is not None and "bias" in key] == ["v_bias", "o_bias"]
        assert saved.biases == {"bias": False, "v_bias": True, "out_bias": True}
        same_function(layer(x)[0], expected)
        same_function(as_implementation(layer, "einsum")(x)[0], expected)
    for (_, filled), (_, plain) in zip(given.with_all_biases.items(), zero.items(), strict=True):
        identical(filled, plain)  # type: ignore[arg-type]


# ---- torch's kernel and torch's module


def test_torchs_module_is_the_one_that_answers() -> None:
    weights = random_weights(C, True, True, torch.float32)
    layer, twin, x = TorchAttention(C, H).load(weights).eval(), torch_twin(weights, H), torch.randn(B, 5, C)
    out, maps = twin(x, x, x, average_attn_weights=False)
    assert isinstance(layer.module, nn.MultiheadAttention)
    assert torch.equal(layer(x)[0], out)
    assert torch.equal(layer(x)[1], maps)


def test_torchs_module_cannot_leave_a_row_empty_in_one_head_only() -> None:
    allow = torch.ones(H, 5, 5, dtype=torch.bool)
    allow[1, 2] = False
    layer, x = TorchAttention(C, H).double(), torch.randn(B, 5, C, dtype=torch.float64)
    with pytest.raises(Unsupported, match="in some heads only"):
        layer(x, allow=allow)
    allow[:, 2] = False
    out, maps = layer(x, allow=allow)
    assert not maps[:, :, 2].any()
    same_function(out[:, 2], layer.module.out_proj.bias.expand(B, C))
