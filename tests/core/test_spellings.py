"""Each implementation's peculiarities: its parameters, the shapes on its way, its own border, what it cannot do."""

from __future__ import annotations

import inspect
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mha_core import IMPLEMENTATIONS, Trace, masks, split_heads
from mha_core.attention import AttentionLayer
from mha_core.attention.sdpa import SdpaAttention
from mha_core.attention.sequence_first import ProjectAndSplit, SequenceFirstAttention
from mha_core.attention.torch_module import TorchAttention
from mha_core.errors import MaskError, Unsupported
from mha_core.measure.compare import relative_difference

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
# the steps on the way from x to out, with their axes, of self-attention under a mask; naive's heads are left out
WAYS = {
    "naive": "x:bic q:bhid k:bhjd v:bhjd scores:bhij masked:bhij weights:bhij mixed:bhid joined:bic out:bic",
    "efficient": "x:bic q.project:bic q.view:bihd q.transpose:bhid k.project:bjc k.view:bjhd k.transpose:bhjd "
    "v.project:bjc v.view:bjhd v.transpose:bhjd q:bhid k:bhjd v:bhjd scores.product:bhij scores:bhij masked:bhij "
    "weights:bhij mixed:bhid mixed.transpose:bihd mixed.contiguous:bihd joined:bic out:bic",
    "fused": "x:bic qkv.project:bi(3c) qkv.view:bi3hd q:bhid k:bhjd v:bhjd scores:bhij masked:bhij weights:bhij "
    "mixed:bhid joined:bic out:bic",
    "einsum": "x:bic q:bhid k:bhjd v:bhjd scores:bhij masked:bhij weights:bhij mixed:bhid joined:bic out:bic",
    "sequence_first": "x:bic x.transpose:ibc q:ibhd k:jbhd v:jbhd scores:ijbh masked:ijbh weights:ijbh mixed:ibhd "
    "joined:ibc out.project:ibc out:bic",
    "sdpa": "x:bic q:bhid k:bhjd v:bhjd scores:bhij masked:bhij weights:bhij mixed:bhid joined:bic out:bic",
    "torch": "x:bic q:bhid k:bhjd v:bhjd scores:bhij masked:bhij weights:bhij mixed:bhid joined:bic out:bic",
}
SIZES = {"b": B, "i": 5, "j": 5, "h": H, "d": D, "c": C, "3": 3, "(3c)": 3 * C}


def sizes_of(axes: str) -> tuple[int, ...]:
    parts = axes.replace("(3 c)", "(3c)").split()
    return tuple(SIZES[part] for part in parts)


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_every_layer_has_its_own_parameters_and_the_same_number_of_numbers(name: str) -> None:
    parameters = list(IMPLEMENTATIONS[name](C, H).parameters())
    tensors, shape = LAYOUTS[name]
    assert len(parameters) == tensors
    assert shape in [tuple(parameter.shape) for parameter in parameters]
    assert sum(parameter.numel() for parameter in parameters) == 4 * C * C + 4 * C


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_the_way_from_x_to_out(name: str) -> None:
    trace = Trace()
    allow = masks.allow(masks.causal, 5, 5)
    IMPLEMENTATIONS[name](C, H)(torch.randn(B, 5, C), allow=allow, trace=trace)
    shown = [step for step in trace.steps if ".head" not in step.name]
    assert [f"{step.name}:{step.axes.replace(' ', '')}" for step in shown] == WAYS[name].split()
    for step in shown:
        assert step.shape == sizes_of(step.axes)
        assert step.expression


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_every_step_knows_the_line_that_recorded_it(name: str) -> None:
    trace = Trace()
    IMPLEMENTATIONS[name](C, H)(torch.randn(B, 5, C), allow=masks.allow(masks.causal, 5, 5), trace=trace)
    for step in trace.steps:
        lines, first = inspect.getsourcelines(step.code)
        line = lines[step.line - first]
        assert any(call in line for call in ("trace(", "trace)(", "together(", "head(")), (step.name, line)


def test_naive_shows_every_head_on_its_own() -> None:
    trace, layer = Trace(), IMPLEMENTATIONS["naive"](C, H)
    layer(torch.randn(B, 5, C), torch.randn(B, 4, C), allow=torch.rand(5, 4) < 0.7, trace=trace)
    for name, head in product(("q", "k", "v", "scores", "masked", "weights", "mixed"), range(H)):
        alone = trace[f"{name}.head{head}"]
        assert torch.equal(alone.value, trace[name].value[:, head])
        assert "h" not in alone.axes


def test_einsum_gets_to_the_scores_without_another_look_at_memory() -> None:
    """No view and no transpose: the letters alone bring the heads to the front."""
    trace = Trace()
    IMPLEMENTATIONS["einsum"](C, H)(torch.randn(B, 5, C), trace=trace)
    assert [step.name for step in trace.steps[:5]] == ["x", "q", "k", "v", "scores"]
    assert not any(step.is_view for step in trace.steps[:5])


