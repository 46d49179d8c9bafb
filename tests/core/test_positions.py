from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from mha_core import positions
from mha_core.compare import relative_difference
from mha_core.errors import PositionError
from mha_core.positions import InLayers, Learned, Nothing, Position, Sinusoidal, Together


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


def test_every_name_builds_an_encoding() -> None:
    for name in positions.NAMES:
        built = positions.build(name, d_model=8, max_len=5)
        assert isinstance(built, Position)
        assert len(built.acts) == (0 if name == "none" else 1)
    assert isinstance(positions.build("none", d_model=8, max_len=5), Nothing)
    assert isinstance(positions.build("sinusoidal", d_model=8, max_len=5), Sinusoidal)
    assert isinstance(positions.build("learned", d_model=8, max_len=5), Learned)
    with pytest.raises(PositionError, match=r"'sinus' is not known; choose one of none, sinusoidal"):
        positions.build("sinus", d_model=8, max_len=5)
