"""The runs in assets/trained are what `make checkpoints` makes, and their weights do what their histories say."""

from statistics import fmean
from typing import cast

import pytest
import torch

from mha_core.training import checkpoints, inference, reproduce, saved, tasks
from mha_core.training.objectives import objective
from mha_core.training.tasks import Labelled

from .runs import SHIPPED, shipped

RECIPES = {name: recipe for task in checkpoints.VARIANTS for name, recipe in checkpoints.recipes(task).items()}
FIRST = [name for name, recipe in RECIPES.items() if recipe.seed == 1]
LEAST = {"dates": 0.99, "shapes": 0.95}  # accuracy on unseen ones, of every seed


def test_exactly_these_are_there() -> None:
    assert {folder.name for folder in SHIPPED.iterdir() if not folder.name.startswith("news-")} == set(RECIPES)
    recorded = {f"news-{line}-{seed}" for line in reproduce.LINES for seed in range(1, 6)}
    assert {folder.name for folder in SHIPPED.glob("news-*")} == recorded
    assert all([file.name for file in (SHIPPED / name).iterdir()] == [saved.RUN] for name in recorded)
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
    model = shipped(name)
    history = model.history
    assert history is not None
    task = tasks.build(history.recipe.task, history.recipe.data_seed)
    if isinstance(task, Labelled):
        found = inference.probabilities(model, [row.text for row in task.test]).argmax(dim=-1)
        labels = torch.tensor([row.label for row in task.test])
        accuracy = float((found == labels).float().mean())
    else:
        trained = objective(history.recipe, task, model.tokenizer, torch.device("cpu"))
        trained.stack = model.encoder
        outcome = trained.evaluate()
        accuracy = outcome.totals.accuracy
        assert outcome.more.get("aligned", 1.0) >= 0.95
    assert accuracy >= LEAST.get(task.name, 0.0)
    assert accuracy == pytest.approx(history.evaluations[-1].test_accuracy, abs=5e-3)  # other threads, other rounding


@pytest.mark.parametrize("name", LEAST)
def test_dates_and_shapes_are_learnt_from_every_seed(name: str) -> None:
    for seed in range(1, checkpoints.SEEDS + 1):
        last = saved.read(SHIPPED / f"{name}-sinusoidal-{seed}").evaluations[-1]
        assert last.test_accuracy >= LEAST[name], seed
        assert name != "dates" or cast(float, last.aligned) >= 0.95, seed


@pytest.mark.parametrize("task", ["who", "food", "brackets"])
def test_who_cannot_see_order_is_right_on_one_of_each_pair(task: str) -> None:
    for seed in range(1, checkpoints.SEEDS + 1):
        last = saved.read(SHIPPED / f"{task}-none-{seed}").evaluations[-1]
        assert last.test_accuracy == pytest.approx(0.5, abs=0.005)
        assert last.pair_accuracy == pytest.approx(0.0, abs=0.01)
    questions = tasks.build(task).questions[:2]
    blind, sighted = (inference.logits(shipped(f"{task}-{name}-1"), questions) for name in ("none", "rotary"))
    assert float((blind[0] - blind[1]).abs().max()) <= 1e-5
    assert float((sighted[0] - sighted[1]).abs().max()) > 1


def test_made_up_news_shows_the_long_posts_picture() -> None:
    """Without positions the two rows `can` are the same, and so are the answers to both orders; with sinusoids not."""
    blind, sighted = (shipped(f"made_up-{name}-1") for name in ("none", "sinusoidal"))
    assert blind.run("can you can that").tokens == ["[CLS]", "can", "you", "can", "that", "[SEP]"]
    for model, least, most in ((blind, 0.0, 1e-6), (sighted, 1e-2, 1.0)):
        weights = model.run("can you can that").weights[0]
        assert least <= float((weights[:, 1] - weights[:, 3]).abs().max()) <= most
        how, you = inference.logits(model, ["how are you", "you how are"])
        assert least <= float((how - you).abs().max()) <= most * 10


def test_made_up_news_is_learnt_about_as_well_as_the_long_posts() -> None:
    last = {
        name: [saved.read(SHIPPED / f"made_up-{name}-{seed}").evaluations[-1].test_accuracy for seed in range(1, 6)]
        for name in ("none", "sinusoidal", "rotary")
    }
    assert all(0.8 <= accuracy <= 0.95 for accuracies in last.values() for accuracy in accuracies)
    assert 0.85 <= fmean(last["none"]) <= 0.95
    assert fmean(last["sinusoidal"]) < fmean(last["none"]), "sinusoids of amplitude 1 make it worse, as there"
