"""Every implementation against a slow dense one, against each other and against nn.MultiheadAttention.

Which cases an implementation takes part in is read from its `can`, so that further ones are covered as they come.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS, MultiHeadAttention, Step, Trace, Weights, masks, no_trace
from mha_core.attention import AttentionLayer
from mha_core.attention.base import EVERYTHING
from mha_core.errors import DeviceError, DtypeError, HeadlightError, MaskError, SizeError, Unsupported
from mha_core.measure.compare import relative_difference
from mha_core.positions import ALiBi, Learned, Position, Rotary, Shaw, Sinusoidal, T5Bias, Together

from .dense import Counting, dense_attention, flat, gradient_of, random_weights, torch_twin

B, H, C = 2, 3, 12
CANONICAL = ["x", "q", "k", "v", "scores", "masked", "weights", "mixed", "joined", "out"]
LIMITS = {torch.float64: (1e-14, 1e-13), torch.float32: (5e-7, 2e-6)}  # outputs and maps; gradients
LOOSE = {torch.float64: 1e-14, torch.float32: 2e-6}  # with a temperature or an encoding

each = pytest.mark.parametrize("name", IMPLEMENTATIONS)


def keep(j: int) -> Tensor:
    return torch.arange(j) < torch.tensor([[j], [j - 2]])


def one_row_empty(i: int, j: int) -> Tensor:
    allow = torch.ones(B, 1, i, j, dtype=torch.bool)
    allow[1, 0, 2] = False
    return allow


MASKS: dict[str, Any] = {
    "none": lambda i, j: None,
    "causal": lambda i, j: masks.allow(masks.causal, i, j),
    "padding": lambda i, j: masks.allow(masks.full, i, j, keep(j)),
    "both": lambda i, j: masks.allow(masks.causal, i, j, keep(j)),
    "window": lambda i, j: masks.allow(masks.window(2), i, j),
    "empty row": one_row_empty,
    "per head": lambda i, j: torch.cat([masks.allow(masks.window(w), i, j) for w in (1, 2, 9)], dim=1),
}
FEATURES: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("maps", {}),
    "heads": ("heads", {"heads": torch.tensor([True, False, True])}),
    "cold": ("temperature", {"temperature": 0.5}),
    "hot": ("temperature", {"temperature": 3}),
    "added": ("maps", {"position": Sinusoidal(C)}),
    "rotated": ("rotate", {"position": Rotary(C // H)}),
    "slanted": ("bias", {"position": ALiBi(H)}),
    "slanted and hot": ("bias temperature", {"position": ALiBi(H), "temperature": 2.5}),
}
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
PAIRS = ["self", "cross", "three"]


@dataclass(frozen=True)
class Case:
    mask: str
    pair: str
    feature: str

    def __str__(self) -> str:
        return f"{self.mask}-{self.pair}-{self.feature}"

    @property
    def needs(self) -> set[str]:
        return set(FEATURES[self.feature][0].split()) | ({"head_mask"} if self.mask == "per head" else set())

    def inputs(self, dtype: torch.dtype) -> tuple[list[Tensor], dict[str, Any]]:
        """Tensors for query (, key (, value)), and the named arguments."""
        i, j = (5, 5) if self.pair == "self" else (4, 6)
        lengths = [i, j, j][: 1 + PAIRS.index(self.pair)]
        tensors = [torch.randn(B, n, C, dtype=dtype, requires_grad=True) for n in lengths]
        return tensors, {"allow": MASKS[self.mask](i, j), **FEATURES[self.feature][1]}


CASES = [Case(mask, pair, feature) for mask in MASKS for pair in PAIRS for feature in FEATURES]
# `heads` and temperatures meet every mask once; every mask and kind of input meets the plain form
FEW = [case for case in CASES if case.pair == "self" or case.feature in ("plain", "slanted")]


ORDERS = {"h": "b h i j d c", "": "b i j c"}  # the canonical orders of axes, with and without heads


def canonical(step: Step) -> Tensor:
    """The value of a step with its axes in canonical order, whatever order its implementation teaches."""
    own = step.axes.split()
    return step.value.permute(
        [own.index(letter) for letter in ORDERS["h" if "h" in own else ""].split() if letter in own]
    )


def able(name: str, case: Case) -> bool:
    return case.needs <= IMPLEMENTATIONS[name].can


def build(name: str, weights: Weights) -> AttentionLayer:
    biases = {"bias": weights.q_bias is not None, "out_bias": weights.o_bias is not None}
    return IMPLEMENTATIONS[name](C, H, **biases).to(weights.q.dtype).load(weights)


def pull(out: Tensor, maps: Tensor | None, inputs: list[Tensor]) -> None:
    """A backward pass in which every number of the result counts differently."""
    loss = (out * torch.linspace(-1, 2, out.numel(), dtype=out.dtype).view_as(out)).sum()
    if maps is not None:
        loss = loss + (maps * torch.linspace(-2, 1, maps.numel(), dtype=maps.dtype).view_as(maps)).sum()
    for tensor in inputs:
        tensor.grad = None
    torch.autograd.backward(loss)


def pass_of(
    name: str, weights: Weights, inputs: list[Tensor], options: dict[str, Any], need_weights: bool = True
) -> tuple[Tensor, Tensor | None, Tensor]:
    """out, maps and the whole gradient in one row: of the weights and of the inputs."""
    layer = build(name, weights)
    out, maps = layer(*inputs, **options, need_weights=need_weights)
    pull(out, maps, inputs)
    return out, maps, torch.cat([flat(gradient_of(layer)), *(x.grad.flatten() for x in inputs if x.grad is not None)])


def dense_pass(
    weights: Weights, inputs: list[Tensor], options: dict[str, Any], need_weights: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    leaves = {name: None if t is None else t.clone().requires_grad_() for name, t in weights.items()}
    query, key, value = [*inputs, *inputs[-1:] * 2][:3]
    out, maps = dense_attention(Weights(**leaves), query, key, value, H, **options)  # type: ignore[arg-type]
    pull(out, maps if need_weights else None, inputs)
    grads = [x.grad.flatten() for x in [*leaves.values(), *inputs] if x is not None and x.grad is not None]
    return out, maps, torch.cat(grads)


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name in IMPLEMENTATIONS for case in FEW if able(name, case)], ids=str
)
def test_equal_to_the_dense_one(name: str, case: Case, dtype: torch.dtype) -> None:
    torch.manual_seed(len(str(case)))
    for bias, out_bias in ((True, True), (False, True), (False, False)):
        weights = random_weights(C, bias, out_bias, dtype)
        inputs, options = case.inputs(dtype)
        out, maps, gradient = pass_of(name, weights, inputs, options)
        expected_out, expected_maps, expected_gradient = dense_pass(weights, inputs, options)
        limit = LIMITS[dtype][0] if case.feature in ("plain", "heads") else LOOSE[dtype]
        assert maps is not None
        assert relative_difference(maps, expected_maps) <= limit
        assert relative_difference(out, expected_out) <= limit
        assert relative_difference(gradient, expected_gradient) <= LIMITS[dtype][1]
        assert gradient.isfinite().all()


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize(
    ("name", "case"),
    [(name, case) for name in IMPLEMENTATIONS if name != "efficient" for case in CASES if able(name, case)],
    ids=str,
)
def test_equal_to_efficient(name: str, case: Case, dtype: torch.dtype) -> None:
    torch.manual_seed(len(str(case)))
    for bias, out_bias in ((True, True), (False, True), (True, False), (False, False)):
        given = random_weights(C, bias, out_bias, dtype)
        weights = build(name, given).save()  # through the canonical form
        inputs, options = case.inputs(dtype)
        out, maps, gradient = pass_of(name, given, inputs, options)
        other_out, other_maps, other_gradient = pass_of("efficient", weights, inputs, options)
        limit = LIMITS[dtype][0] if case.feature in ("plain", "heads") else LOOSE[dtype]
        assert maps is not None
        assert other_maps is not None
        assert relative_difference(out, other_out) <= limit
        assert relative_difference(maps, other_maps) <= limit
        assert relative_difference(gradient, other_gradient) <= LIMITS[dtype][1]


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("mask", ["none", "causal", "padding"])
@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        (name, encoding)
        for name in IMPLEMENTATIONS
        for encoding, position in ENCODINGS.items()
        if position.acts - {"add"} <= IMPLEMENTATIONS[name].can
    ],
)
def test_every_encoding_in_every_implementation(name: str, encoding: str, mask: str, dtype: torch.dtype) -> None:
    position, weights = copy.deepcopy(ENCODINGS[encoding]).to(dtype), random_weights(C, True, True, dtype)
    for pair in ("self", "cross"):
        inputs, options = Case(mask, pair, "plain").inputs(dtype)
        options["position"] = position
        for need_weights in (True, False):
            passes = [pass_of(each, weights, inputs, options, need_weights) for each in (name, "efficient")]
            passes.append(dense_pass(weights, inputs, options, need_weights))
            (out, maps, gradient), *others = passes
            for other_out, other_maps, other_gradient in others:
                assert relative_difference(out, other_out) <= LOOSE[dtype]
                assert relative_difference(gradient, other_gradient) <= LIMITS[dtype][1]
                if maps is not None and other_maps is not None:
                    assert relative_difference(maps, other_maps) <= LOOSE[dtype]
            assert (maps is not None) == need_weights


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name in IMPLEMENTATIONS for case in FEW if able(name, case)], ids=str
)
def test_without_maps_the_rest_is_equal(name: str, case: Case) -> None:
    torch.manual_seed(len(str(case)))
    weights = random_weights(C, True, True, torch.float64)
    inputs, options = case.inputs(torch.float64)
    out, maps, gradient = pass_of(name, weights, inputs, options, need_weights=False)
    expected_out, _, expected_gradient = dense_pass(weights, inputs, options, need_weights=False)
    assert maps is None
    assert relative_difference(out, expected_out) <= 1e-14
    assert relative_difference(gradient, expected_gradient) <= 1e-13
    assert gradient.isfinite().all()


@pytest.mark.parametrize(
    ("name", "case"),
    [(name, case) for name in IMPLEMENTATIONS for case in FEW if case.feature == "plain" and able(name, case)],
    ids=str,
)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("dtype", "limit"), [(torch.float64, 1e-14), (torch.float32, 5e-7)], ids=str)
def test_equal_to_torchs_module(name: str, case: Case, bias: bool, dtype: torch.dtype, limit: float) -> None:
    weights = random_weights(C, bias, bias, dtype)
    inputs, options = case.inputs(dtype)
    out, maps = build(name, weights)(*inputs, **options)
    query, key, value = [*inputs, *inputs[-1:] * 2][:3]
    allow = options["allow"]
    blocked = (
        None if allow is None else ~allow.expand(B, H, query.shape[1], key.shape[1]).flatten(0, 1)
    )  # True = blocked
    expected_out, expected_maps = torch_twin(weights, H)(
        query, key, value, attn_mask=blocked, need_weights=True, average_attn_weights=False
    )
    assert maps is not None
    if case.mask == "empty row":
        real = allow.any(-1).expand(B, H, -1)
        assert expected_maps[~real].isnan().all()
        maps, expected_maps = maps[real], expected_maps[real]
        out, expected_out = out[real[:, 0]], expected_out[real[:, 0]]
    assert relative_difference(out, expected_out) <= limit
    assert relative_difference(maps, expected_maps) <= limit


@each
def test_maps_are_one_a_head_and_rows_sum_to_one(name: str) -> None:
    out, maps = IMPLEMENTATIONS[name](C, H)(torch.randn(B, 4, C), torch.randn(B, 6, C))
    assert out.shape == (B, 4, C)
    assert maps is not None
    assert maps.shape == (B, H, 4, 6)
    torch.testing.assert_close(maps.sum(-1), torch.ones(B, H, 4))


@each
@pytest.mark.parametrize("shape", [(4, 6), (H, 4, 6), (1, 1, 4, 6), (B, 1, 4, 6), (1, H, 4, 6), (B, H, 4, 6)])
def test_every_shape_of_a_mask(name: str, shape: tuple[int, ...]) -> None:
    allow = torch.rand(shape) < 0.5
    if name == "torch":
        allow[..., 0] = True  # it mixes the heads, so it cannot leave a row empty in one of them
    layer, inputs = IMPLEMENTATIONS[name](C, H), (torch.randn(B, 4, C), torch.randn(B, 6, C))
    if H in shape[-3:-2] and "head_mask" not in layer.can:
        with pytest.raises(Unsupported, match="head_mask"):
            layer(*inputs, allow=allow)
        return
    _, maps = layer(*inputs, allow=allow)
    assert maps is not None
    assert not maps[~allow.expand(B, H, 4, 6)].any()
    torch.testing.assert_close(maps.sum(-1), allow.any(-1).float().expand(B, H, 4))


@pytest.mark.parametrize("name", [name for name in IMPLEMENTATIONS if "heads" in IMPLEMENTATIONS[name].can])
@pytest.mark.parametrize("head", range(H))
def test_a_head_switched_off_takes_away_its_own_contribution(name: str, head: int) -> None:
    weights = random_weights(C, True, True, torch.float64)
    layer, x = build(name, weights), torch.randn(B, 5, C, dtype=torch.float64)
    on, maps = layer(x)
    off, maps_off = layer(x, heads=torch.arange(H) != head)
    channels = slice(head * C // H, (head + 1) * C // H)
    assert weights.v_bias is not None
    v = x @ weights.v[channels].T + weights.v_bias[channels]
    contribution = maps[:, head] @ v @ weights.o[:, channels].T
    assert relative_difference(on - off, contribution) <= 1e-13
    assert torch.equal(maps_off, maps)  # it still looks; it is only not heard


@pytest.mark.parametrize("name", [name for name in IMPLEMENTATIONS if "heads" in IMPLEMENTATIONS[name].can])
def test_with_all_heads_off_only_the_bias_is_left(name: str) -> None:
    layer = IMPLEMENTATIONS[name](C, H)
    out, _ = layer(torch.randn(B, 5, C), heads=torch.zeros(H, dtype=torch.bool))
    bias = layer.save().o_bias
    assert bias is not None
    torch.testing.assert_close(out, bias.expand_as(out))


@each
@pytest.mark.parametrize("pair", PAIRS)
def test_without_a_batch(name: str, pair: str) -> None:
    layer = IMPLEMENTATIONS[name](C, H)
    inputs, _ = Case("none", pair, "plain").inputs(torch.float32)
    out, maps = layer(*(x[0] for x in inputs))
    batched_out, batched_maps = layer(*(x[:1] for x in inputs))
    assert out.shape == inputs[0][0].shape
    assert torch.equal(out, batched_out[0])
    assert torch.equal(maps, batched_maps[0])
    out, maps = layer(*(x[0] for x in inputs), need_weights=False)
    assert maps is None
    assert relative_difference(out, batched_out[0]) <= 1e-6


@each
def test_a_mask_without_a_batch(name: str) -> None:
    layer, x = IMPLEMENTATIONS[name](C, H), torch.randn(5, C)
    _, maps = layer(x, allow=masks.allow(masks.causal, 5, 5)[0, 0])
    assert torch.equal(maps > 0, torch.ones(H, 5, 5).tril().bool())


@each
def test_samples_do_not_see_each_other(name: str) -> None:
    layer, x = IMPLEMENTATIONS[name](C, H).double(), torch.randn(3, 5, C, dtype=torch.float64)
    together = layer(x)[0]
    for sample in range(3):
        assert relative_difference(together[sample], layer(x[sample])[0]) <= 1e-14


@each
def test_the_result_for_real_tokens_does_not_depend_on_padding(name: str) -> None:
    layer, x = IMPLEMENTATIONS[name](C, H).double(), torch.randn(1, 5, C, dtype=torch.float64)
    padded = torch.cat((x, 100 * torch.randn(1, 3, C, dtype=torch.float64)), dim=1)
    kept = torch.arange(8)[None] < 5
    out, maps = layer(padded, allow=masks.allow(masks.full, 8, 8, kept))
    alone_out, alone_maps = layer(x)
    assert relative_difference(out[:, :5], alone_out) <= 1e-14
    assert relative_difference(maps[:, :, :5, :5], alone_maps) <= 1e-14


@each
def test_dropout_acts_on_the_mixing_and_not_on_the_maps(name: str) -> None:
    torch.manual_seed(0)
    layer = IMPLEMENTATIONS[name](C, H, dropout=0.5)
    x = torch.randn(1, 5, C).expand(4000, 5, C).contiguous()
    layer.eval()
    calm, calm_maps = layer(x)
    assert torch.equal(layer(x)[0], calm)
    layer.train()
    for need_weights in (True, False):
        out, maps = layer(x, need_weights=need_weights)
        spread = out.std(dim=0)
        assert spread.min() > 0.01
        # the mean of 4000 draws lies within 5 standard errors of what is expected: the result without dropout
        assert ((out.mean(dim=0) - calm[0]).abs() <= 5 * spread / math.sqrt(4000)).all()
        if need_weights:
            torch.testing.assert_close(maps, calm_maps)
            torch.testing.assert_close(maps.sum(-1), torch.ones(4000, H, 5))
        else:
            assert maps is None


@each
def test_the_spread_of_dropout_is_that_of_independent_weights(name: str) -> None:
    """With v constant over the keys, mixed = v · Σ wⱼ mⱼ / (1 − p), whose variance is v² p / (1 − p) Σ wⱼ²."""
    torch.manual_seed(0)
    layer, eye = IMPLEMENTATIONS[name](4, 1, dropout=0.25), torch.eye(4)
    zero = torch.zeros(4)
    layer.load(Weights(eye, eye, 0 * eye, eye, zero, zero, torch.ones(4), zero)).train()
    out, maps = layer(torch.randn(1, 6, 4).expand(20000, 6, 4).contiguous())
    assert maps is not None
    expected = 0.25 / 0.75 * maps[0, 0].square().sum(-1)
    torch.testing.assert_close(out[..., 0].var(dim=0), expected, rtol=0.1, atol=0)


@each
def test_without_dropout_training_changes_nothing(name: str) -> None:
    layer, x = IMPLEMENTATIONS[name](C, H), torch.randn(B, 5, C)
    assert torch.equal(layer.train()(x)[0], layer.eval()(x)[0])


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name in IMPLEMENTATIONS for case in FEW if able(name, case)], ids=str
)
def test_the_traced_pass_is_the_pass(name: str, case: Case) -> None:
    layer = build(name, random_weights(C, True, True, torch.float64))
    inputs, options = case.inputs(torch.float64)
    trace = Trace()
    out, maps = layer(*inputs, **options, need_weights=False, trace=trace)
    fast_out, fast_maps = layer(*inputs, **options)
    assert maps is None
    assert relative_difference(out, fast_out) <= 1e-14
    assert relative_difference(out, layer(*inputs, **options, need_weights=False)[0]) <= 1e-14
    assert trace.steps[-1].name == "out"
    assert torch.equal(trace.steps[-1].value, out)
    assert relative_difference(canonical(trace["weights"]), fast_maps) <= 1e-14
    wanted = [step for step in CANONICAL if step != "masked" or options["allow"] is not None]
    assert [step.name for step in trace.steps if "." not in step.name] == wanted
    assert len({step.name for step in trace.steps}) == len(trace.steps)


@each
def test_each_step_follows_from_those_before(name: str) -> None:
    weights = random_weights(C, True, True, torch.float64)
    trace, x = Trace(), torch.randn(B, 5, C, dtype=torch.float64)
    allow = masks.allow(masks.causal, 5, 5)
    build(name, weights)(x, allow=allow, trace=trace)
    step = {step.name: canonical(step) for step in trace.steps if "." not in step.name}

    def is_split(tensor: Tensor, matrix: Tensor, bias: Tensor | None) -> bool:
        assert bias is not None
        expected = (x @ matrix.T + bias).view(B, 5, H, C // H).transpose(1, 2)
        return torch.allclose(tensor, expected, rtol=1e-12, atol=1e-12)

    assert torch.equal(step["x"], x)
    assert is_split(step["q"], weights.q, weights.q_bias)
    assert is_split(step["k"], weights.k, weights.k_bias)
    assert is_split(step["v"], weights.v, weights.v_bias)
    torch.testing.assert_close(step["scores"], step["q"] @ step["k"].mT / math.sqrt(C / H))
    assert torch.equal(step["masked"].isinf(), ~allow.expand(B, H, 5, 5))
    torch.testing.assert_close(step["weights"], step["masked"].softmax(-1))
    torch.testing.assert_close(step["mixed"], step["weights"] @ step["v"])
    torch.testing.assert_close(step["joined"], step["mixed"].transpose(1, 2).flatten(2))
    assert weights.o_bias is not None
    torch.testing.assert_close(step["out"], step["joined"] @ weights.o.T + weights.o_bias)
    assert {s.name: s.axes for s in trace.steps if s.name in ("q", "k", "scores", "out")} == (
        {"q": "i b h d", "k": "j b h d", "scores": "i j b h", "out": "b i c"}
        if name == "sequence_first"
        else {"q": "b h i d", "k": "b h j d", "scores": "b h i j", "out": "b i c"}
    )


@each
@pytest.mark.parametrize("case", [Case("none", "self", "plain"), Case("causal", "three", "plain")], ids=str)
def test_a_view_is_marked_where_no_number_moved(name: str, case: Case) -> None:
    """Checked on the memory itself: a step is a view when it starts inside the storage of an earlier one."""
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
@pytest.mark.parametrize(
    ("step", "axes"), [("scores", "b h j i"), ("mixed", "b i h d"), ("out", "b i j"), ("q", "b h j d"), ("x", "b c")]
)
def test_a_wrong_axis_is_caught(name: str, step: str, axes: str) -> None:
    trace = Trace()

    def mistaken(own: str, value: Tensor, real: str, expression: str = "") -> None:
        trace(own, value, axes if own == step else real, expression)

    with pytest.raises(SizeError, match=r"axes .* do not fit"):
        IMPLEMENTATIONS[name](C, H)(torch.randn(B, 4, C), torch.randn(B, 6, C), trace=mistaken)


@each
@pytest.mark.parametrize("shape", [(B, 4, C), (4, C)], ids=str)
def test_add_is_asked_once_for_each_distinct_tensor(name: str, shape: tuple[int, ...]) -> None:
    layer, x, y, z = IMPLEMENTATIONS[name](C, H), *(torch.randn(shape) for _ in range(3))
    for inputs, times in (((x,), 1), ((x, x, x), 1), ((x, y), 2), ((x, y, y), 2), ((x, y, x), 2), ((x, y, z), 3)):
        position = Counting()
        layer(*inputs, position=position)
        assert position.added == times


@each
def test_add_acts_on_query_key_and_value(name: str) -> None:
    layer, x, y, z = IMPLEMENTATIONS[name](C, H), *(torch.randn(B, 4, C) for _ in range(3))
    assert torch.equal(layer(x, y, z, position=Counting())[0], layer(x + 1, y + 1, z + 1)[0])


@each
def test_permuting_tokens_permutes_outputs_unless_there_are_positions(name: str) -> None:
    torch.manual_seed(3)
    layer, x, order = IMPLEMENTATIONS[name](C, H), torch.randn(B, 16, C), torch.randperm(16)
    out, maps = layer(x)
    moved, moved_maps = layer(x[:, order])
    assert (moved - out[:, order]).abs().max() <= 1e-5
    assert (moved_maps - maps[:, :, order][..., order]).abs().max() <= 1e-5
    encodings: list[Position] = [Sinusoidal(C)]
    encodings += [Rotary(C // H)] * ("rotate" in layer.can)
    encodings += [ALiBi(H), T5Bias(H), Shaw(C // H, 3)] * ("bias" in layer.can)
    for position in encodings:
        far = layer(x[:, order], position=position)[1] - layer(x, position=position)[1][:, :, order][..., order]
        assert far.abs().max() > 0.1


@each
def test_causal_outputs_do_not_depend_on_the_future(name: str) -> None:
    layer, x = IMPLEMENTATIONS[name](C, H).double(), torch.randn(1, 8, C, dtype=torch.float64)
    other = torch.cat((x[:, :5], torch.randn(1, 3, C, dtype=torch.float64)), dim=1)
    allow = masks.allow(masks.causal, 8, 8)
    before, after = layer(x, allow=allow)[0], layer(other, allow=allow)[0]
    assert relative_difference(before[:, :5], after[:, :5]) <= 1e-14
    assert not torch.allclose(before[:, 5:], after[:, 5:])


@each
def test_runs_are_bit_equal(name: str) -> None:
    layer, x = IMPLEMENTATIONS[name](64, 4), torch.randn(4, 50, 64)
    first_out, first_maps = layer(x)
    for _ in range(3):
        out, maps = layer(x)
        assert torch.equal(out, first_out)
        assert torch.equal(maps, first_maps)


@each
def test_inputs_are_left_alone(name: str) -> None:
    layer = IMPLEMENTATIONS[name](C, H)
    inputs, options = Case("both", "three", "plain").inputs(torch.float32)
    copies, allow = [x.detach().clone() for x in inputs], options["allow"].clone()
    layer(*inputs, **options, trace=Trace())
    assert all(torch.equal(x, copy) for x, copy in zip(inputs, copies, strict=True))
    assert torch.equal(options["allow"], allow)


@each
def test_nothing_is_kept_on_the_module(name: str) -> None:
    layer = IMPLEMENTATIONS[name](C, H)
    before = set(vars(layer))
    layer(torch.randn(B, 4, C), trace=Trace())
    assert set(vars(layer)) == before
    assert not list(layer.buffers())


@each
def test_masks_and_heads_are_moved_to_the_querys_device(name: str) -> None:
    layer, x = IMPLEMENTATIONS[name](C, H).to("meta"), torch.randn(B, 4, C, device="meta")
    options = {"heads": torch.ones(H, dtype=torch.bool)} if "heads" in layer.can else {}
    out, maps = layer(x, allow=torch.ones(4, 4, dtype=torch.bool), **options)
    assert out.device.type == "meta"
    assert maps is not None
    assert maps.device.type == "meta"


@each
def test_mixed_kinds_raise(name: str) -> None:
    layer, x = IMPLEMENTATIONS[name](C, H), torch.randn(B, 4, C)
    with pytest.raises(DtypeError, match=r"query is torch.float32 and key is torch.float64"):
        layer(x, x.double())
    with pytest.raises(DtypeError, match=r"query is torch.float64, the layer torch.float32"):
        layer(x.double())
    with pytest.raises(DtypeError, match=r"value must be a floating tensor, got torch.int64"):
        layer(x, x, x.long())
    with pytest.raises(DeviceError, match=r"query is on cpu and value is on meta"):
        layer(x, x, x.to("meta"))
    with pytest.raises(DeviceError, match=r"query is on meta, the layer on cpu"):
        layer(x.to("meta"))


@each
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
def test_sizes_that_do_not_fit_raise(name: str, shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(SizeError, match=rf"need \(b, i, {C}\)") as caught:
        IMPLEMENTATIONS[name](C, H)(*(torch.zeros(shape) for shape in shapes))
    assert all(str(shape) in str(caught.value) for shape in shapes)


@each
@pytest.mark.parametrize("shapes", [[(B, 0, C)], [(0, C)], [(B, 4, C), (B, 0, C)], [(B, 0, C), (B, 4, C)]], ids=str)
def test_a_length_of_0_raises(name: str, shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(SizeError, match="length 0; give at least one token"):
        IMPLEMENTATIONS[name](C, H)(*(torch.zeros(shape) for shape in shapes))


@each
@pytest.mark.parametrize(("d_model", "n_heads", "i", "j"), [(7, 7, 1, 1), (5, 1, 3, 2), (9, 3, 1, 5), (3, 3, 5, 1)])
def test_odd_sizes(name: str, d_model: int, n_heads: int, i: int, j: int) -> None:
    weights = random_weights(d_model, True, True, torch.float64)
    layer = IMPLEMENTATIONS[name](d_model, n_heads).double().load(weights)
    query, key = torch.randn(B, i, d_model, dtype=torch.float64), torch.randn(B, j, d_model, dtype=torch.float64)
    out, maps = layer(query, key)
    expected_out, expected_maps = dense_attention(weights, query, key, key, n_heads)
    assert relative_difference(out, expected_out) <= 1e-14
    assert relative_difference(maps, expected_maps) <= 1e-14


@each
def test_wrong_masks_heads_and_temperatures_raise(name: str) -> None:
    layer, x = IMPLEMENTATIONS[name](C, H), torch.randn(B, 4, C)
    with pytest.raises(MaskError, match=r"allow has shape \(4, 5\)"):
        layer(x, allow=torch.ones(4, 5, dtype=torch.bool))
    with pytest.raises(MaskError, match=r"bool tensor \(True = may look\), got torch.float32"):
        layer(x, allow=torch.ones(4, 4))
    for heads in (
        torch.ones(H + 1, dtype=torch.bool),
        torch.ones(B + 1, H, dtype=torch.bool),
        torch.ones(H),
        [True] * H,
    ):
        with pytest.raises(SizeError, match=rf"heads must be bool \({H},\) or \({B}, {H}\)"):
            layer(x, heads=heads)
    for temperature in (0, -1.0, math.nan, math.inf):
        with pytest.raises(HeadlightError, match="above 0"):
            layer(x, temperature=temperature)


@each
def test_heads_may_differ_within_a_batch(name: str) -> None:
    layer = IMPLEMENTATIONS[name](C, H).double().eval()
    x, heads = torch.randn(B, 4, C, dtype=torch.float64), torch.rand(B, H) < 0.5
    if "heads" not in layer.can:
        with pytest.raises(Unsupported, match="cannot do heads"):
            layer(x, heads=heads)
        return
    found, _ = layer(x, heads=heads)
    expected = torch.cat([layer(x[n : n + 1], heads=heads[n])[0] for n in range(B)])
    assert relative_difference(found, expected) <= 1e-14


@each
def test_sizes_that_cannot_be_built_raise(name: str) -> None:
    kind = IMPLEMENTATIONS[name]
    with pytest.raises(SizeError, match=r"d_model=50 cannot be split into 6 equal heads; choose a multiple of 6"):
        kind(50, 6)
    for sizes in ((12, 0), (0, 3), (12, -3)):
        with pytest.raises(SizeError, match="at least 1"):
            kind(*sizes)
    for dropout in (-0.1, 1.0, 2):
        with pytest.raises(HeadlightError, match=rf"dropout={dropout}"):
            kind(12, 3, dropout=dropout)


@pytest.mark.parametrize(
    ("feature", "options"),
    [
        ("rotate", {"position": Rotary(C // H)}),
        ("bias", {"position": ALiBi(H)}),
        ("head_mask", {"allow": torch.ones(H, 4, 4, dtype=torch.bool)}),
        ("heads", {"heads": torch.ones(H, dtype=torch.bool)}),
        ("temperature", {"temperature": 2.0}),
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


def test_the_implementations() -> None:
    assert list(IMPLEMENTATIONS) == ["naive", "efficient", "fused", "einsum", "sequence_first", "sdpa", "torch"]
    assert IMPLEMENTATIONS["fused"] is MultiHeadAttention
    for kind in IMPLEMENTATIONS.values():
        assert issubclass(kind, AttentionLayer)
        assert kind.can <= EVERYTHING
        assert isinstance(kind.can, frozenset)


@each
def test_extra_repr_names_the_sizes(name: str) -> None:
    shown = repr(IMPLEMENTATIONS[name](C, H, out_bias=False, dropout=0.1))
    assert "d_model=12, n_heads=3, bias=True, out_bias=False, dropout=0.1" in shown


@each
def test_no_trace_is_the_default(name: str) -> None:
    layer, x = IMPLEMENTATIONS[name](C, H), torch.randn(B, 4, C)
    assert torch.equal(layer(x)[0], layer(x, trace=no_trace)[0])
