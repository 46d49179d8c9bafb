from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from mha_core import IMPLEMENTATIONS, Model, Trace, masks, positions
from mha_core.errors import PositionError
from mha_core.measure.compare import largest_difference, relative_difference, worst_row_sum
from mha_core.positions import (
    ALiBi,
    InLayers,
    Learned,
    Nothing,
    Position,
    Rotary,
    Shaw,
    Sinusoidal,
    T5Bias,
    Together,
)
from mha_core.positions.added import sinusoids
from mha_core.positions.biased import slopes
from mha_core.positions.rotated import turns

from .conftest import TIRED

C, H, D = 12, 3, 4
EVERY: dict[str, Callable[[], Position]] = {
    "add Sinusoidal": lambda: Sinusoidal(C),
    "add Learned": lambda: Learned(C, 40),
    "rotate Rotary": lambda: Rotary(D),
    "bias ALiBi": lambda: ALiBi(H),
    "bias ALiBi causal": lambda: ALiBi(H, symmetric=False),
    "bias T5Bias": lambda: T5Bias(H),
    "bias T5Bias causal": lambda: T5Bias(H, causal=True),
    "bias Shaw": lambda: Shaw(D, 5),
}

each = pytest.mark.parametrize("name", EVERY)


class Turned(Position):
    """A rotation of its own, so that three places can be told apart."""

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        return 2 * q, 3 * k


class Near(Position):
    def bias(self, q: Tensor, len_k: int) -> Tensor | None:
        distance = torch.arange(q.shape[2])[:, None] - torch.arange(len_k)
        return -distance.abs().to(q.dtype)[None, None].expand(1, q.shape[1], -1, -1)


def paper(length: int, d_model: int) -> Tensor:
    """Section 3.5 of "Attention Is All You Need", one cell at a time in Python's float64."""
    table = torch.zeros(length, d_model, dtype=torch.float64)
    for pos in range(length):
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            table[pos, 2 * i] = math.sin(angle)
            table[pos, 2 * i + 1] = math.cos(angle)
    return table


def test_the_three_places_are_no_ops_by_default() -> None:
    x, q, k = torch.randn(2, 5, 8), torch.randn(2, 4, 5, 2), torch.randn(2, 4, 6, 2)
    for position in (Position(), Nothing()):
        assert isinstance(position, nn.Module)
        assert position.add(x) is x
        rotated = position.rotate(q, k)
        assert rotated[0] is q
        assert rotated[1] is k
        assert position.bias(q, 6) is None
        assert position.acts == frozenset()


def test_each_encoding_says_where_it_acts() -> None:
    assert Sinusoidal(8).acts == Learned(8, 5).acts == {"add"}
    assert Turned().acts == {"rotate"}
    assert Near().acts == {"bias"}


def test_every_encoding_is_tested_here() -> None:
    public = {getattr(positions, name) for name in positions.__all__ if isinstance(getattr(positions, name), type)}
    assert {type(make()) for make in EVERY.values()} == public - {Position, Nothing, InLayers, Together}


@each
def test_every_encoding_acts_in_exactly_one_place(name: str) -> None:
    position, x = EVERY[name](), torch.randn(2, 7, C)
    q, k = torch.randn(2, H, 7, D), torch.randn(2, H, 9, D)
    turned = position.rotate(q, k)
    changed = {
        "add": not torch.equal(position.add(x), x),
        "rotate": not (torch.equal(turned[0], q) and torch.equal(turned[1], k)),
        "bias": position.bias(q, 9) is not None,
    }
    assert {place for place, does in changed.items() if does} == position.acts == {name.split()[0]}
    assert isinstance(position, nn.Module)


@each
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("i", "j"), [(1, 1), (5, 5), (3, 8), (8, 3), (40, 40)])
def test_shapes_kinds_and_inputs(name: str, dtype: torch.dtype, i: int, j: int) -> None:
    position = EVERY[name]().to(dtype)
    x, q, k = (torch.randn(shape, dtype=dtype) for shape in ((2, i, C), (2, H, i, D), (2, H, j, D)))
    copies = [tensor.clone() for tensor in (x, q, k)]
    added, (turned_q, turned_k), bias = position.add(x), position.rotate(q, k), position.bias(q, j)
    assert (added.shape, turned_q.shape, turned_k.shape) == (x.shape, q.shape, k.shape)
    assert {tensor.dtype for tensor in (added, turned_q, turned_k)} == {dtype}
    if bias is not None:
        assert bias.shape == (2 if "Shaw" in name else 1, H, i, j)
        assert bias.dtype == dtype
        assert bias.isfinite().all()
    assert all(torch.equal(tensor, copy) for tensor, copy in zip((x, q, k), copies, strict=True))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("position", [T5Bias(H), Shaw(D, 5)], ids=lambda position: type(position).__name__)
