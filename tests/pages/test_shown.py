"""Which runs are shown: shipped ones in their order, those of files beside them, and their numbers as a file."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

from mha_core.training import saved
from pages.train import runs
from pages.train.curves import Candidate


def test_shipped_runs_stand_in_the_order_of_the_controls(shipped: Path) -> None:
    found = runs.of_shipped("who")
    assert [each.name for each in found.candidates] == ["none", "rotary"]
    assert found.models == ("who-none-1", "who-rotary-1")
    assert found.ready == {"none": "who-none-1", "rotary": "who-rotary-1"}
    assert found.beforehand
    assert found.first("rotary").recipe.position == "rotary"
    assert runs.of_shipped("csv").candidates == ()


def test_runs_of_files_get_names_of_their_own(shipped: Path) -> None:
    history = saved.read(shipped / "who-rotary-1")
    both = runs.of_shipped("who") + runs.of_histories([history], ["own"])
    assert [each.name for each in both.candidates] == ["none", "rotary", "rotary (file)"]
    assert both.models[-1] == "own"


def test_seeds_belong_together_and_the_first_with_weights_is_asked(shipped: Path) -> None:
    first = saved.read(shipped / "who-rotary-1")
    second = replace(first, recipe=replace(first.recipe, seed=2))
    found = runs.of_histories([second, first], [None, "one"])
    assert [[run.recipe.seed for run in each.histories] for each in found.candidates] == [[1, 2]]
    assert found.models == ("one",)


def test_the_curves_as_csv_hold_no_formula(shipped: Path) -> None:
    history = saved.read(shipped / "who-rotary-1")
    written = runs.csv_of(runs.Runs((Candidate("=1+1", 0, (history,)),), (None,))).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [row["candidate"] for row in rows] == ["'=1+1"] * len(history.evaluations)
    assert [float(row["test_accuracy"]) for row in rows] == [look.test_accuracy for look in history.evaluations]
