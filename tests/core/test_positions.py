"""Positional encodings: the three places, their names, and the two that are added to the embeddings."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import positions
from mha_core.errors import PositionError
from mha_core.measure import rounding
from mha_core.positions import (
    ALiBi,
    LayerPart,
    Learned,
    Nothing,
    Offset,
    Rotary,
    Shaw,
    Sinusoidal,
    T5Bias,
    Together,
    altered,
)
from mha_core.positions.added import sinusoids
from mha_core.positions.rotated import rotation_tables
from tests.closeness import identical, same_function, within_rounding

from .attention_cases import EVERY, C, D, H

pytestmark = pytest.mark.numeric
each = pytest.mark.parametrize("name", EVERY)


def paper(length: int, d_model: int) -> Tensor:
    """Section 3.5 of "Attention Is All You Need", one cell at a time in Python's float64."""
    table = torch.zeros(length, d_model, dtype=torch.float64)
    for pos in range(length):
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            table[pos, 2 * i] = math.sin(angle)
            table[pos, 2 * i + 1] = math.cos(angle)
    return table


def test_mechanisms_are_known_without_building_an_encoding() -> None:
    for name in positions.NAMES:
        assert positions.mechanisms(name) == positions.build(name, d_model=8, n_heads=2, max_len=5).mechanisms
    assert positions.mechanisms("shuffled") == positions.mechanisms("scaled:0.5") == {"add"}
    with pytest.raises(PositionError, match="is not known; choose one of none, sinusoidal"):
        positions.mechanisms("trained")


@each
def test_encoding_continues_after_cached_tokens(name: str) -> None:
    whole, past = EVERY[name]().double(), 4
    later = Offset(whole, past)
    x, q, k = (torch.randn(shape, dtype=torch.float64) for shape in ((2, 9, C), (2, H, 9, D), (2, H, 9, D)))
    same_function(later.add(x[:, past:]), whole.add(x)[:, past:])
    for turned, own in zip(later.rotate(q[:, :, past:], k[:, :, past:]), whole.rotate(q, k), strict=True):
        same_function(turned, own[:, :, past:])
    bias, of_all = later.bias(q[:, :, past:], 9), whole.bias(q, 9)
    assert (bias is None) == (of_all is None)
    if bias is not None and of_all is not None:
        same_function(bias, of_all[:, :, past:])


@each
def test_places_shapes_kinds_and_inputs(name: str) -> None:
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        position = EVERY[name]().to(dtype)
        for i, j in ((1, 1), (3, 8), (8, 3), (40, 40)):
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
        changed = {
            "add": not torch.equal(added, x),
            "rotate": not (torch.equal(turned_q, q) and torch.equal(turned_k, k)),
            "bias": bias is not None,
        }
        assert {place for place, does in changed.items() if does} == position.mechanisms == {name.split()[0]}


@each
def test_kept_tables_serve_every_mode(name: str) -> None:
    """What is computed once for all must not be bound to the mode of the first who asked."""
    position, x = EVERY[name](), torch.randn(2, H, 33, D, dtype=torch.float64)
    sinusoids.cache_clear()
    rotation_tables.cache_clear()
    with torch.device("meta"), torch.inference_mode():
        _ = position.add(x.view(2, 33, C)), position.rotate(x, x)
    x.requires_grad_()
    torch.autograd.backward(position.add(position.rotate(x, x)[0].reshape(2, 33, C)).sum())
    assert x.grad is not None
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("d_model", [2, 6, 64])
def test_sinusoidal_is_the_papers_formula(d_model: int) -> None:
    expected, zeros = paper(512, d_model), torch.zeros(3, 512, d_model, dtype=torch.float64)
    same_function(Sinusoidal(d_model).add(zeros), expected.expand(3, -1, -1))
    same_function(Sinusoidal(d_model, amplitude=0.1).add(zeros[0]), 0.1 * expected)
    single = Sinusoidal(d_model).add(zeros.float())
    within_rounding(single, expected.expand(3, -1, -1), rounding.sum_bound(1))
    assert single.dtype == torch.float32