def test_a_bias_has_the_kind_of_the_queries_whatever_its_table_has(position: Position, dtype: torch.dtype) -> None:
    bias = position.bias(torch.randn(2, H, 7, D, dtype=dtype), 7)
    assert bias is not None
    assert bias.dtype == dtype


@each
def test_no_device_is_assumed(name: str) -> None:
    position = EVERY[name]().to("meta")
    x, q, k = (torch.randn(shape, device="meta") for shape in ((2, 7, C), (2, H, 7, D), (2, H, 9, D)))
    results = [position.add(x), *position.rotate(q, k), position.bias(q, 9)]
    assert {tensor.device.type for tensor in results if tensor is not None} == {"meta"}


@each
def test_nothing_is_kept_on_the_module(name: str) -> None:
    """Visitors share cached models: a pass with other lengths must leave no trace."""
    position, q = EVERY[name](), torch.randn(2, H, 7, D)
    before = set(vars(position)), [tensor.clone() for tensor in position.state_dict().values()]
    first = [position.add(torch.ones(1, 7, C)), *position.rotate(q, q), position.bias(q, 7)]
    position.add(torch.ones(1, 30, C)), position.rotate(q[:, :, :2], q), position.bias(q[:, :, :2], 20)
    again = [position.add(torch.ones(1, 7, C)), *position.rotate(q, q), position.bias(q, 7)]
    assert set(vars(position)) == before[0]
    assert all(torch.equal(a, b) for a, b in zip(position.state_dict().values(), before[1], strict=True))
    assert all(a is b is None or torch.equal(a, b) for a, b in zip(first, again, strict=True))  # type: ignore[arg-type]


@each
def test_kept_tables_serve_every_mode(name: str) -> None:
    """What is computed once for all must not be bound to the mode of the first who asked."""
    position, x = EVERY[name](), torch.randn(2, H, 33, D, dtype=torch.float64)
    sinusoids.cache_clear()
    turns.cache_clear()
    with torch.device("meta"), torch.inference_mode():
        _ = position.add(x.view(2, 33, C)), position.rotate(x, x)
    x.requires_grad_()
    torch.autograd.backward(position.add(position.rotate(x, x)[0].reshape(2, 33, C)).sum())
    assert x.grad is not None
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("d_model", [2, 6, 64, 384])
def test_sinusoidal_is_the_papers_formula(d_model: int) -> None:
    x = torch.randn(2, 512, d_model)
    added = Sinusoidal(d_model).add(x) - x
    assert (added.double() - paper(512, d_model)).abs().max() <= 1e-6
    exact = Sinusoidal(d_model).add(torch.zeros(1, 512, d_model, dtype=torch.float64))
    assert (exact[0, 511] - paper(512, d_model)[511]).abs().max() <= 1e-12


def test_sinusoidal_has_any_length_amplitude_and_dtype() -> None:
    zeros = torch.zeros(3, 700, 8)
    assert relative_difference(Sinusoidal(8, amplitude=0.1).add(zeros), 0.1 * Sinusoidal(8).add(zeros)) <= 1e-6
    assert Sinusoidal(8).add(zeros.double()).dtype == torch.float64
    assert Sinusoidal(8).add(zeros[0]).shape == (700, 8)


def test_sinusoidal_does_not_change_its_input() -> None:
    x = torch.zeros(1, 5, 8)
    Sinusoidal(8).add(x)
    Sinusoidal(8, amplitude=5.0).add(x)
    assert not x.any()
    assert Sinusoidal(8).add(x)[0, 0].tolist() == [0, 1] * 4


@pytest.mark.parametrize("d_model", [7, 1, 0, -2])
def test_sinusoidal_refuses_an_odd_width(d_model: int) -> None:
    with pytest.raises(PositionError, match=rf"d_model={d_model}.*even"):
        Sinusoidal(d_model)


