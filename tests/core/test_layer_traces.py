"""The record of a layer's pass: each step follows from those before, knows its memory, and changes nothing."""

import math
from functools import cache
from typing import Any

import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS, Step, Trace, masks
from mha_core.attention import AttentionLayer
from mha_core.attention.switches import Ablation
from mha_core.positions import ALiBi, Rotary
from tests.closeness import identical, same_function

from .attention_cases import B, C, Case, H, build, canonical, each, values_on
from .dense import random_weights


@each
def test_each_step_follows_from_those_before(name: str) -> None:
    weights = random_weights(C, True, True, torch.float64)
    trace, x = Trace(), torch.randn(B, 5, C, dtype=torch.float64)
    allow = masks.allow(masks.causal, 5, 5)
    build(name, weights)(x, allow=allow, trace=trace)
    step = {step.name: canonical(step) for step in trace.steps if "." not in step.name}
    identical(step["x"], x)
    for letter in "qkv":
        projected = x @ getattr(weights, letter).T + getattr(weights, f"{letter}_bias")
        same_function(step[letter], projected.view(B, 5, H, C // H).transpose(1, 2))
    same_function(step["scores"], step["q"] @ step["k"].mT / math.sqrt(C / H))
    assert torch.equal(step["masked"].isinf(), ~allow.expand(B, H, 5, 5))
    same_function(step["weights"], step["masked"].softmax(-1))
    same_function(step["mixed"], step["weights"] @ step["v"])
    same_function(step["joined"], step["mixed"].transpose(1, 2).flatten(2))
    assert weights.o_bias is not None
    same_function(step["out"], step["joined"] @ weights.o.T + weights.o_bias)


@each
def test_a_view_is_marked_where_no_number_moved(name: str) -> None:
    """Checked on the memory itself: a step is a view when it starts inside the storage of an earlier one."""
    for case in (Case("none", "self", "plain"), Case("causal", "three", "plain")):
        inputs, options = case.inputs(torch.float32)
        trace, seen = Trace(), set()
        IMPLEMENTATIONS[name](C, H)(*inputs, **options, trace=trace)
        for step in trace.steps:
            storage = step.value.untyped_storage().data_ptr()
            assert step.is_view == (storage in seen), step.name
            assert step.strides == step.value.stride()
            assert step.contiguous == step.value.is_contiguous()
            seen.add(storage)


@each
def test_a_pass_leaves_its_inputs_and_the_module_alone(name: str) -> None:
    layer = IMPLEMENTATIONS[name](C, H)
    inputs, options = Case("both", "three", "plain").inputs(torch.float32)
    copies, allow, before = [x.detach().clone() for x in inputs], options["allow"].clone(), set(vars(layer))
    layer(*inputs, **options, trace=Trace())
    assert all(torch.equal(x, copy) for x, copy in zip(inputs, copies, strict=True))
    assert torch.equal(options["allow"], allow)
    assert set(vars(layer)) == before
    assert not list(layer.buffers())


# ---- the graph

PASSES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {  # lengths of query, key and value, and the arguments
    "self": ((5,), {"allow": masks.allow(masks.window(2), 5, 5)}),
    "no mask": ((5,), {}),
    "cross": ((4, 6), {"allow": masks.allow(masks.window(2), 4, 6)}),
    "three": ((4, 6, 6), {}),
    "rotated": ((5,), {"position": Rotary(C // H)}),
    "slanted, a value off": ((5,), {"position": ALiBi(H), "ablate": Ablation(None, values_on(5, 5))}),
    "shared keys": ((5,), {"allow": masks.allow(masks.causal, 5, 5)}),
    "dropout": ((5,), {"allow": masks.allow(masks.causal, 5, 5)}),
}
NEEDS = {"rotated": {"rotate"}, "slanted, a value off": {"bias", "values_off"}, "shared keys": {"kv_heads"}}


@cache
def layer_and_inputs(name: str, case: str) -> tuple[AttentionLayer, list[Tensor]]:
    groups = 1 if case == "shared keys" else H
    layer = IMPLEMENTATIONS[name](C, H, n_kv_heads=groups, dropout=0.3 if case == "dropout" else 0.0).double()
    return layer.train(case == "dropout"), [torch.randn(B, n, C, dtype=torch.float64) for n in PASSES[case][0]]


def graph_and_values(name: str, case: str, nudged: int | None = None) -> tuple[list[Step], list[Tensor]]:
    """The steps of a pass, and their values as they were recorded; the value of step `nudged` is changed on the way."""
    layer, inputs = layer_and_inputs(name, case)
    inputs = [one.clone() for one in inputs]
    options = {key: value.clone() if isinstance(value, Tensor) else value for key, value in PASSES[case][1].items()}
    torch.default_generator.manual_seed(0)  # for dropout
    trace, values = Trace(), list[Tensor]()

    def tracer(step: str, value: Tensor, axes: str, expression: str = "", inputs: tuple[str, ...] = ()) -> None:
        if len(values) == nudged:
            memory = value
            for axis in (axis for axis, stride in enumerate(value.stride()) if not stride):  # repeats are one memory
                memory = memory.narrow(axis, 0, 1)
            torch.logical_not(memory, out=memory) if value.dtype == torch.bool else memory.mul_(1.5).add_(0.1)
        trace(step, value, axes, expression, inputs)
        values.append(value.clone())

    with torch.no_grad():
        layer(*inputs, **options, trace=tracer)
    return trace.steps, values


@each
def test_the_graph_is_what_the_forward_computes(name: str) -> None:
    """A change of a step changes exactly those after it that come from it, step by step, by what the forward says."""
    for case in PASSES:
        if not NEEDS.get(case, set()) <= IMPLEMENTATIONS[name].can:
            continue
        steps, before = graph_and_values(name, case)
        check_operands(name, case, steps)
        for at, step in enumerate(steps):
            if step.name.endswith(".head1"):  # as heads 0 and 2
                continue
            _, after = graph_and_values(name, case, at)
            changed = {n for n in range(at + 1, len(steps)) if not torch.equal(before[n], after[n])}
            reached = {at}
            for n in range(at + 1, len(steps)):
                reached |= {n} if reached & {i for i in range(n) if steps[i].name in steps[n].inputs} else set()
            stacked = {
                n for n, one in enumerate(steps) if one.inputs[:1] == (f"{one.name}.head0",)
            }  # for the record alone
            assert changed - stacked == reached - {at} - stacked, (case, step.name)


def check_operands(name: str, case: str, steps: list[Step]) -> None:
    """Every operand is an earlier step, and none is missing."""
    for at, step in enumerate(steps):
        assert len(set(step.inputs)) == len(step.inputs)
        assert set(step.inputs) <= {earlier.name for earlier in steps[:at]}
        assert bool(step.inputs) == (step.name not in {"x", "x.k", "x.v", "masked.allow"}), (case, step.name)
    of = {step.name: step.inputs for step in steps}
    if name == "naive":
        for one in ("q", "scores", "weights", "mixed"):
            assert of[one] == tuple(f"{one}.head{head}" for head in range(H))
        assert of["joined"] == of["mixed"]
    if name not in ("naive", "sdpa", "torch"):
        last = {"dropout": "weights.dropout", "slanted, a value off": "weights.values_off"}.get(case, "weights")
        assert of["mixed"] == (last, "v")
        assert of["weights"] == (("masked",) if "allow" in PASSES[case][1] else ("scores",))
