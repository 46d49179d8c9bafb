"""Quantities of trained models, bundled or trained on demand, which need no picture."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, cast

import torch
from torch import Tensor

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import pictures
from headlight.queue.slots import heavy_slot, pass_slot
from headlight.registry import trained
from mha_core.training import inference, saved, tasks
from mha_core.training.loop import Training
from mha_core.training.recipe import defaults
from mha_core.training.tasks import Labelled

MAX_ROWS = 100  # in `right_answers`
# for `taught_answers`; takes less than a second, and ends before every model is right on every row
RECIPE = replace(defaults("who"), d_model=32, rate=6e-3, steps=60, out_bias=True)
MAX_SEED = 9


def accuracy(name: str) -> Value:
    """Return `accuracy("who-none-1")`: the share of right answers of a bundled model on unseen rows."""
    if name not in trained.shipped():
        raise RuleError(f"there is no trained model “{name:.40}”")
    return Value.number(float(_right(name).float().mean()))


@lru_cache(maxsize=64)
def _right(name: str) -> Tensor:
    """Return which unseen rows a model answers correctly, bool (rows,), cached for the lifetime of the server."""
    model = pictures.model_on("auto", name)
    rows = cast(Labelled, tasks.build(name.split("-")[0])).test
    if not inference.classes(model):
        raise RuleError(f"“{name}” is not a classifier, so it has no right answers")
    with pass_slot():
        predictions = inference.unpadded_probabilities(model, [row.text for row in rows]).argmax(dim=-1)
    return predictions == torch.tensor([row.label for row in rows])


def right_answers(name: str) -> Value:
    """Return `right_answers("who-none-1")`, (i): which of the first hundred unseen rows a model answers correctly.

    For a line of the recorded experiment, `right_answers("post-naive")`, (c i): for each seed as many true values as it
    had right answers on the test rows.
    """
    if name in trained.shipped():
        return Value.from_tensor(_right(name)[:MAX_ROWS], "i")
    runs = [run for run in sorted(trained.SHIPPED.glob("news-*")) if run.name.rpartition("-")[0] == f"news-{name}"]
    if not runs:
        raise RuleError(f"there is no trained model “{name:.40}”, and no recorded line")
    return Value.from_tensor(_recorded(tuple(runs)), "c i")


@lru_cache(maxsize=16)
def _recorded(folders: tuple[Path, ...]) -> Tensor:
    runs = [saved.read(folder) for folder in folders]
    tested = [(run.start.rows_test if run.start else 0, run.evaluations[-1].test_accuracy) for run in runs]
    return torch.stack([torch.arange(rows) < round(accuracy * rows) for rows, accuracy in tested])


def taught_answers(seed: int, biases: Literal[0, 1]) -> Value:
    """Return `taught_answers(1, 0)`, (i): which unseen rows a small model answers correctly.

    It is trained on demand on the task "who did what" with this seed, with (1) or without (0) biases on query, key and
    value.
    """
    if seed not in range(1, MAX_SEED + 1):
        raise RuleError(f"taught_answers takes a seed from 1 to {MAX_SEED}")
    return Value.from_tensor(_taught(seed, biases=bool(biases))[0], "i")


def taught_parameters(biases: Literal[0, 1]) -> Value:
    """Return `taught_parameters(0)`: the number of parameters of such a model, with (1) or without (0) biases."""
    return Value.number(float(_taught(1, biases=bool(biases))[1]))


@lru_cache(maxsize=2 * MAX_SEED)
def _taught(seed: int, *, biases: bool) -> tuple[Tensor, int]:
    task = cast(Labelled, tasks.build(RECIPE.task))
    with heavy_slot():
        training = Training(replace(RECIPE, bias=biases, seed=seed), task)
        for _ in range(RECIPE.steps):
            training.step()
        predicted = torch.tensor(training.objective.evaluate().predicted)
    parameters = sum(parameter.numel() for parameter in training.stack.parameters())
    return predicted == torch.tensor([row.label for row in task.test]), parameters