def test_learned_adds_one_vector_a_position() -> None:
    learned, x = Learned(8, 5), torch.randn(2, 3, 8)
    added = learned.add(x)
    for place in range(3):
        assert torch.equal(added[:, place], x[:, place] + learned.table[place])
    torch.autograd.backward(added.sum())
    assert learned.table.grad is not None
    assert learned.table.grad[:3].eq(2).all()
    assert not learned.table.grad[3:].any()


def test_learned_ends_with_its_table() -> None:
    learned = Learned(8, 5)
    assert learned.add(torch.zeros(1, 5, 8)).shape == (1, 5, 8)
    with pytest.raises(PositionError, match=r"6 positions.*table has 5"):
        learned.add(torch.zeros(1, 6, 8))


@pytest.mark.parametrize("position", [Sinusoidal(8), Learned(8, 5)])
def test_another_width_raises(position: Position) -> None:
    with pytest.raises(PositionError, match=r"d_model=8.*has 6"):
        position.add(torch.zeros(1, 3, 6))


def test_together_acts_in_both_places() -> None:
    x, q, k = torch.randn(2, 5, 8), torch.randn(2, 4, 5, 2), torch.randn(2, 4, 5, 2)
    for pair in (Together(Sinusoidal(8), Near()), Together(Near(), Sinusoidal(8))):
        assert pair.acts == {"add", "bias"}
        assert torch.equal(pair.add(x), Sinusoidal(8).add(x))
        assert pair.rotate(q, k)[0] is q
        assert torch.equal(pair.bias(q, 5), Near().bias(q, 5))  # type: ignore[arg-type]
    three = Together(Together(Sinusoidal(8), Near()), Turned())
    assert three.acts == {"add", "rotate", "bias"}
    assert torch.equal(three.rotate(q, k)[1], 3 * k)


def test_together_in_one_place_raises() -> None:
    with pytest.raises(PositionError, match=r"Sinusoidal and Learned both act in add"):
        Together(Sinusoidal(8), Learned(8, 5))
    with pytest.raises(PositionError, match=r"Together and Near both act in bias"):
        Together(Together(Sinusoidal(8), Near()), Near())


def test_together_holds_the_parameters_of_both() -> None:
    assert [name for name, _ in Together(Near(), Learned(8, 5)).named_parameters()] == ["b.table"]


def test_in_layers_leaves_out_the_addition() -> None:
    x, q, k = torch.randn(1, 5, 8), torch.randn(1, 4, 5, 2), torch.randn(1, 4, 5, 2)
    rest = InLayers(Together(Together(Sinusoidal(8), Near()), Turned()))
    assert rest.acts == {"rotate", "bias"}
    assert rest.add(x) is x
    assert torch.equal(rest.rotate(q, k)[0], 2 * q)
    assert torch.equal(rest.bias(q, 5), Near().bias(q, 5))  # type: ignore[arg-type]


