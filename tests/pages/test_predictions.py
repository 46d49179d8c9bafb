"""The table of predictions: equal to what each model says of each text, sorted as asked, safe as a file."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from mha_core import load_model
from mha_core.measure import rounding
from mha_core.training import inference
from mha_core.training.tasks import Labelled
from pages.train import predictions, probabilities, uploads
from pages.train.answers import Trained
from pages.train.predictions import EVERY, OWN, RIGHT, WRONG, PredictedRows, TableFilter
from tests.closeness import identical, within_rounding

from .train_app import Train

TYPED = ["the dog chased the cat", "=1+1"]


@pytest.fixture
def models(shipped: Path) -> dict[str, Trained]:
    names = {name: f"who-{name}-1" for name in ("none", "rotary")}
    return {name: Trained(own, load_model(str(shipped / own), dtype=torch.float64)) for name, own in names.items()}


@pytest.fixture
def task() -> Labelled:
    whole = uploads.built("who")
    assert isinstance(whole, Labelled)
    return replace(whole, test=whole.test[:60])


def made(classes: tuple[str, ...], rows: list[list[float]], labels: tuple[int | None, ...]) -> PredictedRows:
    return PredictedRows("mine", classes, tuple(f"={at}" for at in range(len(rows))), labels, torch.tensor(rows), 1)


SMALL = made(("row", "=b"), [[0.25, 0.75], [0.6, 0.4], [0.9, 0.1], [0.3, 0.7]], (1, 1, 0, None))


def test_every_row_is_what_its_model_says(models: dict[str, Trained], task: Labelled) -> None:
    """Against one question after the other, row by row."""
    table = predictions.frame(probabilities.answered(models, task, TYPED))
    assert len(table) == 2 * (60 + len(TYPED))
    texts = [*(row.text for row in task.test), *TYPED]
    asked = [(name, text) for name in models for text in texts]
    chances = [predictions.chance_of(name) for name in task.classes]
    for (name, text), (_, row) in zip(asked, table.iterrows(), strict=True):
        alone = inference.probabilities(models[name].model, [text])[0]
        within_rounding(torch.tensor([row[name] for name in chances]), alone, rounding.bound(1, torch.float32))
        assert row["predicted"] == task.classes[int(alone.argmax())]
        assert (row["model"], row["text"]) == (name, text)
    assert list(table["actual"][:60]) == [task.classes[row.label] for row in task.test]
    assert set(table["actual"][60:62]) == {""}


def test_models_of_other_classes_are_left_out(models: dict[str, Trained], task: Labelled) -> None:
    other = replace(task, classes=tuple(reversed(task.classes)))
    assert probabilities.answered(models, other, TYPED) == []
    assert len(probabilities.answered(models, None, TYPED)) == 2
    assert "every text asked alone" in probabilities.notes(models, probabilities.answered(models, task, []), task)[0]


def test_rows_are_filtered_and_sorted() -> None:
    table = predictions.frame([SMALL])
    for choice, rows in (
        (TableFilter(), [0, 1, 2, 3]),
        (TableFilter(down=True), [3, 2, 1, 0]),
        (TableFilter(RIGHT), [0, 2]),
        (TableFilter(WRONG), [1]),
        (TableFilter(OWN), [3]),
        (TableFilter(actual="=b"), [0, 1]),
        (TableFilter(EVERY, predicted="row", by="P(row)", down=True), [2, 1]),
        (TableFilter(by="P(row)"), [0, 3, 1, 2]),
        (TableFilter(by="predicted"), [0, 3, 1, 2]),
        (TableFilter(by="nothing", down=True), [0, 1, 2, 3]),
        (TableFilter(WRONG, predicted="=b"), []),
    ):
        chosen = predictions.chosen(table, choice)
        assert list(chosen.index) == rows, choice
        block = predictions.block(chosen, choice, len(table))
        assert [row[1] for row in block["rows"]] == [f"={at}" for at in rows]
        assert block["caption"].startswith(f"{len(rows)} of 4 rows")


def test_right_and_wrong_are_told_in_words_and_colour() -> None:
    block = predictions.block(predictions.frame([SMALL]), TableFilter(by="P(row)", down=True), 4)
    assert [row[4] for row in block["rows"]] == ["=b ✓", "row ✗", "row ✓", "=b"]
    assert block["marks"] == [[0, 4, "good"], [1, 4, "bad"], [2, 4, "good"]]
    assert block["order"] == [2, True]
    long = predictions.frame([SMALL] * 50)
    assert len(predictions.block(long, TableFilter(), 200)["rows"]) == predictions.MOST_SHOWN


def test_the_file_holds_every_digit_and_no_formula() -> None:
    written = predictions.csv_of(predictions.frame([SMALL])).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [row["text"] for row in rows] == ["'=0", "'=1", "'=2", "'=3"]
    assert [row["predicted"] for row in rows] == ["'=b", "row", "row", "'=b"]
    assert [row["row"] for row in rows] == ["0", "1", "2", "typed"]
    kept = torch.tensor([[float(row["P(row)"]), float(row["P(=b)"])] for row in rows])
    identical(kept, SMALL.probabilities)


def test_the_page_shows_and_sorts_them(shipped: Path) -> None:
    page = Train(tab="Report", sort="P(dog)", desc="true", only="wrong answers", cand2="rotary")
    table = page.table("P(dog)")
    column = [row[table["head"].index("P(dog)")] for row in table["rows"]]
    assert column == sorted(column, reverse=True)
    assert all("✗" in row[table["head"].index("predicted")] for row in table["rows"])
    assert {row[-1] for row in table["rows"]} <= {"none", "rotary"}
    assert len([block for block in page.blocks() if block.get("name") == "Confusion matrix"]) == 2
    page.app.selectbox(key="only").set_value("typed sentences").run()
    assert [row[-1] for row in page.table("P(dog)")["rows"]] == ["none", "none", "rotary", "rotary"]
    assert page.notices() == []
    page.app.selectbox(key="run").set_value("seed 1").run()
    assert page.panel("What “none” got right and wrong")["note"] == "seed 1"
