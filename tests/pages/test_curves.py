"""The learning curves: means and bands over seeds, curves that stop, no gap filled in, the same as text."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import plotly.graph_objects as go
import pytest
import torch

from mha_core.training.events import End, Evaluation, Event, History, Start, Step
from mha_core.training.recipe import Recipe
from pages.kit.draw import figures
from pages.kit.draw.palette import PALETTES, candidate_colour
from pages.train.curves import Candidate, charts
from pages.train.standing import ended, progress, sentences
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
        step = place * 10
        if step:
            events.append(Step(step, 1.0, 0.01 * step))
        loss = losses[place] if losses else 2 - accuracy
        own = scores[place] if scores else []
        events.append(Evaluation(step, 0.01 * step, loss + 0.5, accuracy / 2, loss, accuracy, None, own, own))
    if end:
        events.append(End(end, (len(accuracies) - 1) * 10, 0.4))
    return History.of(events)


def named(figure: figures.Figure, name: str) -> figures.Figure:
    lines: list[figures.Figure] = figure["data"]
    (line,) = [line for line in lines if line.get("name") == name]
    return line


SEEDS = Candidate("none", 0, (learned([0.1, 0.4, 0.5], 1), learned([0.3, 0.6, 0.5], 2)))
OTHER = Candidate("a <b>", 3, (learned([0.0, 0.5, 1.0, 1.0, 1.0], end="steps"),))


def test_plotly_takes_them_and_no_name_is_markup() -> None:
    for theme, apart in (("dark", False), ("light", True)):
        made = charts([SEEDS, OTHER], theme, apart=apart)
        assert len({chart.key for chart in made}) == len(made) == (4 if apart else 2)
        for chart in made:
            assert go.Figure(chart.figure).data
            assert "<b>" not in json.dumps(chart.figure)
        assert len({candidate_colour(number, theme) for number in range(8)}) == 8
    for first, second in (made[:2], made[2:]):  # apart, with the same axes
        for axis in ("xaxis", "yaxis"):
            assert first.figure["layout"][axis]["range"] == second.figure["layout"][axis]["range"]
    assert [chart.title for chart in made] == [
        "none: accuracy on unseen sentences", "a <b>: accuracy on unseen sentences", "none: loss", "a <b>: loss",
    ]  # fmt: skip


def same(values: list[float], expected: list[float]) -> None:
    same_function(torch.tensor(values, dtype=torch.float64), torch.tensor(expected, dtype=torch.float64))


def test_a_curve_is_the_mean_and_its_band_the_lowest_to_the_highest() -> None:
    accuracy, loss = charts([SEEDS, OTHER], "dark")
    assert accuracy.title == "Accuracy on unseen sentences"
    assert accuracy.note == "1 to 2 seeds, band = lowest to highest · dotted: training batches"
    line = named(accuracy.figure, "none")
    assert line["x"] == [0, 10, 20]
    same(line["y"], [0.2, 0.5, 0.5])
    (band,) = [one for one in accuracy.figure["data"] if one.get("fill")]
    assert band["x"] == [0, 10, 20, 20, 10, 0]
    assert band["y"] == [0.3, 0.6, 0.5, 0.5, 0.4, 0.1]
    same(named(loss.figure, "none")["y"], [1.8, 1.5, 1.5])
    same(named(loss.figure, "none, training")["y"], [2.3, 2.0, 2.0])
    assert named(loss.figure, "none, training")["line"]["dash"] == "dot"
    assert named(loss.figure, "none")["line"]["dash"] == "solid"


def test_the_axis_is_as_long_as_the_plan_and_a_candidate_keeps_its_look() -> None:
    axis = charts([SEEDS], "dark")[0].figure["layout"]["xaxis"]
    assert axis["tickvals"] == [0, 5, 10, 15, 20, 25, 30, 35, 40]
    assert axis["range"][0] < 0
    assert axis["range"][1] > 40
    low, high = charts([SEEDS], "dark")[0].figure["layout"]["yaxis"]["range"]
    assert (round(low, 1), round(high, 1)) == (0, 1), "all of an accuracy's range is in sight"
    assert max(named(charts([SEEDS], "dark")[0].figure, "none")["x"]) == 20, "a curve goes as far as its run"
    # a candidate keeps its look, and differs without colour
    alone, both = charts([OTHER], "light")[0].figure, charts([SEEDS, OTHER], "light")[0].figure
    name = figures.escaped("a <b>")
    assert named(alone, name)["marker"] == named(both, name)["marker"]
    assert named(both, "none")["marker"]["symbol"] != named(both, name)["marker"]["symbol"]
    assert named(both, "none")["line"]["color"] != named(both, name)["line"]["color"]


def test_a_seed_that_goes_on_alone_is_a_thin_line_of_its_own() -> None:
    own = Candidate("x", 1, (learned([0.1, 1.0], 1, end="target"), learned([0.3, 0.5, 0.7, 1.0], 2, end="target")))
    figure = charts([own], "dark")[0].figure
    assert named(figure, "x")["x"] == [0, 10]
    tail = named(figure, "x, seed 2")
    assert (tail["x"], tail["y"]) == ([10, 20, 30], [0.5, 0.7, 1.0])
    assert tail["line"]["width"] < named(figure, "x")["line"]["width"]
    assert not tail["showlegend"]
    # the last look of a run that was stopped does not count as another's
    stopped = learned([0.1, 0.2], 1)
    stopped.take(Evaluation(13, 0.1, 1, 0.5, 1, 0.4))
    own = Candidate("x", 1, (stopped, learned([0.1, 0.2, 0.6], 2)))
    figure = charts([own], "dark")[0].figure
    assert named(figure, "x")["x"] == [0, 10]
    assert named(figure, "x, seed 1")["x"] == [10, 13]
    assert named(figure, "x, seed 2")["x"] == [10, 20]


def test_what_is_no_number_is_a_gap() -> None:
    losses = [2.0, math.nan, math.inf]
    own = Candidate("x", 0, (learned([0.1, 0.1, 0.1], losses=losses, end="not a number"), learned([0.2, 0.2, 0.2], 2)))
    for apart in (False, True):
        for chart in charts([own], "dark", apart=apart):
            json.dumps(chart.figure, allow_nan=False)
    loss = charts([own], "dark")[1].figure
    assert named(loss, "x")["y"][1:] == [None, None]
    assert not [one for one in loss["data"] if one.get("fill")]


def test_the_numbers_of_the_curves_are_a_table() -> None:
    accuracy, loss = (chart.table for chart in charts([SEEDS, OTHER], "dark"))
    assert accuracy["head"] == ["step", "none", "none, training", "a <b>", "a <b>, training"]
    assert accuracy["rows"][1] == ["10", "0.5000", "0.2500", "0.5000", "0.2500"]
    assert accuracy["rows"][4] == ["40", "–", "–", "1.0000", "0.5000"], "two seeds have come so far"
    assert (len(accuracy["rows"]), accuracy["caption"].split(":")[0]) == (5, "Accuracy on unseen sentences")
    assert loss["rows"][0][1] == "1.8000"
    waiting = Candidate("w", 0, (History(Recipe()), learned([])))
    assert charts([waiting], "dark") == []
    assert sentences([waiting]) == ["w: not begun"]
    assert len(charts([waiting, SEEDS], "dark")) == 2


def test_a_run_may_go_on_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    late = learned([])
    own = Candidate("x", 0, (learned([0.1, 0.2], scores=SCORES), late))
    draw = figures.over_steps

    def grown(*args: Any, **options: Any) -> figures.Figure:
        late.take(Evaluation(0, 0.0, 1.0, 0.5, 1.0, 0.5, None, SCORES[0], SCORES[0]))
        return draw(*args, **options)

    monkeypatch.setattr(figures, "over_steps", grown)
    assert [chart.note.split(" · ")[0] for chart in charts([own], "dark")][1] == "dotted: training batches"
    assert len(late.evaluations) == 4


SCORES = [[[0.1, 0.2], [0.3, 0.1]], [[0.1, 0.15], [0.2, 0.9]]]


def test_of_a_language_model_the_best_head_of_each_layer_is_followed() -> None:
    own = Candidate("rotary", 3, (learned([0.1, 0.9], scores=SCORES),))
    accuracy, _, induction, previous = charts([own], "dark")
    assert accuracy.title == "Accuracy on unseen text"
    assert (induction.title, previous.title) == ("Induction score", "Previous-token score")
    assert named(induction.figure, "rotary, layer 0 head 1")["y"] == [0.2, 0.15]
    assert named(induction.figure, "rotary, layer 1 head 1")["y"] == [0.1, 0.9]
    dashes = [line["line"]["dash"] for line in induction.figure["data"]]
    assert len(set(dashes)) == 2
    assert sentences([own]) == [
        "rotary: 0.900 after 10 of 40 steps (seed 1), induction 0.900 (layer 1 head 1), "
        "previous token 0.900 (layer 1 head 1)"
    ]
    # over seeds each has its own best head
    swapped = [[layer[::-1] for layer in look] for look in SCORES]
    own = Candidate("r", 3, (learned([0.1, 0.9], scores=SCORES), learned([0.1, 0.9], 2, scores=swapped)))
    induction = charts([own], "dark")[2].figure
    assert named(induction, "r, layer 1 best head")["y"] == [0.1, 0.9]
    assert sentences([own])[0].endswith("2 seeds), induction 0.900, previous token 0.900")


def test_the_same_told_as_text() -> None:
    assert sentences([SEEDS, OTHER]) == [
        "none: 0.500 after 20 of 40 steps (lowest 0.500, highest 0.500, 2 seeds)",
        "a <b>: 1.000 after 40 steps (seed 1)",
    ]
    apart = Candidate("x", 1, (learned([0.1, 1.0], 1, end="target"), learned([0.3, 0.5, 0.75], 2), History(Recipe())))
    assert sentences([apart]) == [
        "x: 0.875 after 10 to 20 of 40 steps (lowest 0.750, highest 1.000, 2 seeds); "
        "it reached its target (1 of 3 seeds); 1 more not begun"
    ]
    for reason, words in (("time", "time budget used up"), ("not a number", "NaN or infinite")):
        (sentence,) = sentences([Candidate("x", 0, (learned([0.1, 0.2], end=reason),))])
        assert sentence.endswith(words)
    for value, text in {1.0: "1.000", 0.99996: ">0.999", 0.0: "0.000", 0.0001: "<0.001"}.items():
        assert sentences([Candidate("x", 0, (learned([value]),))])[0].startswith(f"x: {text} after 0")


def test_progress_in_words() -> None:
    assert progress(1, 20, 40, 0.2) == "step 20 of 40 · 0.2 s · 100 steps/s"
    assert progress(2, 10, 80, 0.1) == "2 runs: step 10 of 80 · 0.1 s · 100 steps/s"
    assert progress(1, 2, 40, 6) == "step 2 of 40 · 6.0 s · 3.0 s a step"
    assert progress(1, 0, 1000, 0) == "step 0 of 1,000 · 0.0 s"
    # an end before the last step says why
    assert ended(9, 2561, 3600, 85.0, stopped=True, why="its time was up") == (
        "9 runs stopped after 85 s: its time was up; step 2,561 of 3,600"
    )
    assert ended(1, 20, 40, 2.0, stopped=True) == "stopped after 2 s; step 20 of 40"
    assert ended(2, 20, 40, 2.0, stopped=False) == "2 runs ended after 2 s; step 20 of 40"


def test_the_axes_stand_before_the_first_look_with_the_earlier_curves_in_grey() -> None:
    waiting = Candidate("rotary", 3, (History(Recipe(steps=40)),))
    assert charts([waiting], "dark", ghosts=[SEEDS]) == []
    bare, _ = charts([waiting], "dark", waiting=True)
    assert bare.figure["data"] == []
    assert bare.figure["layout"]["xaxis"]["range"][1] > 40
    accuracy, loss = charts([waiting], "dark", waiting=True, ghosts=[SEEDS, OTHER])
    for chart in (accuracy, loss):
        go.Figure(chart.figure)
        first, second = chart.figure["data"]
        assert [line["showlegend"] for line in (first, second)] == [True, False]
        assert first["name"] == "before"
        assert {line["line"]["color"] for line in (first, second)} == {PALETTES["dark"].muted}
        assert first["opacity"] < 1
        assert first["mode"] == "lines"
    same(accuracy.figure["data"][0]["y"], [0.2, 0.5, 0.5])
    begun = charts([OTHER], "dark", ghosts=[SEEDS])[0].figure
    assert [line["name"] for line in begun["data"] if line["showlegend"]] == ["before", figures.escaped("a <b>")]
    # they end with the axes
    short = Candidate("rotary", 3, (History(Recipe(steps=10)),))
    (ghost,) = charts([short], "dark", waiting=True, ghosts=[SEEDS])[0].figure["data"]
    assert ghost["x"] == [0, 10]
    # on a projector it is larger
    small, large = (charts([SEEDS], "dark", large=large)[0].figure for large in (False, True))
    go.Figure(large)
    assert large["layout"]["height"] > small["layout"]["height"]
    assert large["layout"]["font"]["size"] >= 16
    assert large["layout"]["xaxis"]["tickfont"]["size"] >= 16
