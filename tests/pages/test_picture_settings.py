"""A picture says its own settings, and what of the controls is not in it."""

from __future__ import annotations

from dataclasses import replace

from mha_core.training.events import History
from mha_core.training.recipe import Recipe
from pages.train import picture_settings, runs
from pages.train.runs import Runs


def shown(*recipes: Recipe, beforehand: bool = False) -> Runs:
    return runs.of_histories([History(recipe) for recipe in recipes], [None] * len(recipes), beforehand=beforehand)


NONE = Recipe(position="none")
ROTARY = replace(NONE, position="rotary")


def test_the_settings_of_the_picture() -> None:
    both = shown(NONE, replace(NONE, seed=2), ROTARY, replace(ROTARY, seed=2), beforehand=True)
    assert picture_settings.trained_with(both) == (
        "Trained in advance with positions none, rotary · fused · 1 layer of 4 heads, d_model 64 · 2 seeds · 400 steps."
    )
    uneven = shown(NONE, replace(NONE, seed=2), ROTARY)
    assert "1 to 2 seeds each" in picture_settings.trained_with(uneven)
    assert picture_settings.trained_with(uneven, goes_on=True).startswith("In training with")
    assert picture_settings.trained_with(Runs()) == ""


def test_what_is_chosen_and_not_in_the_picture() -> None:
    picture = shown(NONE, ROTARY)
    assert picture_settings.beyond(picture, [NONE, ROTARY]) == []
    assert picture_settings.beyond(picture, [NONE]) == [], "less than the picture is nothing new"
    assert picture_settings.beyond(picture, []) == []
    assert picture_settings.beyond(Runs(), [NONE]) == []
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


def test_the_places_of_choices_that_are_not_in_the_picture() -> None:
    names = ["none", "sinusoidal", "rotary", "alibi"]
    assert picture_settings.untrained(shown(NONE, ROTARY), "position", names) == [1, 3]
    assert picture_settings.untrained(shown(NONE), "n_layers", range(1, 5)) == [1, 2, 3]
    assert picture_settings.untrained(Runs(), "position", names) == [], "there is no picture yet"


def test_other_seeds_than_those_of_the_picture_are_told() -> None:
    picture = shown(*(replace(NONE, seed=seed) for seed in range(5)), beforehand=True)
    three = [replace(ROTARY, seed=seed) for seed in range(3)]
    assert picture_settings.other_seeds(picture, three) == ["Train would use 3 seeds each, not 5."]
    assert picture_settings.other_seeds(picture, []) == []
    assert picture_settings.other_seeds(Runs(), three) == []
    assert picture_settings.other_seeds(picture, [replace(ROTARY, seed=seed) for seed in range(5)]) == []
