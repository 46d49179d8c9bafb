"""Rotations and biases against the papers and transformers' own code, and the gradients of their tables."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS
from mha_core.errors import PositionError
from mha_core.measure import rounding
from mha_core.positions import ALiBi, Position, Rotary, Shaw, T5Bias
from mha_core.positions.biased import slopes
from tests.closeness import identical, same_function, within_rounding

from .attention_cases import EVERY, C, D, H
from .tiny_models import Float64Throughout

pytestmark = pytest.mark.numeric


def llama(d_head: int, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """transformers' own Llama rotation, positions from 0."""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    table: Any = LlamaRotaryEmbedding(LlamaConfig(hidden_size=H * d_head, num_attention_heads=H))
    turned = apply_rotary_pos_emb(q, k, *table(q, torch.arange(q.shape[2])[None]))
    return turned[0], turned[1]


@pytest.mark.parametrize("d_head", [2, 4, 32, 128])
def test_rotary_is_llamas_rotation(d_head: int) -> None:
    """Llama's code takes its angles in float32, off by 3e-5 at position 511; here it runs in float64 throughout."""
    q, k = (torch.randn(2, H, 513, d_head, dtype=torch.float64) for _ in range(2))
    with Float64Throughout():
        expected = llama(d_head, q, k)
    exact, single = Rotary(d_head).rotate(q, k), Rotary(d_head).rotate(q.float(), k.float())
    for own, rounded, theirs in zip(exact, single, expected, strict=True):
        same_function(own, theirs)
        within_rounding(rounded, theirs, rounding.sum_bound(2))


def test_alibis_slopes_are_the_published_ones() -> None:
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    for n_heads in range(1, 41):
        bias = ALiBi(n_heads, symmetric=False).bias(torch.zeros(1, n_heads, 5, 4), 9)
        theirs = build_alibi_tensor(torch.ones(1, 9, dtype=torch.int64), n_heads, torch.float32)  # slope · j
        within_rounding(bias - bias[..., :1], theirs[None].expand(1, n_heads, 5, 9), rounding.sum_bound(1, 2, 2))


@pytest.mark.parametrize("symmetric", [True, False])
def test_alibi_is_linear_in_the_distance(symmetric: bool) -> None:
    bias = ALiBi(6, symmetric).bias(torch.zeros(1, 6, 300, 4, dtype=torch.float64), 300)[0]
    for head, slope in enumerate(slopes(6)):
        for step in (0, 7, 299):
            assert bias[head].diagonal(-step).eq(-slope * step).all()  # step keys back
            assert bias[head].diagonal(step).eq((-slope if symmetric else slope) * step).all()


SIZES = [(32, 128), (32, 20), (8, 64), (4, 3), (64, 1000), (16, 256)]


@pytest.mark.parametrize("causal", [False, True])
def test_buckets_are_t5s(causal: bool) -> None:
    from transformers.models.t5.modeling_t5 import T5Attention

    distance = torch.arange(-600, 601)
    of_distance: Any = T5Attention._relative_position_bucket
    for buckets, max_distance in SIZES:
        own = T5Bias(H, buckets, max_distance, causal).bucket_index(distance)
        theirs = of_distance(distance, bidirectional=not causal, num_buckets=buckets, max_distance=max_distance)
        identical(own, theirs)
    whole = set(T5Bias(H, 32, 128, causal).bucket_index(distance).tolist())
    assert whole == set(range(32)) - ({16} if not causal else set())  # 16: no later key at distance 0


@pytest.mark.parametrize("causal", [False, True])
def test_t5bias_is_that_of_a_t5_with_the_same_table(causal: bool) -> None:
    from transformers import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention

    config = T5Config(d_model=C, d_kv=D, num_heads=H, is_decoder=causal)
    theirs: Any = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    own = T5Bias(H, causal=causal)
    theirs.relative_attention_bias.weight.data.copy_(own.table.data)
    for i, j in ((1, 1), (300, 300), (5, 9), (9, 5)):
        assert torch.equal(own.bias(torch.zeros(2, H, i, D), j), theirs.compute_bias(i, j))


@pytest.mark.parametrize("max_distance", [1, 3, 20])
def test_shaw_against_a_loop(max_distance: int) -> None:
    shaw = Shaw(D, max_distance).double()
    assert shaw.table.shape == (2 * max_distance + 1, D)
    for i, j in ((1, 1), (7, 7), (3, 9), (9, 3)):
        q = torch.randn(2, H, i, D, dtype=torch.float64)
        bias = shaw.bias(q, j)
        for row, column in product(range(i), range(j)):
            clipped = max(-max_distance, min(max_distance, column - row))
            vector = shaw.table[max_distance + clipped]
            expected = (q[:, :, row] * vector).sum(-1) / math.sqrt(D)
            same_function(bias[:, :, row, column], expected)


LEARNED = [name for name in EVERY if list(EVERY[name]().parameters())]


@pytest.mark.parametrize("name", LEARNED)
def test_gradients_reach_the_tables(name: str) -> None:
    position, x = EVERY[name]().double(), torch.randn(2, 7, C, dtype=torch.float64)
    (table,) = position.parameters()
    weights = IMPLEMENTATIONS["efficient"](C, H).double().save()
    expected: Tensor | None = None
    able = (other for other, kind in IMPLEMENTATIONS.items() if position.mechanisms - {"add"} <= kind.can)
    for other in ["efficient", *able]:
        table.grad = None
        out, maps = IMPLEMENTATIONS[other](C, H).double().load(weights)(x, position=position)
        torch.autograd.backward(out.square().sum() + maps.square().sum())
        assert table.grad is not None
        expected = table.grad if expected is None else expected
        same_function(table.grad, expected)
    assert expected is not None
    rows = 7  # of 40 positions
    if isinstance(position, T5Bias):
        rows = len(set(position.bucket_index(torch.arange(-6, 7)).tolist()))
    elif isinstance(position, Shaw):
        rows = 11
    assert int(expected.ne(0).any(-1).sum()) == rows, "every row that was used, and no other"


def test_sizes_that_cannot_be_built_raise() -> None:
    for d_head in (7, 1, 0, -2):
        with pytest.raises(PositionError, match=rf"d_head={d_head}.*choose an even number"):
            Rotary(d_head)
    for base in (0, -1.0, math.inf, math.nan):
        with pytest.raises(PositionError, match=rf"base={base} .*above 0"):
            Rotary(4, base)
    wrong: list[tuple[str, Callable[[], Position]]] = [
        (r"n_heads=0 .*at least 1", lambda: ALiBi(0)),
        (r"n_heads=-3 .*at least 1", lambda: T5Bias(-3)),
        (r"buckets=2 .*at least 4", lambda: T5Bias(3, buckets=2)),
        (r"buckets=1 .*at least 2", lambda: T5Bias(3, buckets=1, causal=True)),
        (r"buckets=33: .*even", lambda: T5Bias(3, buckets=33)),
        (r"max_distance=8 .*at least 9", lambda: T5Bias(3, buckets=32, max_distance=8)),
        (r"max_distance=16 .*at least 17", lambda: T5Bias(3, buckets=32, max_distance=16, causal=True)),
        (r"d_head=0 .*at least 1", lambda: Shaw(0, 5)),
        (r"max_distance=0 .*at least 1", lambda: Shaw(4, 0)),
    ]
    for message, make in wrong:
        with pytest.raises(PositionError, match=message):
            make()
    assert T5Bias(3, buckets=33, causal=True).table.shape == (33, 3)
