"""Layers that are right give no alarm, whoever wrote them."""

import functools
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from mha_core import IMPLEMENTATIONS, attention, check
from mha_core.check import FAILS, HOLDS, NOT_APPLICABLE, UNKNOWN
from mha_core.check.identify import identify
from tests.check.layers import ALARMS, D_MODEL, N_HEADS, OPTIONS, SOURCES, build

SIZES = [(32, 4), (64, 4), (48, 6)]


@pytest.mark.parametrize("style", SOURCES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_no_style_of_code_raises_an_alarm(style: str, dtype: torch.dtype) -> None:
    for seed, (d_model, n_heads) in enumerate(SIZES):
        report = check(build(style, d_model, n_heads, seed), d_model, n_heads, dtype=dtype, **OPTIONS[style])
        assert [finding.number for finding in report.failures] == ALARMS.get(style, []), str(report)
        assert [report[number].verdict for number in (1, 5, 6, 7)] == [HOLDS] * 4


@pytest.mark.thorough("it takes tens of seconds and repeats the quick cases")
@pytest.mark.numeric
@pytest.mark.parametrize("style", SOURCES)
@pytest.mark.parametrize("threads", [1, 2])
def test_no_style_raises_an_alarm_with_other_seeds_and_threads(style: str, threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for seed in range(6):
            d_model, n_heads = SIZES[seed % 3]
            dtype = torch.float32 if seed % 2 else torch.float64
            report = check(build(style, d_model, n_heads, seed + 10), d_model, n_heads, dtype=dtype, **OPTIONS[style])
            assert [finding.number for finding in report.failures] == ALARMS.get(style, []), str(report)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("window", [2, 3])
@pytest.mark.parametrize(
    ("style", "line", "masked"),
    [
        ("Causal", "        att = F.softmax(", "att = att.masked_fill({} - {}.mT >= {}, -1e9)"),
        ("Separate", "        weights = scores", "scores = scores.masked_fill(({} - {}.mT).abs() >= {}, -1e9)"),
        ("Grouped", "        weights = torch.s", "scores = scores.masked_fill({}[-n:] - {}.mT >= {}, -1e9)"),
    ],
)
def test_a_short_window_is_no_fault(style: str, line: str, masked: str, window: int) -> None:
    places = "torch.arange({}.shape[-1])[:, None]".format("att" if style == "Causal" else "scores")
    lines = {line: f"        {masked.format(places, places, window)}\n{line}"}
    report = check(build(style, lines=lines), D_MODEL, N_HEADS, **OPTIONS[style])
    assert not report.failures, str(report)
    assert [report[number].verdict for number in (1, 6, 7, 8)] == [HOLDS] * 4


@pytest.mark.parametrize(
    ("style", "lines", "number", "words"),
    [
        ("Joined", {}, 1, "it returns their mean over the heads"),
        ("Separate", {}, 11, "the weights that it returns are those after dropout"),
        ("Causal", {"return self.c_proj(y)": "return x + self.c_proj(y)"}, 15, "the input itself (a residual)"),
    ],
)
def test_what_is_unusual_is_told_and_no_fault(style: str, lines: dict[str, str], number: int, words: str) -> None:
    report = check(build(style, lines=lines), D_MODEL, N_HEADS, **OPTIONS[style])
    assert [finding.number for finding in report.failures] == ALARMS.get(style, [])
    assert words in report[number].words


class Kernel(torch.autograd.Function):
    """Attention with a backward pass of its own, which cannot be looked into."""

    @staticmethod
    def forward(ctx: Any, q: Any, k: Any, v: Any) -> Any:
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        ctx.save_for_backward(q, k, v, weights)
        return weights @ v

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> Any:
        q, k, v, weights = ctx.saved_tensors
        slope = weights * ((slopes[0] @ v.mT) - (slopes[0] * (weights @ v)).sum(-1, keepdim=True)) / q.shape[-1] ** 0.5
        return slope @ k, slope.mT @ q, weights.mT @ slopes[0]


@pytest.mark.parametrize(
    "lines",
    [
        {"block=16": "block=3"},
        {"O = torch.zeros_like(Q)": "O = nn.kernel(Q, K, V)", "O * alpha + P @ v_j": "O", "O / l": "O"},
    ],
    ids=["blocks of 3", "a backward pass of its own"],
)
def test_of_a_kernel_that_cannot_be_looked_into_the_outside_decides(
    lines: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nn, "kernel", Kernel.apply, raising=False)
    report = check(build("Flash", lines=lines), D_MODEL, N_HEADS)
    assert not report.failures, str(report)
    assert [report[number].verdict for number in (1, 2, 5, 8, 13, 14)] == [HOLDS, NOT_APPLICABLE, *[HOLDS] * 4]
    assert [report[number].verdict for number in (6, 7, 10, 15)] == [UNKNOWN] * 4


def test_a_sum_that_is_missing_is_seen_from_outside() -> None:
    report = check(build("Flash", lines={"block=16": "block=3", "        O = O / l\n": ""}), D_MODEL, N_HEADS)
    assert [finding.cause for finding in report.failures] == ["no softmax"]


@pytest.mark.parametrize("batch_first", [True, False])
def test_torchs_own_layer_fails_only_for_rows_without_a_key_which_it_makes_nan(batch_first: bool) -> None:
    layer = nn.MultiheadAttention(D_MODEL, N_HEADS, batch_first=batch_first, dropout=0.1)
    report = check(layer, D_MODEL, N_HEADS)
    assert [finding.number for finding in report.failures] == [12]
    x = torch.randn(1, 3, D_MODEL) if batch_first else torch.randn(3, 1, D_MODEL)
    out = layer.eval()(x, x, x, attn_mask=torch.ones(3, 3, dtype=torch.bool))[0]
    assert bool(out.isnan().all())  # the alarm is true


def test_torchs_function_and_the_cores_hold() -> None:
    for function in (F.scaled_dot_product_attention, attention):
        report = check(function, D_MODEL, N_HEADS)
        assert not report.failures, str(report)
        assert report[7].verdict == HOLDS


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_each_implementation_holds(name: str) -> None:
    report = check(IMPLEMENTATIONS[name](D_MODEL, N_HEADS), D_MODEL, N_HEADS)
    assert not report.failures, str(report)


def transformers_layers() -> list[tuple[nn.Module, dict[str, Any]]]:
    """Layers of the library with tiny random weights, and the arguments that their kind needs."""
    from transformers import BertConfig, GPT2Config, LlamaConfig, T5Config
    from transformers.models.bert.modeling_bert import BertLayer, BertSelfAttention
    from transformers.models.gpt2.modeling_gpt2 import GPT2Attention, GPT2Block
    from transformers.models.llama.modeling_llama import LlamaAttention
    from transformers.models.t5.modeling_t5 import T5Attention

    options: Any = {"attn_implementation": "eager"}
    sizes: Any = {"hidden_size": D_MODEL, "num_attention_heads": N_HEADS}
    bert = BertConfig(**sizes, intermediate_size=64, **options)
    gpt2 = GPT2Config(n_embd=D_MODEL, n_head=N_HEADS, **options)
    llama = LlamaConfig(**sizes, num_key_value_heads=2, **options)
    t5 = T5Config(d_model=D_MODEL, num_heads=N_HEADS, d_kv=D_MODEL // N_HEADS, **options)
    make: Any = functools.partial  # the library's classes have no types
    return [
        (make(BertSelfAttention, bert, layer_idx=0)(), {}),
        (make(BertLayer, bert)(), {}),
        (make(GPT2Attention, gpt2, layer_idx=0)(), {}),
        (make(GPT2Block, gpt2, layer_idx=0)(), {}),
        (LlamaAttention(llama, layer_idx=0), {"positions": "rotary halves"}),
        (T5Attention(t5, has_relative_attention_bias=True, layer_idx=0), {"scale": 1.0}),
    ]


@pytest.mark.parametrize("place", range(6))
def test_no_layer_of_transformers_raises_an_alarm(place: int) -> None:
    layer, options = transformers_layers()[place]
    report = check(layer, D_MODEL, N_HEADS, **options)
    assert not report.failures, str(report)
    assert report[1].verdict == report[7].verdict == HOLDS
    if place == 4:  # grouped keys, rotations and a cache
        assert [report[number].verdict for number in (8, 9, 10)] == [HOLDS] * 3


def test_the_layer_is_left_as_it_was() -> None:
    layer = build("Separate").train()
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    check(layer, D_MODEL, N_HEADS)
    assert layer.training
    for name, value in layer.state_dict().items():
        assert_close(value, before[name], rtol=0, atol=0)


def test_layout_and_mask_are_found_by_trial() -> None:
    found = identify(build("TimeFirst"), D_MODEL, N_HEADS).target
    assert found.mask is not None
    assert (found.layout, found.mask.name, found.mask.code, found.mask.shape) == (
        "sbd",
        "mask",
        "True attends",
        "i j b",
    )
    found = identify(nn.MultiheadAttention(D_MODEL, N_HEADS), D_MODEL, N_HEADS).target
    assert found.mask is not None
    assert found.padding is not None
    assert (found.layout, found.mask.code, found.padding.name) == ("sbd", "True blocks", "key_padding_mask")
    found = identify(build("Separate"), D_MODEL, N_HEADS).target
    assert found.mask is not None
    assert found.padding is not None
    assert (found.layout, found.padding.shape) == ("bsd", "b j")


def test_a_layer_that_is_called_by_hand() -> None:
    layer = nn.MultiheadAttention(D_MODEL, N_HEADS, batch_first=True)

    def call(module: Any, x: Any, allow: Any) -> Any:
        return module(x, x, x, attn_mask=None if allow is None else ~allow.repeat_interleave(N_HEADS, 0))

    report = check(layer, D_MODEL, N_HEADS, call=call)
    assert [finding.number for finding in report.failures] == [12]
    assert report[3].verdict == report[15].verdict == HOLDS
    assert FAILS not in {report[number].verdict for number in (2, 4)}
