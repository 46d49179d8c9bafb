"""The recipe decides a run, bit for bit: neither torch's own generator, nor other runs, nor another process."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from mha_core import IMPLEMENTATIONS
from mha_core.training import tokens
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
def test_the_same_recipe_gives_the_same_weights_and_another_one_others(recipe: Recipe) -> None:
    expected = state_of(trained(recipe))
    torch.manual_seed(99)
    again = run(recipe)
    assert equal(state_of(again), expected)
    assert [step.loss for step in again.history.steps] == [step.loss for step in trained(recipe).history.steps]
    changes: dict[str, Any] = {"seed": 2, "rate": 0.001, "weight_decay": 0.5, "batch": 9, "schedule": "constant"}
    for name, value in {**changes, "mask_padding": False}.items() if recipe == TINY else ():
        assert not equal(state_of(run(replace(recipe, **{name: value}))), expected), name


@pytest.mark.thorough("another process imports torch and trains two models")
def test_another_process_gives_the_same_weights_and_tokenizers(tmp_path: Path) -> None:
    """The tokenizers' own trainer does not: it numbers characters in the order of a hash map."""
    program = (
        "from pathlib import Path; from tests.core.runs import TINY, TINY_WORDS, task, trained\n"
        "from mha_core.training import tokens\n"
        f"for name, recipe in (('a', TINY), ('b', TINY_WORDS)): trained(recipe).save(Path({str(tmp_path)!r}, name))\n"
        f"for name in ('who', 'food'): tokens.of(task(name), 90).save(str(Path({str(tmp_path)!r}, name)))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, check=True, timeout=280)
    from safetensors.torch import load_file

    for name, recipe in (("a", TINY), ("b", TINY_WORDS)):
        assert equal(load_file(tmp_path / name / "model.safetensors"), state_of(trained(recipe)))
    for name in ("who", "food"):
        theirs = json.loads((tmp_path / name).read_text("utf-8"))
        assert theirs == json.loads(tokens.of(task(name), 90).to_str()), name


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


def test_the_number_of_threads_is_that_of_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    before, seen = torch.get_num_threads(), set()
    wanted = 1 if before > 1 else 2
    made = Training(replace(TINY, steps=1, evaluations=1, threads=wanted), task("who"))
    next_loss = made.objective.next_loss

    def noted(generator: torch.Generator) -> object:
        seen.add(torch.get_num_threads())
        return next_loss(generator)

    monkeypatch.setattr(made.objective, "next_loss", noted)
    for _ in made.events():
        assert torch.get_num_threads() == before  # the caller's own
    assert seen == {wanted}


@pytest.mark.thorough("every implementation is trained; what they compute alike is tested without training too")
def test_all_implementations_learn_alike() -> None:
    """Their first three losses, in float64; but from draws of its own, an implementation begins elsewhere."""
    recipe = replace(TINY, position="none", steps=3, evaluations=1, schedule="constant")

    def losses(**changes: Any) -> torch.Tensor:
        made = Training(replace(recipe, **changes), task("who"))
        made.stack.double()
        list(made.events())
        return torch.tensor([step.loss for step in made.history.steps], dtype=torch.float64)

    expected = losses(implementation="torch")
    for name in IMPLEMENTATIONS:
        with case(name):
            same_function(losses(implementation=name), expected)
    assert losses(implementation="torch", start="own")[0] != expected[0]


def test_one_cycle_ends_near_zero() -> None:
    for steps in (1, 20):
        made = Training(replace(TINY, steps=steps, evaluations=1), task("who"))
        rates = [made.optimizer.param_groups[0]["lr"] for _ in made.events() if len(made.history.steps) < steps]
        assert max(rates) <= TINY.rate * 1.0001, steps
    assert rates[-1] < 0.001 * TINY.rate
    assert rates[0] < 0.05 * TINY.rate
    assert max(rates) > 0.9 * TINY.rate
