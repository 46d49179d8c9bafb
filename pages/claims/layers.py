"""What the claims on projections, biases and implementations are judged by: passes of single layers, and trainings."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from mha_core import Weights, attention, join_heads
from mha_core.measure import agreement
from mha_core.positions import Rotary
from mha_core.training import tasks
from mha_core.training.loop import Training
from mha_core.training.recipe import defaults
from mha_core.training.tasks import Labelled
from pages.kit.picture.sharing import alone, turn

from .evidence import CLOUDS, HEADS, LAYER, POINTS, SENTENCE, WIDTH, recorded_answers
from .passes import attentions, passed, run_of, steps_of, without
from .rules import layer, rounding
from .rules.verdict import Verdict

PRINTED = 1.9810291e-07  # by the einsum notebook
DRAWS = 20
BIASES = {"query": "q_bias", "key": "k_bias", "value": "v_bias"}
SEEDS = (1, 2, 3)
RECIPE = replace(defaults("who"), d_model=32, rate=6e-3, steps=150)  # a training takes less than a second


def values() -> Verdict:
    """`layer.values_are_embeddings`, on the first layer of MiniLM."""
    steps, tokens = steps_of(SENTENCE, 0)
    x, v = steps["x"], join_heads(steps["v"].transpose(0, 1))
    return layer.values_are_embeddings(x, v, tokens, rounding.of_sums(x.shape[-1]))


def biases() -> Verdict:
    """`layer.learns_without_biases`, on models that are trained now to tell who did what."""
    right: dict[int, list[Tensor]] = {seed: [] for seed in SEEDS}
    parameters = {}
    task = cast(Labelled, tasks.build(RECIPE.task))
    labels = torch.tensor([row.label for row in task.test])
    with alone():
        for bias in (True, False):
            for seed in SEEDS:
                training = Training(replace(RECIPE, bias=bias, seed=seed), task)
                for _ in range(RECIPE.steps):
                    training.step()
                right[seed].append(torch.tensor(training.objective.evaluate().predicted) == labels)
                parameters[bias] = sum(parameter.numel() for parameter in training.stack.parameters())
    pairs = {seed: (with_them, left_out) for seed, (with_them, left_out) in right.items()}
    return layer.learns_without_biases(pairs, (parameters[True], parameters[False]))


def trained_biases() -> Verdict:
    """`layer.trained_biases_cost_nothing`, on every layer of MiniLM with what enters it there."""
    run = run_of(SENTENCE)
    entering = list(zip(attentions(), run.hidden[:-1].cpu(), strict=True))

    def outs(change: Callable[[Weights], Weights]) -> list[Tensor]:
        return [passed(change(weights), n_heads, x)[0] for (weights, n_heads), x in entering]

    without_each = {name: outs(partial(without, field=field)) for name, field in BIASES.items()}
    numbers = sum(
        bias.numel()
        for (weights, _), _ in entering
        for name, bias in weights.items()
        if bias is not None and name in BIASES.values()
    )
    return layer.trained_biases_cost_nothing(outs(lambda weights: weights), without_each, numbers, _of_a_layer())


def key_bias() -> Verdict:
    """`layer.key_bias_changes_nothing`, on one layer of MiniLM."""
    x, (weights, n_heads) = _entering()
    bare, rotary = without(weights, field="k_bias"), Rotary(x.shape[-1] // n_heads)

    def both(position: Rotary | None) -> tuple[Tensor, Tensor]:
        return passed(weights, n_heads, x, position)[1], passed(bare, n_heads, x, position)[1]

    return layer.key_bias_changes_nothing(both(None), both(rotary), _of_a_layer())


def same_accuracy() -> Verdict:
    """`layer.same_function_same_accuracy`, on one layer of MiniLM and the recorded answers to the long post's news."""
    x, (weights, n_heads) = _entering()
    (out, map_), (theirs, their_map) = (passed(weights, n_heads, x, name=name) for name in ("naive", "torch"))
    found = agreement.agreements(weights, n_heads, x[None])["naive"]
    least = min(found.torch_out.bound, found.torch_maps.bound)
    right = recorded_answers("post/naive"), recorded_answers("post/torch")
    return layer.same_function_same_accuracy((out, theirs), (map_, their_map), least, right)


def torchs_own() -> Verdict:
    """`layer.rounding_alone`, in the notebook's own case and on a layer of MiniLM."""
    with turn():
        draws = [_from_torch(*notebook_draw(seed), HEADS) for seed in range(DRAWS)]
    x, (weights, n_heads) = _entering()
    with turn():
        return layer.rounding_alone(draws, _from_torch(weights, x[None], n_heads), PRINTED)


def any_axes() -> Verdict:
    """`layer.loops_over_the_other_axes`, on random tensors of two to five axes."""
    generator, pairs, least = torch.Generator().manual_seed(0), {}, 0.0
    for shape in ((3, 6), (2, 3, 6), (2, 4, 3, 6), (2, 2, 4, 3, 6)):
        q, k, v = torch.randn(3, *shape, generator=generator)
        matrices = zip(*(of.reshape(-1, *shape[-2:]) for of in (q, k, v)), strict=True)
        looped = torch.stack([attention(*each)[0] for each in matrices]).reshape(shape)
        pairs[str(shape)] = looped, nn.functional.scaled_dot_product_attention(q, k, v)
        least = max(least, rounding.of_softmax(shape[-2], shape[-1]) + rounding.of_sums(shape[-2]))
    return layer.loops_over_the_other_axes(pairs, least)


def notebook_draw(seed: int) -> tuple[Weights, Tensor]:
    """The notebook's case: nn.MultiheadAttention's own initial weights without biases, and normal points (b, n, c).

    Xavier's law for q, k and v, which are one matrix (3 c, c) there, nn.Linear's for the output.
    """
    generator, c = torch.Generator().manual_seed(seed), WIDTH
    stacked = nn.init.xavier_uniform_(torch.empty(3 * c, c), generator=generator)
    out = torch.empty(c, c).uniform_(-(c**-0.5), c**-0.5, generator=generator)
    q, k, v = stacked.chunk(3)
    return Weights(q, k, v, out), torch.randn(CLOUDS, POINTS, c, generator=generator)


def _from_torch(weights: Weights, x: Tensor, n_heads: int) -> tuple[float, float]:
    """The relative difference of einsum to nn.MultiheadAttention on x (b, n, c), and what rounding may leave of it."""
    found = agreement.agreements(weights, n_heads, x)["einsum"].torch_out
    return found.relative, found.bound


def _entering() -> tuple[Tensor, tuple[Weights, int]]:
    """What enters one layer of MiniLM, (i, c), and the layer."""
    return run_of(SENTENCE).hidden[LAYER].cpu(), attentions()[LAYER]


def _of_a_layer() -> float:
    """What rounding may leave of the output of one layer of MiniLM, relative."""
    x, (_, n_heads) = _entering()
    n, d_model = x.shape
    return rounding.of_attention(n, d_model, d_model // n_heads)