def llama(d_head: int, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """transformers' own Llama rotation, positions from 0."""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    table: Any = LlamaRotaryEmbedding(LlamaConfig(hidden_size=H * d_head, num_attention_heads=H))
    turned = apply_rotary_pos_emb(q, k, *table(q, torch.arange(q.shape[2])[None]))
    return turned[0], turned[1]


@pytest.mark.parametrize("d_head", [2, 4, 32, 128])
def test_rotary_is_llamas_rotation(monkeypatch: pytest.MonkeyPatch, d_head: int) -> None:
    """Llama's code takes its angles in float32, off by 3e-5 at position 511; here it runs in float64 throughout."""
    q, k = (torch.randn(2, H, 513, d_head, dtype=torch.float64) for _ in range(2))
    with monkeypatch.context() as patch:
        patch.setattr(torch, "float", torch.float64)
        patch.setattr(Tensor, "float", Tensor.double)
        expected = llama(d_head, q, k)
    exact, single = Rotary(d_head).rotate(q, k), Rotary(d_head).rotate(q.float(), k.float())
    for own, rounded, theirs in zip(exact, single, expected, strict=True):
        assert largest_difference(own, theirs) <= 1e-11
        assert largest_difference(rounded.double(), theirs) <= 1e-6
        assert relative_difference(rounded.double(), theirs) <= 1e-7


@pytest.mark.parametrize("d_head", [2, 4, 32, 128])
def test_rotary_is_llamas_rotation_as_it_runs(d_head: int) -> None:
    q, k = torch.randn(2, H, 513, d_head), torch.randn(2, H, 513, d_head)
    for own, theirs in zip(Rotary(d_head).rotate(q, k), llama(d_head, q, k), strict=True):
        # an angle of up to 512 is off by 2^-15 for the frequency's rounding and as much for the product's
        assert largest_difference(own, theirs) <= 2 * 2**-15 * 2 * float(q.abs().max())
        assert largest_difference(own[:, :, :8], theirs[:, :, :8]) <= 3e-6


def test_rotary_turns_its_pairs() -> None:
    x = torch.zeros(1, 1, 7, 6, dtype=torch.float64)
    x[..., 1] = 1
    turned, _ = Rotary(6, base=100.0).rotate(x, x)
    angle = 6 / 100 ** (2 / 6)
    assert turned[0, 0, 6].tolist() == pytest.approx([0, math.cos(angle), 0, 0, math.sin(angle), 0], abs=1e-15)
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(turned[:, :, 0], x[:, :, 0])


@pytest.mark.parametrize("d_head", [4, 32, 128])
@pytest.mark.parametrize("shift", [1, 100, 496])
def test_rotary_scores_depend_on_the_distance_alone(d_head: int, shift: int) -> None:
    q, k, before = (torch.randn(2, H, n, d_head) for n in (16, 16, shift))
    rotary = Rotary(d_head)
    here = rotary.rotate(q, k)
    there = rotary.rotate(torch.cat((before, q), dim=2), torch.cat((before, k), dim=2))
    scores, moved = here[0] @ here[1].mT, there[0][:, :, shift:] @ there[1][:, :, shift:].mT
    assert largest_difference(moved, scores) <= 1e-5 * float(scores.abs().max())
    assert largest_difference(scores, q @ k.mT) > 0.1


def published_slopes(n: int) -> list[float]:
    """The recipe of the paper's own code, written anew."""

    def of_a_power(count: int) -> list[float]:
        first = 2 ** (-(2 ** -(math.log2(count) - 3)))
        return [first * first**head for head in range(count)]

    if math.log2(n).is_integer():
        return of_a_power(n)
    lower = 2 ** math.floor(math.log2(n))
    return of_a_power(lower) + published_slopes(2 * lower)[0::2][: n - lower]


@pytest.mark.parametrize("n_heads", range(1, 41))
def test_alibis_slopes_are_the_published_ones(n_heads: int) -> None:
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    assert slopes(n_heads) == pytest.approx(published_slopes(n_heads), rel=1e-12)
    bias = ALiBi(n_heads, symmetric=False).bias(torch.zeros(1, n_heads, 5, 4), 9)
    theirs = build_alibi_tensor(torch.ones(1, 9, dtype=torch.int64), n_heads, torch.float32)  # slope · j
    assert largest_difference(bias - bias[..., :1], theirs[None].expand(1, n_heads, 5, 9)) <= 1e-6


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("n_heads", [1, 6, 8, 12])
def test_alibi_is_linear_in_the_distance(n_heads: int, symmetric: bool) -> None:
    bias = ALiBi(n_heads, symmetric).bias(torch.zeros(1, n_heads, 300, 4, dtype=torch.float64), 300)[0]
    for head, slope in enumerate(slopes(n_heads)):
        for step in (0, 1, 7, 299):
            assert bias[head].diagonal(-step).eq(-slope * step).all()  # step keys back
            assert bias[head].diagonal(step).eq((-slope if symmetric else slope) * step).all()


@pytest.mark.parametrize("n_heads", [3, 8])
def test_alibis_forms_agree_under_a_causal_mask(n_heads: int) -> None:
    layer = IMPLEMENTATIONS["efficient"](8 * n_heads, n_heads).double()
    x, allow = torch.randn(2, 9, 8 * n_heads, dtype=torch.float64), masks.allow(masks.causal, 9, 9)
    for options, same in (({"allow": allow}, True), ({}, False)):
        maps = [layer(x, position=ALiBi(n_heads, form), **options)[1] for form in (True, False)]
        assert (largest_difference(maps[0], maps[1]) <= 1e-14) == same


SIZES = [(32, 128), (32, 20), (8, 64), (4, 3), (64, 1000), (16, 256)]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("buckets", "max_distance"), SIZES)
def test_buckets_are_t5s(buckets: int, max_distance: int, causal: bool) -> None:
    from transformers.models.t5.modeling_t5 import T5Attention

    distance = torch.arange(-600, 601)
    own = T5Bias(H, buckets, max_distance, causal).bucket_of(distance)
    of_distance: Any = T5Attention._relative_position_bucket
    theirs = of_distance(distance, bidirectional=not causal, num_buckets=buckets, max_distance=max_distance)
    assert torch.equal(own, theirs)
    assert own.dtype == torch.int64
    if (buckets, max_distance) == (32, 128):
        assert set(own.tolist()) == set(range(32)) - ({16} if not causal else set())  # 16: no later key at distance 0


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("i", "j"), [(1, 1), (300, 300), (5, 9), (9, 5)])
def test_t5bias_is_that_of_a_t5_with_the_same_table(causal: bool, i: int, j: int) -> None:
    from transformers import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention

    config = T5Config(d_model=C, d_kv=D, num_heads=H, is_decoder=causal)
    theirs: Any = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    own = T5Bias(H, causal=causal)
    theirs.relative_attention_bias.weight.data.copy_(own.table.data)
    assert torch.equal(own.bias(torch.zeros(2, H, i, D), j), theirs.compute_bias(i, j))


