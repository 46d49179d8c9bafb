"""A trained table with its rows in another order, or scaled: what MiniLM makes of it."""

import math

import pytest
import torch

from mha_core import Model
from mha_core.errors import PositionError
from mha_core.measure.measures import largest_difference, worst_row_sum
from mha_core.positions import NAMES, Learned, altered, is_altered

from .conftest import TIRED

TEXT = "how are you"


def table() -> Learned:
    return Learned(40, 6, generator=torch.Generator().manual_seed(1))


def test_shuffled_is_a_permutation_of_all_rows() -> None:
    learned = table()
    before = learned.table.detach().clone()
    shuffled = altered(learned, "shuffled").table
    assert not torch.equal(shuffled, before)
    assert sorted(map(tuple, shuffled.tolist())) == sorted(map(tuple, before.tolist()))
    assert torch.equal(altered(learned, "shuffled").table, shuffled)
    assert torch.equal(learned.table, before)  # the model's own stays as it is


@pytest.mark.parametrize("factor", [0.0, 0.5, 1.0, -2.0])
def test_scaled(factor: float) -> None:
    learned = table()
    made = altered(learned, f"scaled:{factor}")
    assert torch.equal(made.table, learned.table * factor)
    assert made.table.requires_grad
    assert made.table.data_ptr() != learned.table.data_ptr()
    assert not altered(learned.requires_grad_(False), f"scaled:{factor}").table.requires_grad


@pytest.mark.parametrize("name", ["scaled:", "scaled:x", "scaled:nan", "scaled:inf", "scaled:1:2"])
def test_what_is_no_factor(name: str, minilm: Model) -> None:
    with pytest.raises(PositionError, match="write shuffled, or scaled: and a number"):
        altered(table(), name)
    with pytest.raises(PositionError, match="is not known"):
        minilm.run(TEXT, position=name)


def test_names_do_not_meet_the_encodings() -> None:
    assert not any(map(is_altered, (*NAMES, "trained")))
    assert all(map(is_altered, ("shuffled", "scaled:2")))


def test_on_the_model(minilm: Model) -> None:
    trained = minilm.run(TIRED)
    assert torch.equal(minilm.run(TIRED, position="scaled:1").weights, trained.weights)
    zeroed, none = minilm.run(TIRED, position="scaled:0"), minilm.run(TIRED, position="none")
    assert largest_difference(zeroed.weights, none.weights) <= 1e-6
    for name in ("shuffled", "scaled:0.5", "scaled:2"):
        run = minilm.run(TIRED, position=name)
        assert bool(run.weights.isfinite().all())
        assert math.isclose(worst_row_sum(run.weights), 1, abs_tol=1e-5)
        assert torch.equal(minilm.run(TIRED, position=name).weights, run.weights)
        assert largest_difference(run.weights, trained.weights) > 0.1
    assert torch.equal(minilm.run(TIRED).weights, trained.weights)
