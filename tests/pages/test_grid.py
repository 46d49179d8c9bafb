"""The candidates side by side: every combination that can be computed, under a name of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mha_core import IMPLEMENTATIONS, positions
from mha_core.training.recipe import Recipe
from pages.train.grid import POST, combined, grouped, named, with_seeds

BASE = Recipe()


def test_every_combination_once() -> None:
    made, left_out = combined(BASE, ["none", "rotary"], ["naive", "fused"], [1, 2], [True, False])
    assert len(made) == len(set(made)) == 16
    assert left_out == []
    assert {(recipe.position, recipe.implementation, recipe.n_layers, recipe.mask_padding) for recipe in made} == {
        (p, i, n, m) for p in ("none", "rotary") for i in ("naive", "fused") for n in (1, 2) for m in (True, False)
    }


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_what_an_implementation_cannot_compute_is_told_once(name: str) -> None:
    able = [p for p in positions.NAMES if positions.acts(p) - {"add"} <= IMPLEMENTATIONS[name].can]
    made, left_out = combined(BASE, positions.NAMES, [name], [1, 2], [True])
    assert [recipe.position for recipe in made] == [p for p in able for _ in range(2)]
    unable = [p for p in positions.NAMES if p not in able]
    assert left_out == [f"{name} cannot compute {p} positions: this pair is left out." for p in unable]


def test_positions_that_the_sizes_do_not_have_are_left_out() -> None:
    odd = replace(BASE, d_model=12, n_heads=4)
    made, left_out = combined(odd, ["none", "rotary"], ["naive", "fused"], [1], [True])
    assert {recipe.position for recipe in made} == {"none"}
    assert len(left_out) == 1
    assert left_out[0].startswith("rotary positions are left out: d_head=3")
    assert len(combined(replace(BASE, d_model=50, n_heads=6), ["rotary"], ["fused"], [1], [True])[0]) == 1


def test_runs_are_grouped_into_their_candidates() -> None:
    made, _ = combined(BASE, ["none", "sinusoidal", "rotary"], ["fused"], [1], [True])
    runs = with_seeds(made, 3)
    groups = grouped(runs)
    assert [group.name for group in groups] == ["none", "sinusoidal", "rotary"]
    assert [group.colour for group in groups] == [0, 1, 3]  # the places of these positions, whichever are chosen
    assert [[runs[place].seed for place in group.runs] for group in groups] == [[1, 2, 3]] * 3
    assert sorted(place for group in groups for place in group.runs) == list(range(9))
    shuffled = grouped(runs[::-1])
    assert [[runs[::-1][place].seed for place in group.runs] for group in shuffled] == [[1, 2, 3]] * 3


@pytest.mark.parametrize(
    ("kinds", "names"),
    [
        ([BASE], ["sinusoidal"]),
        ([BASE, replace(BASE, position="none")], ["sinusoidal", "none"]),
        ([BASE, replace(BASE, implementation="torch")], ["fused", "torch"]),
        ([BASE, replace(BASE, amplitude=0.1)], ["sinusoidal", "× 0.1"]),
        ([BASE, replace(BASE, n_layers=2)], ["1 layer", "2 layers"]),
        ([BASE, replace(BASE, mask_padding=False)], ["mask on", "mask off"]),
        ([BASE, replace(BASE, position="none", n_layers=2)], ["sinusoidal 1 layer", "none 2 layers"]),
    ],
)
def test_a_name_says_what_differs(kinds: list[Recipe], names: list[str]) -> None:
    assert named(kinds) == names


@pytest.mark.parametrize("choice", POST)
def test_the_rows_of_the_post_have_names_of_their_own(choice: str) -> None:
    rows = [replace(BASE, implementation=name, position=p, amplitude=a) for name, p, a in POST[choice]]
    assert len(set(named(rows))) == len(rows)
    assert len({group.colour for group in grouped(rows)}) == len(rows)
