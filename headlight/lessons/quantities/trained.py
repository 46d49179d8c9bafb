"""Quantities of trained models, of those that Headlight brings along or trained now: no picture is needed."""

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

MAX_ROWS = 100  # of `right_answers`
RECIPE = replace(defaults("who"), d_model=32, rate=6e-3, steps=150)  # of `taught_answers`: less than a second
MAX_SEED = 9


def accuracy(name: str) -> Value:
    """`accuracy("who-none-1")`: the share of unseen rows that a model which Headlight brings along answers rightly."""
    if name not in trained.shipped():
        raise RuleError(f"there is no trained model “{name:.40}”")
    return Value.number(float(_right(name).float().mean()))


@lru_cache(maxsize=64)
def _right(name: str) -> Tensor:
    """bool (rows,): kept, as neither the model nor its unseen rows change while the server runs."""
    model = pictures.model_on("auto", name)
    rows = cast(Labelled, tasks.build(name.split("-")[0])).test
    if not inference.classes(model):
        raise RuleError(f"“{name}” has no classes, so it answers nothing rightly")
    with pass_slot():
        found = inference.probabilities_of_each(model, [row.text for row in rows]).argmax(dim=-1)
    return found == torch.tensor([row.label for row in rows])


def right_answers(name: str) -> Value:
    """`right_answers("who-none-1")`, (i): which unseen rows a model answers rightly, of the first hundred.

    Or of a line of the recorded experiment, `right_answers("post-naive")`, (c i): as many as each of its seeds answers
    rightly of all test rows, the first ones.
    """
    if name in trained.shipped():
        return Value.of(_right(name)[:MAX_ROWS], "i")
    runs = [run for run in sorted(trained.SHIPPED.glob("news-*")) if run.name.rpartition("-")[0] == f"news-{name}"]
    if not runs:
        raise RuleError(f"there is no trained model “{name:.40}”, and no recorded line")
    return Value.of(_recorded(tuple(runs)), "c i")


@lru_cache(maxsize=16)
def _recorded(folders: tuple[Path, ...]) -> Tensor:
    runs = [saved.read(folder) for folder in folders]
    tested = [(run.start.rows_test if run.start else 0, run.evaluations[-1].test_accuracy) for run in runs]
    return torch.stack([torch.arange(rows) < round(accuracy * rows) for rows, accuracy in tested])


def taught_answers(seed: int, biases: Literal[0, 1]) -> Value:
    """`taught_answers(1, 0)`, (i): which unseen rows a small model answers rightly.

    It is trained now to tell who did what, from this seed, with biases in its attention (1) or without (0).
    """
    if seed not in range(1, MAX_SEED + 1):
        raise RuleError(f"taught_answers takes a seed from 1 to {MAX_SEED}")
    return Value.of(_taught(seed, biases=bool(biases))[0], "i")


def taught_parameters(biases: Literal[0, 1]) -> Value:
    """`taught_parameters(0)`: how many numbers such a model learns, with biases (1) or without (0)."""
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