def test_the_einsum_notebooks_own_setting() -> None:
    """(batch, length, width) = (8, 80, 12), 2 heads, no bias; the notebook reports 1.98e-7 for its one run."""
    worst = 0.0
    for seed in range(20):
        torch.manual_seed(seed)
        theirs = nn.MultiheadAttention(12, 2, bias=False, batch_first=True)
        q, k, v = theirs.in_proj_weight.detach().chunk(3)
        layer = IMPLEMENTATIONS["einsum"](12, 2, bias=False)
        layer.load(type(layer.save())(q, k, v, theirs.out_proj.weight.detach()))
        x = torch.randn(8, 80, 12)
        worst = max(worst, relative_difference(layer(x)[0], theirs(x, x, x)[0]))
    assert 0 < worst <= 3e-7


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_the_key_bias_has_no_gradient_without_an_encoding(name: str) -> None:
    """It adds the same number to a whole row of scores, and a softmax does not see that."""
    layer = IMPLEMENTATIONS[name](C, H).double().load(random_weights(C, True, True, torch.float64))
    out, maps = layer(torch.randn(B, 5, C, dtype=torch.float64), allow=masks.allow(masks.causal, 5, 5))
    assert maps is not None
    torch.autograd.backward((out * torch.randn_like(out)).sum() + (maps * torch.randn_like(maps)).sum())
    for parameter in layer.parameters():
        assert parameter.grad is not None
        parameter.data = parameter.grad
    gradient = layer.save()
    assert gradient.k_bias is not None
    assert gradient.q_bias is not None
    assert gradient.k_bias.abs().max() <= 1e-14 * gradient.k.norm()
    assert gradient.q_bias.abs().max() > 1e-3


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
    assert out.shape == (4, B, C)
    assert weights.shape == (4, 6, B, H)
    expected_out, expected = other(query, key, allow=mask.expand(4, 6, B).permute(2, 0, 1)[:, None])
    assert relative_difference(out.transpose(0, 1), expected_out) <= 1e-14
    assert relative_difference(weights.permute(2, 3, 0, 1), expected) <= 1e-14
    torch.testing.assert_close(weights.sum(dim=1), mask.any(dim=1).double()[..., None].expand(4, B, H))


@pytest.mark.parametrize("mask", [torch.ones(4, 6, B), torch.ones(4, 6, B, dtype=torch.int64), None], ids=str)
def test_a_mask_that_is_not_bool_raises(mask: Tensor | None) -> None:
    with pytest.raises(MaskError, match="must be a bool tensor"):
        pair()[0].prepare_mask(mask, 4, 6, B)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(4, 6), (4, 1, B), (3, 6, B), (4, 6, B + 1), (6, 4, B), (4, 6, B, 1)], ids=str)
def test_a_mask_of_another_shape_raises(shape: tuple[int, ...]) -> None:
    with pytest.raises(MaskError, match=r"need \(4 or 1, 6, 2 or 1\)"):
        pair()[0].prepare_mask(torch.ones(shape, dtype=torch.bool), 4, 6, B)


def test_the_split_works_on_a_batch_without_time() -> None:
    split, x = ProjectAndSplit(C, H, bias=True), torch.randn(7, B, C)
    assert split(x).shape == (7, B, H, D)
    assert split(x[0]).shape == (B, H, D)
    torch.testing.assert_close(split(x)[0], split(x[0]))
    torch.testing.assert_close(split(x), split_heads(split.linear(x), H))


def test_the_scores_are_there_to_be_overridden() -> None:
    class Relative(SequenceFirstAttention):
        def scores(self, q: Tensor, k: Tensor) -> Tensor:
            distance = torch.arange(q.shape[0])[:, None] - torch.arange(k.shape[0])
            return super().scores(q, k) - 100 * distance.abs()[..., None, None]

    layer = Relative(C, H)
    plain = SequenceFirstAttention(C, H).load(layer.save())
    x = torch.randn(B, 5, C)
    _, maps = layer(x)
    torch.testing.assert_close(maps, torch.eye(5).expand(B, H, 5, 5))
    assert not torch.allclose(plain(x)[1], maps)


# ---- torch's kernel and torch's module


def test_sdpa_asks_the_kernel_for_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    kernel = F.scaled_dot_product_attention

    def counted(*arguments: Any, **options: Any) -> Tensor:
        calls.append(options)
        return kernel(*arguments, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", counted)
    layer, x = SdpaAttention(C, H), torch.randn(B, 5, C)
    layer(x, need_weights=False)
    layer(x, need_weights=True)
    layer(x, trace=Trace())
    assert len(calls) == 3


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
    layer, x = TorchAttention(C, H), torch.randn(B, 5, C)
    with pytest.raises(Unsupported, match="in some heads only"):
        layer(x, allow=allow)
    allow[:, 2] = False
    out, maps = layer(x, allow=allow)
    assert not maps[:, :, 2].any()
    torch.testing.assert_close(out[:, 2], layer.module.out_proj.bias.expand(B, C))


def test_torchs_own_maps_are_those_after_dropout_and_ours_those_before() -> None:
    torch.manual_seed(0)
    layer, x = TorchAttention(C, H, dropout=0.5).train(), torch.randn(B, 5, C)
    _, theirs = layer.module(x, x, x, average_attn_weights=False)
    assert (theirs.detach().sum(-1) - 1).abs().max() > 0.1
    torch.testing.assert_close(layer(x)[1].sum(-1), torch.ones(B, H, 5))


def test_what_the_libraries_cannot_do() -> None:
    assert IMPLEMENTATIONS["torch"].can == {"maps", "head_mask"}
    assert "head_mask" not in IMPLEMENTATIONS["sequence_first"].can


def test_an_unknown_implementation_says_which_there_are() -> None:
    with pytest.raises(Unsupported, match="implementation='flash' is not known; choose one of naive, efficient"):
        IMPLEMENTATIONS["flash"]
    assert "flash" not in IMPLEMENTATIONS
    assert IMPLEMENTATIONS.get("flash") is None


@pytest.mark.parametrize("name", ["sdpa", "torch"])
def test_what_the_libraries_do_not_show_is_said_to_come_from_a_second_pass(name: str) -> None:
    trace = Trace()
    IMPLEMENTATIONS[name](C, H)(torch.randn(B, 5, C), allow=masks.allow(masks.causal, 5, 5), trace=trace)
    second = {step.name for step in trace.steps if step.expression.startswith("second pass: ")}
    assert {"scores", "masked", "weights"} <= second
    assert not {"x", "out"} & second
