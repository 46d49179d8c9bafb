"""The runs that Train shows and would train: their candidates, each under a name of its own; settings; files."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

from mha_core import IMPLEMENTATIONS, positions
from mha_core.training import saved
from mha_core.training.events import History
from mha_core.training.recipe import Recipe
from pages.train import picture_settings, runs
from pages.train.curves import Candidate
from pages.train.runs import POST, Runs, combined, grouped, named, with_seeds

BASE = Recipe()
NONE = Recipe(position="none")
ROTARY = replace(NONE, position="rotary")


def shown(*recipes: Recipe) -> Runs:
    return runs.of_histories([History(recipe) for recipe in recipes], [None] * len(recipes))


# ---- candidates


def test_every_combination_once() -> None:
    made, left_out = combined(BASE, ["none", "rotary"], ["naive", "fused"], [1, 2], [True, False])
    assert len(made) == len(set(made)) == 16
    assert left_out == []
    assert {(recipe.position, recipe.implementation, recipe.n_layers, recipe.mask_padding) for recipe in made} == {
        (p, i, n, m) for p in ("none", "rotary") for i in ("naive", "fused") for n in (1, 2) for m in (True, False)
    }


def test_what_an_implementation_cannot_compute_is_left_out_and_reported_once() -> None:
    for name, implementation in IMPLEMENTATIONS.items():
        able = [p for p in positions.NAMES if positions.acts(p) - {"add"} <= implementation.can]
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
    recipes = with_seeds(made, 3)
    names, colours, places = zip(*grouped(recipes), strict=True)
    assert names == ("none", "sinusoidal", "rotary")
    assert colours == (0, 1, 3)  # the places of these positions, whichever are chosen
    assert [[recipes[place].seed for place in own] for own in places] == [[1, 2, 3]] * 3
    assert sorted(place for own in places for place in own) == list(range(9))
    backwards = recipes[::-1]
    assert [[backwards[place].seed for place in own] for *_, own in grouped(backwards)] == [[1, 2, 3]] * 3


def test_a_name_says_what_differs() -> None:
    for others, names in (
        ([], ["sinusoidal"]),
        ([{"position": "none"}], ["sinusoidal", "none"]),
        ([{"implementation": "torch"}], ["fused", "torch"]),
        ([{"amplitude": 0.1}], ["sinusoidal", "× 0.1"]),
        ([{"n_layers": 2}], ["1 layer", "2 layers"]),
        ([{"mask_padding": False}], ["mask on", "mask off"]),
        ([{"position": "none", "n_layers": 2}], ["sinusoidal 1 layer", "none 2 layers"]),
    ):
        assert named([BASE, *(replace(BASE, **other) for other in others)]) == names
    for choice in POST.values():
        rows = [replace(BASE, implementation=name, position=p, amplitude=a) for name, p, a in choice]
        assert len(set(named(rows))) == len(rows)
        assert len({colour for _, colour, _ in grouped(rows)}) == len(rows)


# ---- the settings of a picture


def test_choices_that_are_not_in_the_picture_are_listed() -> None:
    both = replace(shown(NONE, replace(NONE, seed=2), ROTARY, replace(ROTARY, seed=2)), beforehand=True)
    assert picture_settings.trained_with(both) == (
        "Trained in advance with positions none, rotary · fused · 1 layer of 4 heads, d_model 64 · 2 seeds · 400 steps."
    )
    uneven = shown(NONE, replace(NONE, seed=2), ROTARY)
    assert "1 to 2 seeds each" in picture_settings.trained_with(uneven)
    assert picture_settings.trained_with(uneven, goes_on=True).startswith("In training with")
    assert picture_settings.trained_with(Runs()) == ""
    picture = shown(NONE, ROTARY)
    for old, chosen in ((picture, [NONE, ROTARY]), (picture, [NONE]), (picture, []), (Runs(), [NONE])):
        assert picture_settings.beyond(old, chosen) == [], "less than the picture is nothing new"
    other = replace(NONE, position="learned", n_layers=2, implementation="torch", mask_padding=False)
    assert picture_settings.beyond(picture, [NONE, other]) == [
        "Not trained yet: learned, torch, 2 layers, padding not masked."
    ]
    assert picture_settings.beyond(picture, [replace(NONE, steps=1500, residual=True, rate=0.01)]) == [
        "Now chosen: steps 1,500, learning rate 0.01, residual connection yes. Press Train to see what that changes."
    ]
    assert picture_settings.beyond(picture, [replace(NONE, bias=False, out_bias=True)]) == [
        "Now chosen: biases in the attention output alone. Press Train to see what that changes."
    ]
    names = ["none", "sinusoidal", "rotary", "alibi"]  # their places
    assert picture_settings.untrained(shown(NONE, ROTARY), "position", names) == [1, 3]
    assert picture_settings.untrained(shown(NONE), "n_layers", range(1, 5)) == [1, 2, 3]
    assert picture_settings.untrained(Runs(), "position", names) == [], "there is no picture yet"
    picture = shown(*(replace(NONE, seed=seed) for seed in range(5)))
    three = [replace(ROTARY, seed=seed) for seed in range(3)]
    assert picture_settings.other_seeds(picture, three) == ["Train would use 3 seeds each, not 5."]
    five = [replace(ROTARY, seed=seed) for seed in range(5)]
    for old, chosen in ((picture, []), (Runs(), three), (picture, five)):
        assert picture_settings.other_seeds(old, chosen) == []


# ---- those that are shown


def test_shipped_runs_stand_in_the_order_of_the_controls_and_files_get_names_of_their_own(shipped: Path) -> None:
    found = runs.of_shipped("who")
    assert [each.name for each in found.candidates] == ["none", "rotary"]
    assert found.models == ("who-none-1", "who-rotary-1")
    assert found.ready == {"none": "who-none-1", "rotary": "who-rotary-1"}
    assert found.beforehand
    assert found.first("rotary").recipe.position == "rotary"
    assert runs.of_shipped("csv").candidates == ()
    history = saved.read(shipped / "who-rotary-1")
    both = runs.of_shipped("who") + runs.of_histories([history], ["own"])
    assert [each.name for each in both.candidates] == ["none", "rotary", "rotary (file)"]
    assert both.models[-1] == "own"


def test_seeds_belong_together_and_the_first_with_weights_is_asked(shipped: Path) -> None:
    first = saved.read(shipped / "who-rotary-1")
    second = replace(first, recipe=replace(first.recipe, seed=2))
    found = runs.of_histories([second, first], [None, "one"])
    assert [[run.recipe.seed for run in each.histories] for each in found.candidates] == [[1, 2]]
    assert found.models == ("one",)


def test_the_curves_as_csv_hold_no_formula(shipped: Path) -> None:
    history = saved.read(shipped / "who-rotary-1")
    written = runs.csv_of(runs.Runs((Candidate("=1+1", 0, (history,)),), (None,))).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [row["candidate"] for row in rows] == ["'=1+1"] * len(history.evaluations)
    assert [float(row["test_accuracy"]) for row in rows] == [look.test_accuracy for look in history.evaluations]
