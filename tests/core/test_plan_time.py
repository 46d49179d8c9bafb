"""The time of a plan: steps are measured by what they are, sizes count, and what is offered fits."""

from dataclasses import replace

import pytest

from mha_core.training import plan_time
from mha_core.training.recipe import Recipe
from mha_core.training.tasks import Labelled, Row
from tests.closeness import same_function

SHORT = Recipe(task="csv", d_model=16, n_heads=2, vocabulary=50, max_len=64, batch=8, steps=10, evaluations=2)


def task(letters: int, rows: int = 90) -> Labelled:
    some = tuple(Row("x" * letters, at % 2) for at in range(rows))
    return Labelled("csv", "Mine", 1, ("a", "b"), some, some[:30], ("q",), ("q",))


def test_the_length_is_that_of_the_longest_in_a_batch_and_no_more_than_is_read() -> None:
    assert plan_time.expected_length(SHORT, task(30)) == 12
    assert plan_time.expected_length(SHORT, task(9000)) == SHORT.max_len
    mixed = task(30)
    mixed = replace(mixed, train=(*mixed.train[:60], *task(90).train[:30]))
    assert plan_time.expected_length(SHORT, mixed) == 32
    assert plan_time.expected_length(SHORT, replace(mixed, train=())) == 2


def test_more_steps_looks_and_letters_take_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_time, "step_seconds", lambda recipe, length, *_: 0.01 * length)
    one = plan_time.run_seconds(SHORT, task(30))
    evaluations = 3 * 4 * plan_time.FORWARD  # three at 30 rows in batches of 8
    same_function(one, (10 + evaluations) * 0.12)
    same_function(plan_time.run_seconds(replace(SHORT, steps=20), task(30)), one + 10 * 0.12)
    assert plan_time.reading_seconds(task(60)) == 2 * plan_time.reading_seconds(task(30)) > 0


def test_a_step_is_measured_once_for_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    really, calls = plan_time.timed, []

    def noted(recipe: Recipe, rows: int, length: int, classes: int) -> float:
        calls.append((recipe.implementation, rows))
        return really(recipe, rows, length, classes)

    monkeypatch.setattr(plan_time, "timed", noted)
    plan_time.measured.cache_clear()
    found = [plan_time.step_seconds(replace(SHORT, seed=seed, steps=seed), 12, 2) for seed in (1, 2, 3)]
    assert found[0] > 0
    assert len(set(found)) == 1
    assert calls == [("fused", 4), ("fused", 8)]
    plan_time.step_seconds(replace(SHORT, implementation="naive"), 12, 2)
    assert len(calls) == 4
    monkeypatch.setattr(plan_time, "timed", lambda recipe, rows, *_: 0.1 * rows)  # too slow to be measured whole
    same_function(plan_time.step_seconds(replace(SHORT, implementation="torch"), 12, 2), 0.8)
    plan_time.measured.cache_clear()


def test_fewer_seeds_come_before_fewer_steps() -> None:
    for budget, offered in ((100.0, (3, 1.0)), (70.0, (2, 1.0)), (15.0, (1, 0.5))):
        assert plan_time.fitting([10.0, 20.0], 3, budget) == offered