@pytest.mark.parametrize("max_distance", [1, 3, 20])
@pytest.mark.parametrize(("i", "j"), [(1, 1), (7, 7), (3, 9), (9, 3)])
def test_shaw_against_a_loop(max_distance: int, i: int, j: int) -> None:
    shaw, q = Shaw(D, max_distance).double(), torch.randn(2, H, i, D, dtype=torch.float64)
    bias = shaw.bias(q, j)
    assert shaw.table.shape == (2 * max_distance + 1, D)
    for row in range(i):
        for column in range(j):
            clipped = max(-max_distance, min(max_distance, column - row))
            vector = shaw.table[max_distance + clipped]
            expected = (q[:, :, row] * vector).sum(-1) / math.sqrt(D)
            assert largest_difference(bias[:, :, row, column], expected) <= 1e-14


LEARNED = [name for name in EVERY if list(EVERY[name]().parameters())]


@pytest.mark.parametrize("name", LEARNED)
@pytest.mark.parametrize("need_weights", [True, False])
def test_gradients_reach_the_tables(name: str, need_weights: bool) -> None:
    position, x = EVERY[name]().double(), torch.randn(2, 7, C, dtype=torch.float64)
    (table,) = position.parameters()
    weights = IMPLEMENTATIONS["efficient"](C, H).double().save()
    expected: Tensor | None = None
    able = ["efficient", *(other for other, kind in IMPLEMENTATIONS.items() if position.acts - {"add"} <= kind.can)]
    for other in able:
        table.grad = None
        out, maps = IMPLEMENTATIONS[other](C, H).double().load(weights)(x, position=position, need_weights=need_weights)
        torch.autograd.backward(out.square().sum() + (0 if maps is None else maps.square().sum()))
        assert table.grad is not None
        expected = table.grad if expected is None else expected
        assert relative_difference(table.grad, expected) <= 1e-13
    assert expected is not None
    rows = 7  # of 40 positions
    if isinstance(position, T5Bias):
        rows = len(set(position.bucket_of(torch.arange(-6, 7)).tolist()))
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


def test_heads_that_do_not_fit_raise() -> None:
    q = torch.zeros(1, 4, 5, 6)
    with pytest.raises(PositionError, match=r"Rotary has d_head=8, the heads have 6"):
        Rotary(8).rotate(q, q)
    with pytest.raises(PositionError, match=r"Shaw has d_head=8, the heads have 6"):
        Shaw(8, 5).bias(q, 5)
    for kind in (ALiBi, T5Bias):
        with pytest.raises(PositionError, match=rf"{kind.__name__} has n_heads=3, the queries have 4"):
            kind(3).bias(q, 5)


def test_two_real_ones_together() -> None:
    """Shaw's queries come as they enter the scores: turned."""
    rotary, shaw, x = Rotary(D), Shaw(D, 5), torch.randn(2, 7, C)
    trace = Trace()
    layer = IMPLEMENTATIONS["efficient"](C, H)
    layer(x, position=Together(Together(rotary, shaw), Sinusoidal(C)), trace=trace)
    q, k = trace["q"].value, trace["k"].value
    torch.testing.assert_close(trace["scores"].value, q @ k.mT / math.sqrt(D) + shaw.bias(q, 7))
    for a, b in ((ALiBi(H), T5Bias(H)), (shaw, ALiBi(H)), (rotary, Rotary(D))):
        with pytest.raises(PositionError, match="both act in"):
            Together(a, b)