def test_learned_adds_one_vector_a_position() -> None:
    learned, x = Learned(8, 5), torch.randn(2, 3, 8)
    added = learned.add(x)
    for place in range(3):
        assert torch.equal(added[:, place], x[:, place] + learned.table[place])


def test_wrong_sizes_raise() -> None:
    for position, shape, message in (
        (Learned(8, 5), (1, 6, 8), r"6 positions.*table has 5"),
        (Learned(8, 5), (1, 3, 6), r"d_model=8.*has 6"),
        (Sinusoidal(8), (1, 3, 6), r"d_model=8.*has 6"),
    ):
        with pytest.raises(PositionError, match=message):
            position.add(torch.zeros(shape))
    for d_model in (7, 0):
        with pytest.raises(PositionError, match=rf"d_model={d_model}.*even"):
            Sinusoidal(d_model)


def test_together_acts_in_both_places() -> None:
    x, q, k = torch.randn(2, 5, 8), torch.randn(2, 4, 5, 2), torch.randn(2, 4, 5, 2)
    three = Together(Together(Sinusoidal(8), ALiBi(4)), Rotary(2))
    assert three.mechanisms == {"add", "rotate", "bias"}
    identical(three.add(x), Sinusoidal(8).add(x))
    rest = LayerPart(three)
    assert rest.mechanisms == {"rotate", "bias"}
    assert rest.add(x) is x
    identical(rest.rotate(q, k)[0], Rotary(2).rotate(q, k)[0])
    identical(rest.bias(q, 5), ALiBi(4).bias(q, 5))  # type: ignore[arg-type]
    with pytest.raises(PositionError, match=r"Sinusoidal and Learned both act in add"):
        Together(Sinusoidal(8), Learned(8, 5))
    with pytest.raises(PositionError, match=r"Together and ALiBi both act in bias"):
        Together(Together(Sinusoidal(8), ALiBi(4)), ALiBi(4))


def test_every_name_builds_an_encoding() -> None:
    sizes: dict[str, Any] = {"d_model": 8, "n_heads": 2, "max_len": 5}
    kinds = [Nothing, Sinusoidal, Learned, Rotary, ALiBi, T5Bias, Shaw]
    for name, kind in zip(positions.NAMES, kinds, strict=True):
        built = positions.build(name, **sizes)
        assert type(built) is kind
    with pytest.raises(PositionError, match=r"'sinus' is not known; choose one of none, sinusoidal, .*, shaw"):
        positions.build("sinus", **sizes)
    for name in ("learned", "t5", "shaw"):
        (first,), (second,), (other,) = (positions.build(name, **sizes, seed=seed).parameters() for seed in (4, 4, 5))
        assert torch.equal(first, second)
        assert not torch.equal(first, other)
    for amplitude, spread in ((None, 0.02), (1.0, 1.0)):
        (table,) = positions.build("learned", **{**sizes, "max_len": 500}, amplitude=amplitude).parameters()
        assert abs(float(table.detach().std()) - spread) <= 0.05 * spread, "of 4,000 draws"


# ---- a trained table with its rows in another order, or scaled


def table() -> Learned:
    return Learned(40, 6, generator=torch.Generator().manual_seed(1))


def test_shuffled_is_a_permutation_of_all_rows() -> None:
    learned = table()
    before = learned.table.detach().clone()
    shuffled = altered(learned, "shuffled").table
    assert not torch.equal(shuffled, before)
    assert sorted(map(tuple, shuffled.tolist())) == sorted(map(tuple, before.tolist()))
    identical(altered(learned, "shuffled").table, shuffled)
    identical(learned.table.detach(), before)  # the model's own stays as it is


def test_a_scaled_table_is_a_copy() -> None:
    for factor in (0.0, 0.5, 1.0, -2.0):
        learned = table()
        made = altered(learned, f"scaled:{factor}")
        identical(made.table, learned.table * factor)
        assert made.table.requires_grad
        assert made.table.data_ptr() != learned.table.data_ptr()
        assert not altered(learned.requires_grad_(False), f"scaled:{factor}").table.requires_grad
    for name in ("scaled:", "scaled:x", "scaled:nan", "scaled:1:2"):
        with pytest.raises(PositionError, match="write shuffled, or scaled: and a number"):
            altered(table(), name)
