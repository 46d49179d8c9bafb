"""The runs of Train: which there are and would be, and what the tab Report says of them; what a task asks."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from headlight.ui.numbers import fixed
from mha_core import IMPLEMENTATIONS, load_model, positions
from mha_core.measure import rounding
from mha_core.training import inference, saved
from mha_core.training.events import End, History, Start
from mha_core.training.recipe import Recipe
from mha_core.training.report import class_report
from mha_core.training.report import confusion as matrix
from mha_core.training.tasks import Labelled, Row
from pages.train import confusion, picture_settings, predictions, runs, uploads
from pages.train.answers import TrainedModel
from pages.train.confusion import Outcome
from pages.train.curves import Candidate
from pages.train.predictions import ALL_ROWS, RIGHT_ROWS, TYPED_ROWS, WRONG_ROWS, TableFilter
from pages.train.runs import Runs, combine, with_seeds
from tests.closeness import identical, within_rounding

from .train_app import Train

BASE = Recipe()
NONE = Recipe(position="none")
ROTARY = replace(NONE, position="rotary")


def shown(*recipes: Recipe) -> Runs:
    return runs.from_histories([(History(recipe), None) for recipe in recipes])


# ---- candidates


def test_unsupported_combinations_are_skipped_and_reported_once() -> None:
    for name, implementation in IMPLEMENTATIONS.items():
        able = [p for p in positions.NAMES if positions.mechanisms(p) - {"add"} <= implementation.can]
        made, left_out = combine(BASE, positions.NAMES, [name], [1, 2], [True])
        assert [recipe.position for recipe in made] == [p for p in able for _ in range(2)]
        unable = [p for p in positions.NAMES if p not in able]
        assert left_out == [f"{name} cannot compute {p} positions, so this pair is left out." for p in unable]


def test_runs_are_grouped_into_their_candidates() -> None:
    made, _ = combine(BASE, ["none", "sinusoidal", "rotary"], ["fused"], [1], [True])
    recipes = with_seeds(made, 3)
    candidates = shown(*reversed(recipes)).candidates
    assert [candidate.name for candidate in candidates] == ["rotary", "sinusoidal", "none"]
    assert [candidate.colour for candidate in candidates] == [3, 1, 0]  # of these positions, whichever are chosen
    assert [[run.recipe.seed for run in candidate.histories] for candidate in candidates] == [[1, 2, 3]] * 3


def test_pending_changes_are_listed() -> None:
    picture = shown(NONE, ROTARY)
    assert picture_settings.pending_changes(picture, [NONE]) == [], "less than the picture is nothing new"
    other = replace(NONE, position="learned", n_layers=2, implementation="torch", mask_padding=False)
    assert picture_settings.pending_changes(picture, [NONE, other]) == [
        "Not trained yet: learned, torch, 2 layers, padding not masked."
    ]
    assert picture_settings.pending_changes(picture, [replace(NONE, steps=1500, residual=True, rate=0.01)]) == [
        "Now selected: steps 1,500, learning rate 0.01, residual connection yes. Press Train to see what that changes."
    ]


# ---- those that are shown


def test_curves_as_csv_hold_no_formula(shipped: Path) -> None:
    history = saved.read(shipped / "who-rotary-1")
    written = runs.to_csv(runs.Runs((Candidate("=1+1", 0, (history,)),))).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [row["candidate"] for row in rows] == ["'=1+1"] * len(history.evaluations)
    assert [float(row["test_accuracy"]) for row in rows] == [look.test_accuracy for look in history.evaluations]


# ---- report and confusion matrix, against their definitions


TRUE = [0, 0, 0, 1, 1, 2]
SAID = [0, 0, 1, 1, 0, 0]
AGAIN = [0, 1, 1, 1, 1, 0]
ROWS = tuple(Row(f"text {number} =1+1", label) for number, label in enumerate(TRUE))
TASK = Labelled("csv", "Mine", 1, ("a", "=b()", "c"), ROWS, ROWS, ("q",), ("q",))


def history(predicted: list[int], fingerprint: str = TASK.fingerprint, seed: int = 1) -> History:
    recipe = Recipe(seed=seed)
    start = Start(recipe, "Mine", list(TASK.classes), 6, 6, fingerprint, [], 9, 9, 5, [], {}, "cpu")
    return History.from_events([start, End("steps", 1, 0.1, predicted)])


def outcome(*answers: list[int]) -> Outcome:
    found = confusion.evaluate("mine", [history(outputs, seed=seed) for seed, outputs in enumerate(answers, 1)], TASK)
    assert found
    return found


def test_report_of_all_seeds_is_that_of_all_their_answers() -> None:
    of = outcome(SAID, AGAIN)
    shares = class_report(matrix(TRUE * 2, SAID + AGAIN, 3))
    rows = confusion.report(of)["rows"]
    assert [row[0] for row in rows] == [*TASK.classes, "accuracy", "macro avg", "weighted avg"]
    assert [row[1:4] for row in (*rows[:3], *rows[4:])] == [list(map(fixed, line)) for line in shares.tolist()]
    assert rows[3][3] == fixed(6 / 12) == rows[5][2]
    assert [int(row[4]) for row in rows] == [6, 4, 2, 12, 12, 12]
    assert of.seed_label == "seeds 1, 2 together"


def test_matrix_and_its_cells() -> None:
    block = confusion.confusion(outcome(SAID), (0, 1), 0)
    assert block["cells"] == [["2", "1", "0"], ["1", "1", "0"], ["1", "0", "0"]]
    assert block["marks"] == [[0, 1]]
    assert block["edit"].startswith(confusion.CELL)
    assert confusion.cell_sentences(outcome(SAID), (0, 1))["rows"] == [["0", "text 2 =1+1"]]
    assert confusion.cell_sentences(outcome(SAID), (2, 2))["rows"] == []
    block = confusion.cell_sentences(outcome(SAID, AGAIN), (0, 1))  # how many seeds answered so
    assert block["rows"] == [["2", "text 2 =1+1"], ["1", "text 1 =1+1"]]


# ---- the table of predictions


TYPED = ["the dog chased the cat", "=1+1"]


@pytest.fixture
def models(shipped: Path) -> dict[str, TrainedModel]:
    names = {name: f"who-{name}-1" for name in ("none", "rotary")}
    return {name: TrainedModel(own, load_model(str(shipped / own), dtype=torch.float64)) for name, own in names.items()}


@pytest.fixture
def task() -> Labelled:
    whole = uploads.generated_task("who")
    assert isinstance(whole, Labelled)
    return replace(whole, test=whole.test[:60])


SHARES = torch.tensor([[0.25, 0.75], [0.6, 0.4], [0.9, 0.1], [0.3, 0.7]])


def small() -> Any:
    """The answers of a model to three rows and a typed text."""
    return predictions.frame("mine", ("row", "=b"), [f"={at}" for at in range(4)], (1, 1, 0, None), SHARES)


def test_every_row_is_what_its_model_says(models: dict[str, TrainedModel], task: Labelled) -> None:
    """Against one question after the other, row by row."""
    table = predictions.prediction_table(models, task, TYPED)
    assert table is not None
    assert len(table) == 2 * (60 + len(TYPED))
    texts = [*(row.text for row in task.test), *TYPED]
    asked = [(name, text) for name in models for text in texts]
    chances = [predictions.probability_column(name) for name in task.classes]
    for (name, text), (_, row) in zip(asked, table.iterrows(), strict=True):
        alone = inference.probabilities(models[name].model, [text])[0]
        within_rounding(torch.tensor([row[name] for name in chances]), alone, rounding.bound(1, torch.float32))
        assert row["predicted"] == task.classes[int(alone.argmax())]
        assert (row["model"], row["text"]) == (name, text)
    assert list(table["actual"][:60]) == [task.classes[row.label] for row in task.test]
    assert set(table["actual"][60:62]) == {""}


def test_rows_are_filtered_and_sorted() -> None:
    table = small()
    for choice, rows in (
        (TableFilter(), [0, 1, 2, 3]),
        (TableFilter(RIGHT_ROWS), [0, 2]),
        (TableFilter(WRONG_ROWS), [1]),
        (TableFilter(TYPED_ROWS), [3]),
        (TableFilter(actual="=b"), [0, 1]),
        (TableFilter(ALL_ROWS, predicted="row", sort_column="P(row)", descending=True), [2, 1]),
        (TableFilter(sort_column="predicted"), [0, 3, 1, 2]),
        (TableFilter(WRONG_ROWS, predicted="=b"), []),
    ):
        chosen = predictions.filter_rows(table, choice)
        assert list(chosen.index) == rows, choice
        block = predictions.block(chosen, choice, len(table))
        assert [row[1] for row in block["rows"]] == [f"={at}" for at in rows]
        assert block["caption"].startswith(f"{len(rows)} of 4 rows")


def test_file_holds_every_digit_and_no_formula() -> None:
    written = predictions.to_csv(small()).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [row["text"] for row in rows] == ["'=0", "'=1", "'=2", "'=3"]
    assert [row["predicted"] for row in rows] == ["'=b", "row", "row", "'=b"]
    assert [row["row"] for row in rows] == ["0", "1", "2", "typed"]
    kept = torch.tensor([[float(row["P(row)"]), float(row["P(=b)"])] for row in rows])
    identical(kept, SHARES)


def test_page_shows_and_sorts_them(shipped: Path) -> None:
    page = Train(tab="Report", sort="P(dog)", desc="true", only="wrong answers", cand2="rotary")
    table = page.table("P(dog)")
    column = [row[table["head"].index("P(dog)")] for row in table["rows"]]
    assert column == sorted(column, reverse=True)
    assert all("✗" in row[table["head"].index("predicted")] for row in table["rows"])
    assert {row[-1] for row in table["rows"]} <= {"none", "rotary"}
    page.app.selectbox(key="only").set_value("typed sentences").run()
    assert [row[-1] for row in page.table("P(dog)")["rows"]] == ["none", "none", "rotary", "rotary"]
