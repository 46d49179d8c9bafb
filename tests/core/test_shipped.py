"""The runs in assets/trained are what `make checkpoints` makes, and their weights do what their histories say."""

from typing import cast

import pytest
import torch

from mha_core.training import checkpoints, inference, saved, tasks
from mha_core.training.objectives import objective
from mha_core.training.tasks import Labelled
from tests.closeness import same_function

from .runs import SHIPPED, case, shipped

RECIPES = {name: recipe for task in checkpoints.VARIANTS for name, recipe in checkpoints.recipes(task).items()}
FIRST = [name for name, recipe in RECIPES.items() if recipe.seed == 1]
MIN_ACCURACY = {"dates": 0.99, "shapes": 0.95}  # accuracy on unseen ones, of every seed


def test_exactly_these_are_there() -> None:
    assert {folder.name for folder in SHIPPED.iterdir() if not folder.name.startswith("news-")} == set(RECIPES)
    recorded = {f"news-{line}-{seed}" for line in checkpoints.NEWS for seed in range(1, 6)}
    assert {folder.name for folder in SHIPPED.glob("news-*")} == recorded
    assert all([file.name for file in (SHIPPED / name).iterdir()] == [saved.RUN] for name in recorded)
    for name in RECIPES:
        files = {file.name for file in (SHIPPED / name).iterdir()}
        assert files == (set(saved.FILES) if name in FIRST else {saved.RUN})


@pytest.mark.parametrize("name", ["who", "dates"])
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


@pytest.mark.parametrize("name", ["who-rotary-1", "words-2layers-1", "dates-sinusoidal-1", "shapes-sinusoidal-1"])
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
        trained = objective(history.recipe, task, saved.read_tokenizer(SHIPPED / name), torch.device("cpu"))
        trained.stack = model.stack
        outcome = trained.evaluate()
        accuracy = outcome.totals.accuracy
        assert outcome.more.get("aligned", 1.0) >= 0.95
    assert accuracy >= MIN_ACCURACY.get(task.name, 0.0)
    assert abs(accuracy - history.evaluations[-1].test_accuracy) < 0.005, "other threads, other rounding"


def test_a_model_without_positions_is_right_on_one_of_each_pair() -> None:
    for task in ("who", "food", "brackets"):
        for seed in range(1, checkpoints.SEEDS + 1):
            last = saved.read(SHIPPED / f"{task}-none-{seed}").evaluations[-1]
            assert abs(last.test_accuracy - 0.5) < 0.005, (task, seed)
            assert cast(float, last.pair_accuracy) < 0.01, (task, seed)
        without = inference.logits(shipped(f"{task}-none-1", torch.float64), tasks.build(task).questions[:2])
        with case(task):
            same_function(without[0], without[1])


def test_made_up_news_shows_the_long_posts_picture() -> None:
    """Without positions the two rows `can` are the same, and so are the answers to both orders; with sinusoids not."""
    without, sighted = (shipped(f"made_up-{name}-1", torch.float64) for name in ("none", "sinusoidal"))
    for model in (without, sighted):
        weights = model.run("can you can that").weights[0]
        how, you = inference.logits(model, ["how are you", "you how are"])
        if model is without:
            same_function(weights[:, 1], weights[:, 3])
            same_function(how, you)
        else:
            assert float((weights[:, 1] - weights[:, 3]).abs().max()) > 0.01
            assert float((how - you).abs().max()) > 0.01