def test_every_name_builds_an_encoding() -> None:
    sizes: dict[str, Any] = {"d_model": 8, "n_heads": 2, "max_len": 5}
    kinds = [Nothing, Sinusoidal, Learned, Rotary, ALiBi, T5Bias, Shaw]
    for name, kind in zip(positions.NAMES, kinds, strict=True):
        built = positions.build(name, **sizes)
        assert type(built) is kind
        assert len(built.acts) == (0 if name == "none" else 1)
        q = torch.randn(1, 2, 5, 4)
        assert built.add(torch.randn(1, 5, 8)).shape == (1, 5, 8)
        assert built.rotate(q, q)[0].shape == q.shape
        assert name not in ("alibi", "t5", "shaw") or built.bias(q, 5) is not None
    with pytest.raises(PositionError, match=r"'sinus' is not known; choose one of none, sinusoidal, .*, shaw"):
        positions.build("sinus", **sizes)
    with pytest.raises(PositionError, match=r"d_head=3: .*even"):
        positions.build("rotary", d_model=9, n_heads=3, max_len=5)


@pytest.mark.parametrize("name", ["learned", "t5", "shaw"])
def test_a_seed_makes_a_random_table_the_same(name: str) -> None:
    sizes: dict[str, Any] = {"d_model": 8, "n_heads": 2, "max_len": 5}
    state = torch.get_rng_state()
    (first,), (second,), (other,) = (positions.build(name, **sizes, seed=seed).parameters() for seed in (4, 4, 5))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), state), "it leaves torch's own generator alone"
    (third,), (fourth,) = (positions.build(name, **sizes).parameters() for _ in range(2))
    assert not torch.equal(third, fourth)


@pytest.fixture(scope="module")
def in_another_process(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tensor]:
    """MiniLM's maps under every name, computed elsewhere with as many threads."""
    file = tmp_path_factory.mktemp("maps") / "maps.safetensors"
    program = f"""
import torch
from safetensors.torch import save_file
torch.set_num_threads({torch.get_num_threads()})
from mha_core import load_model, positions
model = load_model("minilm", device="cpu")
save_file({{name: model.run({TIRED!r}, position=name).weights for name in positions.NAMES}}, {str(file)!r})
"""
    subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[2], check=True)
    return load_file(file)


@pytest.mark.parametrize("name", positions.NAMES)
def test_minilm_with_every_name(minilm: Model, in_another_process: dict[str, Tensor], name: str) -> None:
    run = minilm.run(TIRED, position=name)
    assert run.weights.isfinite().all()
    assert run.hidden.isfinite().all()
    assert worst_row_sum(run.weights) == pytest.approx(1, abs=1e-6)
    assert torch.equal(run.weights, minilm.run(TIRED, position=name).weights)
    assert torch.equal(run.weights, in_another_process[name])
    bag = minilm.run(TIRED, position="none")
    assert (largest_difference(run.weights, bag.weights) > 0.1) == (name != "none")
    the = [place for place, token in enumerate(run.tokens) if token == "the"]
    rows = run.weights[:, :, the]
    assert (largest_difference(rows[:, :, 0], rows[:, :, 1]) > 0.1) == (name != "none")


@pytest.mark.parametrize("name", positions.NAMES)
def test_the_trace_shows_the_encoding(minilm: Model, name: str) -> None:
    position = positions.build(name, d_model=384, n_heads=12, max_len=512, seed=0)
    told, bag = (
        {step.name: step.value for step in minilm.run(TIRED, position=way, trace_layer=0).steps}
        for way in (position, "none")
    )
    same_x, same_q = (torch.equal(told[step], bag[step]) for step in ("x", "q"))
    assert same_x == ("add" not in position.acts)
    assert same_q == (position.acts <= {"bias"})
    with torch.no_grad():
        bias = position.bias(told["q"], told["k"].shape[2])
        expected = told["q"] @ told["k"].mT / math.sqrt(32) + (0 if bias is None else bias)
    torch.testing.assert_close(told["scores"], expected)
