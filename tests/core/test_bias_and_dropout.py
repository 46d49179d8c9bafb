"""Attention without biases, and with dropout of its weights, from the recipe to the trained model."""

from dataclasses import replace

import torch

from mha_core import IMPLEMENTATIONS
from mha_core.training.loop import Training
from tests.closeness import identical

from .runs import TINY, equal, state_of, task

OUTPUT = replace(TINY, bias=False, out_bias=True)


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


def test_dropout_acts_on_what_is_learnt_from_and_on_nothing_else() -> None:
    dropping, whole = (Training(recipe, task("who")) for recipe in (replace(TINY, dropout=0.4), TINY))
    assert equal(state_of(dropping), state_of(whole))
    assert dropping.objective.evaluate() == whole.objective.evaluate()
    assert dropping.objective.evaluate_train() == whole.objective.evaluate_train()
    ids = torch.tensor([dropping.objective.probe_ids[0]])
    assert all(map(torch.equal, dropping.objective.maps(ids), whole.objective.maps(ids)))
    assert dropping.step().loss != whole.step().loss
    assert not dropping.model().stack.training
