"""The learning curves, and the table of results beside them: means and spreads over seeds, no gap filled in, no NaN."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import torch

from headlight.ui import figures
from mha_core.training.events import End, Evaluation, Event, History, Start, Step
from mha_core.training.recipe import Recipe
from pages.train import summary
from pages.train.curves import Candidate, charts
from tests.closeness import same_function


def learned(
    accuracies: list[float], seed: int = 1, *, end: str = "", losses: Any = None, scores: Any = None
) -> History:
    """A run with these accuracies on the test rows, one every 10 steps."""
    recipe = Recipe(seed=seed, steps=40)
    if scores:
        recipe = replace(recipe, n_layers=len(scores[0]), n_heads=len(scores[0][0]))
    events: list[Event] = [Start(recipe, "t", [] if scores else ["a"], 8, 4, "f", [], 30, 100, 5, [], {}, "cpu")]
    for place, accuracy in enumerate(accuracies):
        step, loss = place * 10, losses[place] if losses else 2 - accuracy
        own = scores[place] if scores else []
        events += [Step(step, 1.0, 0.01 * step)] * bool(step)
        events.append(Evaluation(step, 0.01 * step, loss + 0.5, accuracy / 2, loss, accuracy, None, own, own))
    return History.from_events([*events, End(end, (len(accuracies) - 1) * 10, 0.4)] if end else events)


def named(figure: figures.Figure, name: str) -> figures.Figure:
    lines: list[figures.Figure] = figure["data"]
    (line,) = [line for line in lines if line.get("name") == name]
    return line


def same(values: list[float], expected: list[float]) -> None:
    same_function(torch.tensor(values, dtype=torch.float64), torch.tensor(expected, dtype=torch.float64))


SEEDS = Candidate("none", 0, (learned([0.1, 0.4, 0.5], 1), learned([0.3, 0.6, 0.5], 2)))
OTHER = Candidate("a <b>", 3, (learned([0.0, 0.5, 1.0, 1.0, 1.0], end="steps"),))
SCORES = [[[0.1, 0.2], [0.3, 0.1]], [[0.1, 0.15], [0.2, 0.9]]]


def test_curve_is_the_mean_and_its_band_the_lowest_to_the_highest() -> None:
    accuracy, loss = charts([SEEDS, OTHER], "dark")
    assert accuracy.title == "Accuracy on unseen sentences"
    line = named(accuracy.figure, "none")
    assert line["x"] == [0, 10, 20], "a curve goes as far as its run"
    same(line["y"], [0.2, 0.5, 0.5])
    (band,) = [one for one in accuracy.figure["data"] if one.get("fill")]
    assert band["x"] == [0, 10, 20, 20, 10, 0]
    assert band["y"] == [0.3, 0.6, 0.5, 0.5, 0.4, 0.1]
    training = named(loss.figure, "none, training")
    same(named(loss.figure, "none")["y"], [1.8, 1.5, 1.5])
    same(training["y"], [2.3, 2.0, 2.0])
    assert (training["line"]["dash"], named(loss.figure, "none")["line"]["dash"]) == ("dot", "solid")
    other, name = charts([OTHER], "dark")[0].figure, figures.escaped("a <b>")  # it keeps its look
    assert named(other, name)["marker"] == named(accuracy.figure, name)["marker"]
    assert line["marker"]["symbol"] != named(other, name)["marker"]["symbol"]
    assert line["line"]["color"] != named(other, name)["line"]["color"]
    assert accuracy.table["head"] == ["step", "none", "none, training", "a <b>", "a <b>, training"]
    assert accuracy.table["rows"][1] == ["10", "0.5000", "0.2500", "0.5000", "0.2500"]
    assert accuracy.table["rows"][4] == ["40", "–", "–", "1.0000", "0.5000"], "two seeds have come so far"


def test_nan_is_a_gap_in_the_curve() -> None:
    losses = [2.0, math.nan, math.inf]
    own = Candidate("x", 0, (learned([0.1, 0.1, 0.1], losses=losses, end="not a number"), learned([0.2, 0.2, 0.2], 2)))
    for chart in charts([own], "dark"):
        json.dumps(chart.figure, allow_nan=False)
    loss = charts([own], "dark")[1].figure
    assert named(loss, "x")["y"][1:] == [None, None]
    assert not [one for one in loss["data"] if one.get("fill")]


def test_language_model_curves_follow_the_best_head_of_each_layer() -> None:
    own = Candidate("rotary", 3, (learned([0.1, 0.9], scores=SCORES),))
    accuracy, _, induction, previous = charts([own], "dark")
    assert accuracy.title == "Accuracy on unseen text"
    assert (induction.title, previous.title) == ("Induction score", "Previous-token score")
    assert named(induction.figure, "rotary, layer 0 head 1")["y"] == [0.2, 0.15]
    assert named(induction.figure, "rotary, layer 1 head 1")["y"] == [0.1, 0.9]


# ---- the table of results


def run(accuracy: float, pair: float | None = None, seed: int = 1, *, seconds: float = 2.0, **start: Any) -> History:
    """A run that began at 0.1 and came to this; `start` are other values of its start, `heads` and `end`."""
    own, end = start.pop("heads", []), start.pop("end", "steps")
    begun = Start(Recipe(seed=seed), "Title", ["a", "b"], 30, 200, "abc", ["A note."], 9, 33_546, 5, [], {}, "cpu")
    looks = ((0, 0.1), (400, accuracy))
    events: list[Event] = [
        Evaluation(step, seconds * bool(step), 1.0, 0.5, 1.0, value, pair, own, own) for step, value in looks
    ]
    return History.from_events([replace(begun, **start), *events, *([End(end, 400, seconds)] if end else [])])


def candidate(name: str, *histories: History) -> Candidate:
    return Candidate(name, 0, histories)


def column(head: str, *candidates: Candidate) -> list[str]:
    """A column of the table of these."""
    block = summary.table(list(candidates))
    return [row[block["head"].index(head)] for row in block["rows"]]


def test_table_has_means_spreads_intervals_and_times() -> None:
    none = candidate("none", run(0.5, 0.0, 1), run(0.5, 0.0, 2), run(0.5, 0.0, 3))
    rope = candidate("rotary", run(1.0, 1.0, 1, seconds=1.0), run(0.98, 0.96, 2), run(0.99, 0.98, 3, seconds=3.0))
    for head, cells in {
        "": ["none", "rotary"],
        "accuracy": ["0.500 ± 0.000", "0.990 ± 0.010"],
        "whole pairs right": ["0.000", "0.980"],
        "parameters": ["33,546"] * 2,
    }.items():
        assert column(head, none, rope) == cells
    assert column("95 % interval", none) == ["0.431–0.569"]
    assert "3 seeds" in summary.note([none, rope])
    # 640 rows in batches of 64 are ten steps; the runs took 4 and 8 seconds for 400
    runs = [run(0.5, seed=seed, seconds=seconds, rows_train=640) for seed, seconds in ((1, 4.0), (2, 8.0))]
    assert column("seconds in all", candidate("none", *runs)) == ["6.00"]
    assert column("seconds per epoch", candidate("none", *runs)) == ["0.15"]
    # a single seed has no spread, and one that has not begun no row
    one, empty = candidate("none", run(0.5, end="")), candidate("empty", History(Recipe()))
    assert (column("", one, empty), column("accuracy", one, empty)) == (["none"], ["0.500"])
    assert "whole pairs right" not in summary.table([one])["head"]
    assert summary.table([empty])["rows"] == []


def test_language_models_have_no_interval() -> None:
    written: dict[str, Any] = {"classes": [], "heads": [[0.1, 0.2, 0.7, 0.3]], "rows_train": 0}
    model = candidate("2 layers", run(0.93, **written))
    head = summary.table([model])["head"]
    assert head == ["", "accuracy", "parameters", "seconds in all"]
    assert column("accuracy", model) == ["0.930"]
