"""The recipe decides a run, bit for bit: neither torch's own generator nor other runs change it.

Nor does another process: test_worker.py.
"""

from dataclasses import replace

import torch

from mha_core.training.loop import Training

from .runs import TINY, TINY_WORDS, equal, run, state_of, task, trained


def test_the_same_recipe_gives_the_same_weights_and_another_seed_others() -> None:
    recipe = TINY_WORDS
    expected = state_of(trained(recipe))
    torch.manual_seed(99)
    again = run(recipe)
    assert equal(state_of(again), expected)
    assert [step.loss for step in again.history.steps] == [step.loss for step in trained(recipe).history.steps]
    assert not equal(state_of(run(replace(recipe, seed=2))), expected)


def test_runs_that_take_turns_change_neither_each_other_nor_torchs_own_generator() -> None:
    """As in a worker."""
    recipes = (TINY, TINY_WORDS)
    several = [Training(recipe, task(recipe.task)) for recipe in recipes]
    going, before = [made.events() for made in several], torch.get_rng_state()
    while going:
        going = [events for events in going if next(events, None) is not None]
        assert torch.equal(torch.get_rng_state(), before)
    for made, recipe in zip(several, recipes, strict=True):
        assert equal(state_of(made), state_of(trained(recipe)))
