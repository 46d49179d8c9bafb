"""The recipe decides a run, bit for bit: neither torch's own generator, nor other runs, nor another process."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from mha_core.training import tokens
from mha_core.training.loop import Training

from .runs import TINY, TINY_WORDS, equal, run, state_of, task, trained

ROOT = Path(__file__).parents[2]


def test_the_same_recipe_gives_the_same_weights_and_another_seed_others() -> None:
    recipe = TINY_WORDS
    expected = state_of(trained(recipe))
    torch.manual_seed(99)
    again = run(recipe)
    assert equal(state_of(again), expected)
    assert [step.loss for step in again.history.steps] == [step.loss for step in trained(recipe).history.steps]
    assert not equal(state_of(run(replace(recipe, seed=2))), expected)


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
