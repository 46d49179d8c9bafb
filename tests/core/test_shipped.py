"""The runs in assets/trained are what `make checkpoints` makes, and their weights do what their histories say."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mha_core import load_model
from mha_core.models.language_model import LanguageModel
from mha_core.training import checkpoints, inference, saved, tasks
from mha_core.training.objectives import NextTokens
from mha_core.training.tasks import Labelled

SHIPPED = Path(__file__).resolve().parents[2] / "assets" / "trained"
RECIPES = {name: recipe for task in checkpoints.VARIANTS for name, recipe in checkpoints.recipes(task).items()}
FIRST = [name for name, recipe in RECIPES.items() if recipe.seed == 1]


def test_exactly_these_are_there() -> None:
    assert {folder.name for folder in SHIPPED.iterdir()} == set(RECIPES)
    for name in RECIPES:
        files = {file.name for file in (SHIPPED / name).iterdir()}
        assert files == (set(saved.FILES) if name in FIRST else {saved.RUN})


@pytest.mark.parametrize("name", checkpoints.VARIANTS)
def test_histories_are_those_of_today_s_recipes_and_data(name: str) -> None:
    task = tasks.build(name)
    for run, recipe in checkpoints.recipes(name).items():
        history = saved.read(SHIPPED / run)
        assert (history.recipe, recipe.data_seed) == (recipe, 0), run
        assert history.start is not None
        assert history.end is not None
        assert history.start.fingerprint == f"{task.fingerprint}, version {task.version}"
        assert (history.end.reason, history.end.step) == ("steps", recipe.steps)
        assert bool(history.snapshots) == (run in FIRST)


@pytest.mark.parametrize("name", FIRST)
def test_the_weights_give_the_accuracy_again(name: str) -> None:
    model = load_model(str(SHIPPED / name), device="cpu")
    history = model.history
    assert history is not None
    task = tasks.build(history.recipe.task, history.recipe.data_seed)
    if isinstance(task, Labelled):
        found = inference.probabilities(model, [row.text for row in task.test]).argmax(dim=-1)
        labels = torch.tensor([row.label for row in task.test])
        accuracy = float((found == labels).float().mean())
    else:
        assert isinstance(model.encoder, LanguageModel)
        accuracy = NextTokens(model.encoder, history.recipe, task, model.tokenizer).judge().sums.accuracy
    assert accuracy == pytest.approx(history.evaluations[-1].test_accuracy, abs=5e-3)  # other threads, other rounding


@pytest.mark.parametrize("task", ["who", "food", "brackets"])
def test_who_cannot_see_order_is_right_on_one_of_each_pair(task: str) -> None:
    for seed in range(1, checkpoints.SEEDS + 1):
        last = saved.read(SHIPPED / f"{task}-none-{seed}").evaluations[-1]
        assert last.test_accuracy == pytest.approx(0.5, abs=0.005)
        assert last.pair_accuracy == pytest.approx(0.0, abs=0.01)
    model = load_model(str(SHIPPED / f"{task}-none-1"), device="cpu")
    blind = inference.logits(model, tasks.build(task).questions[:2])
    sighted = inference.logits(
        load_model(str(SHIPPED / f"{task}-rotary-1"), device="cpu"), tasks.build(task).questions[:2]
    )
    assert float((blind[0] - blind[1]).abs().max()) <= 1e-5
    assert float((sighted[0] - sighted[1]).abs().max()) > 1
