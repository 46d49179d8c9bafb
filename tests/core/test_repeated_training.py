"""The recipe decides a run, bit for bit: neither torch's own generator, nor other runs, nor another process."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from mha_core import IMPLEMENTATIONS
from mha_core.training import tokens
from mha_core.training.events import End
from mha_core.training.loop import Training
from mha_core.training.recipe import Recipe
from tests.closeness import same_function

from .runs import TINY, TINY_DATES, TINY_WORDS, case, equal, run, state_of, task, trained

ROOT = Path(__file__).parents[2]


THOROUGH = pytest.mark.thorough("the same statement of another kind of task, whose training takes longer")


@pytest.mark.parametrize(
    "recipe", [pytest.param(TINY, marks=THOROUGH), TINY_WORDS, pytest.param(TINY_DATES, marks=THOROUGH)],
    ids=lambda recipe: recipe.task,
)  # fmt: skip
def test_the_same_recipe_gives_the_same_weights(recipe: Recipe) -> None:
    expected = state_of(trained(recipe))
    torch.manual_seed(99)
    again = run(recipe)
    assert equal(state_of(again), expected)
    assert [step.loss for step in again.history.steps] == [step.loss for step in trained(recipe).history.steps]
    changes = {"seed": 2, "rate": 0.001, "weight_decay": 0.5, "batch": 9, "schedule": "constant", "mask_padding": False}
    for name, value in changes.items() if recipe == TINY else ():
        assert not equal(state_of(run(replace(recipe, **{name: value}))), expected), name  # type: ignore[arg-type]


@pytest.mark.thorough("another process imports torch and trains two models")
def test_another_process_gives_the_same_weights_and_tokenizers(tmp_path: Path) -> None:
    """The tokenizers' own trainer does not: it numbers characters in the order of a hash map."""
    program = (
        "from pathlib import Path; from tests.core.runs import TINY, TINY_WORDS, task, trained\n"
        "from mha_core.training import tokens\n"
        f"for name, recipe in (('a', TINY), ('b', TINY_WORDS)): trained(recipe).save(Path({str(tmp_path)!r}, name))\n"
        f"for name in ('who', 'food'): tokens.of(task(name), 90).save(str(Path({str(tmp_path)!r}, name)))"
    )
    subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "7"}, check=True, timeout=100
    )
    from safetensors.torch import load_file

    for name, recipe in (("a", TINY), ("b", TINY_WORDS)):
        assert equal(load_file(tmp_path / name / "model.safetensors"), state_of(trained(recipe)))
    for name in ("who", "food"):
        theirs = json.loads((tmp_path / name).read_text("utf-8"))
        assert theirs == json.loads(tokens.of(task(name), 90).to_str()), name


@pytest.mark.thorough("three models are trained twice")
def test_runs_that_take_turns() -> None:
    """As in a worker: none changes another."""
    recipes = (TINY, replace(TINY, seed=2), TINY_WORDS)
    several = [Training(recipe, task(recipe.task)) for recipe in recipes]
    going = [made.events() for made in several]
    while going:
        going = [events for events in going if next(events, None) is not None]
    for made, recipe in zip(several, recipes, strict=True):
        assert equal(state_of(made), state_of(trained(recipe)))


def test_torchs_own_generator_is_left_alone() -> None:
    made = Training(TINY, task("who"))
    before = torch.get_rng_state()
    for _ in made.events():
        assert torch.equal(torch.get_rng_state(), before)


def test_the_number_of_threads_is_that_of_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    before, seen = torch.get_num_threads(), set()
    wanted = 1 if before > 1 else 2
    made = Training(replace(TINY, steps=2, evaluations=1, threads=wanted), task("who"))
    next_loss = made.objective.next_loss

    def noted(generator: torch.Generator) -> object:
        seen.add(torch.get_num_threads())
        return next_loss(generator)

    monkeypatch.setattr(made.objective, "next_loss", noted)
    for _ in made.events():
        assert torch.get_num_threads() == before  # whoever asks for events has his own
    assert seen == {wanted}


def test_all_implementations_learn_alike() -> None:
    """Their first three losses, in float64."""
    recipe = replace(TINY, position="none", steps=3, evaluations=1, schedule="constant")
    losses = {}
    for name in IMPLEMENTATIONS:
        made = Training(replace(recipe, implementation=name), task("who"))
        made.stack.double()
        list(made.events())
        losses[name] = torch.tensor([step.loss for step in made.history.steps], dtype=torch.float64)
    for name, own in losses.items():
        with case(name):
            same_function(own, losses["torch"])
    own_draws = Training(replace(recipe, implementation="torch", start="own"), task("who"))
    own_draws.stack.double()
    list(own_draws.events())
    assert own_draws.history.steps[0].loss != float(losses["torch"][0])


def test_one_cycle_ends_near_zero() -> None:
    for steps in (1, 20):
        made = Training(replace(TINY, steps=steps, evaluations=1), task("who"))
        rates = []
        for event in made.events():
            if not isinstance(event, End) and len(made.history.steps) < steps:
                rates.append(made.optimizer.param_groups[0]["lr"])
        assert max(rates) <= TINY.rate * 1.0001, steps
    assert rates[-1] < 0.001 * TINY.rate
    assert rates[0] < 0.05 * TINY.rate
    assert max(rates) > 0.9 * TINY.rate
