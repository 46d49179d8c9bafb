"""Attention without biases, and with dropout of its weights, from the recipe to the trained model."""

from dataclasses import replace

import pytest
import torch

from mha_core import IMPLEMENTATIONS
from mha_core.training import inference
from mha_core.training.loop import Training
from mha_core.training.recipe import Recipe
from tests.closeness import identical

from .runs import TINY, TINY_WORDS, equal, state_of, task, trained

OUTPUT = replace(TINY, bias=False, out_bias=True)
DROPPING = replace(TINY, dropout=0.4)
WORDS = pytest.mark.thorough("A language model drops as a classifier does.")


def test_the_outputs_bias_alone_is_one_vector_a_layer_and_the_others_three() -> None:
    for name in IMPLEMENTATIONS:
        recipe = replace(OUTPUT, implementation=name, n_layers=2)
        kinds = [recipe, replace(recipe, out_bias=None), replace(recipe, bias=True)]
        assert [kind.biases for kind in kinds] == ["output alone", "none", "all"]
        output, plain, whole = (Training(kind, task("who")).stack for kind in kinds)
        count = [sum(parameter.numel() for parameter in stack.parameters()) for stack in (output, plain, whole)]
        assert [count[0] - count[1], count[2] - count[0]] == [2 * TINY.d_model, 2 * 3 * TINY.d_model]
        for layer in range(2):
            of_output, of_plain, of_whole = (stack.block(layer).attention.save() for stack in (output, plain, whole))
            assert of_output.biases == {"bias": False, "v_bias": False, "out_bias": True}
            assert [getattr(of_plain, f"{part}_bias") for part in "qkvo"] == [None] * 4
            for part in ("q", "k", "v", "o", "o_bias"):  # they begin where those of the model with biases begin
                identical(getattr(of_output, part), getattr(of_whole, part))
                assert part == "o_bias" or torch.equal(getattr(of_plain, part), getattr(of_whole, part))


@pytest.mark.parametrize("recipe", [DROPPING, pytest.param(replace(TINY_WORDS, dropout=0.4), marks=WORDS)])
def test_dropout_acts_on_what_is_learnt_from_and_on_nothing_else(recipe: Recipe) -> None:
    dropping, whole = Training(recipe, task(recipe.task)), Training(replace(recipe, dropout=0.0), task(recipe.task))
    assert equal(state_of(dropping), state_of(whole))
    assert dropping.objective.evaluate() == whole.objective.evaluate()
    assert dropping.objective.evaluate_train() == whole.objective.evaluate_train()
    ids = torch.tensor([dropping.objective.probes[0][1]])
    assert all(map(torch.equal, dropping.objective.maps(ids), whole.objective.maps(ids)))
    assert dropping.stack.training
    assert dropping.step().loss != whole.step().loss
    assert not dropping.model().encoder.training


@pytest.mark.thorough("Three runs are trained to their end, two of them in turns.")
def test_runs_with_dropout_that_take_turns_are_those_that_do_not() -> None:
    alone = trained(DROPPING)
    torch.manual_seed(7)
    others = [Training(replace(DROPPING, seed=seed), task("who")) for seed in (1, 2)]
    before = torch.random.get_rng_state()
    for _ in range(DROPPING.steps):
        for one in others:
            one.step()
    assert equal(state_of(others[0]), state_of(alone))
    assert not equal(state_of(others[1]), state_of(alone))
    assert torch.equal(torch.random.get_rng_state(), before)  # nobody else's draws have changed


def test_every_implementation_drops_while_it_learns() -> None:
    questions = task("who").questions
    for name in IMPLEMENTATIONS:
        made = Training(replace(DROPPING, implementation=name, n_layers=2), task("who"))
        losses = {made.objective.next_loss(torch.Generator().manual_seed(1))[0].item() for _ in range(3)}
        assert len(losses) > 1, name
        model = made.model()
        identical(inference.logits(model, questions), inference.logits(model, questions))
