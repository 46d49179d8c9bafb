"""The learning curves, and the table of results beside them: means and spreads over seeds, no gap filled in, no NaN."""

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
from pages.train import summary
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
        step, loss = place * 10, losses[place] if losses else 2 - accuracy
        own = scores[place] if scores else []
        events += [Step(step, 1.0, 0.01 * step)] * bool(step)
        events.append(Evaluation(step, 0.01 * step, loss + 0.5, accuracy / 2, loss, accuracy, None, own, own))
    return History.of([*events, End(end, (len(accuracies) - 1) * 10, 0.4)] if end else events)


def named(figure: figures.Figure, name: str) -> figures.Figure:
    lines: list[figures.Figure] = figure["data"]
    (line,) = [line for line in lines if line.get("name") == name]
    return line


def same(values: list[float], expected: list[float]) -> None:
    same_function(torch.tensor(values, dtype=torch.float64), torch.tensor(expected, dtype=torch.float64))


SEEDS = Candidate("none", 0, (learned([0.1, 0.4, 0.5], 1), learned([0.3, 0.6, 0.5], 2)))
OTHER = Candidate("a <b>", 3, (learned([0.0, 0.5, 1.0, 1.0, 1.0], end="steps"),))
SCORES = [[[0.1, 0.2], [0.3, 0.1]], [[0.1, 0.15], [0.2, 0.9]]]


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
        f"{name}: {what}" for what in ("accuracy on unseen sentences", "loss") for name in ("none", "a <b>")
    ]
    small, large = (charts([SEEDS], "dark", large=large)[0].figure["layout"] for large in (False, True))
    assert large["height"] > small["height"], "on a projector"
    assert large["font"]["size"] >= 16
    assert large["xaxis"]["tickfont"]["size"] >= 16


def test_a_curve_is_the_mean_and_its_band_the_lowest_to_the_highest() -> None:
    accuracy, loss = charts([SEEDS, OTHER], "dark")
    assert accuracy.title == "Accuracy on unseen sentences"
    assert accuracy.note == "1 to 2 seeds, band = lowest to highest · dotted: training batches"
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
    layout = accuracy.figure["layout"]
    assert layout["xaxis"]["tickvals"] == [0, 5, 10, 15, 20, 25, 30, 35, 40]
    assert layout["xaxis"]["range"][0] < 0
    assert layout["xaxis"]["range"][1] > 40, "the axis is as long as the plan"
    assert [round(end, 1) for end in layout["yaxis"]["range"]] == [0, 1], "all of an accuracy's range is in sight"
    other, name = charts([OTHER], "dark")[0].figure, figures.escaped("a <b>")  # it keeps its look
    assert named(other, name)["marker"] == named(accuracy.figure, name)["marker"]
    assert line["marker"]["symbol"] != named(other, name)["marker"]["symbol"]
    assert line["line"]["color"] != named(other, name)["line"]["color"]
    assert accuracy.table["head"] == ["step", "none", "none, training", "a <b>", "a <b>, training"]
    assert accuracy.table["rows"][1] == ["10", "0.5000", "0.2500", "0.5000", "0.2500"]
    assert accuracy.table["rows"][4] == ["40", "–", "–", "1.0000", "0.5000"], "two seeds have come so far"
    assert (len(accuracy.table["rows"]), accuracy.table["caption"].split(":")[0]) == (5, "Accuracy on unseen sentences")
    assert loss.table["rows"][0][1] == "1.8000"


def test_a_seed_that_goes_on_alone_is_a_thin_line_of_its_own() -> None:
    own = Candidate("x", 1, (learned([0.1, 1.0], 1, end="target"), learned([0.3, 0.5, 0.7, 1.0], 2, end="target")))
    figure = charts([own], "dark")[0].figure
    tail = named(figure, "x, seed 2")
    assert (named(figure, "x")["x"], tail["x"], tail["y"]) == ([0, 10], [10, 20, 30], [0.5, 0.7, 1.0])
    assert tail["line"]["width"] < named(figure, "x")["line"]["width"]
    assert not tail["showlegend"]
    stopped = learned([0.1, 0.2], 1)  # its last look does not count as another's
    stopped.take(Evaluation(13, 0.1, 1, 0.5, 1, 0.4))
    figure = charts([Candidate("x", 1, (stopped, learned([0.1, 0.2, 0.6], 2)))], "dark")[0].figure
    assert [named(figure, f"x{seed}")["x"] for seed in ("", ", seed 1", ", seed 2")] == [[0, 10], [10, 13], [10, 20]]


def test_what_is_no_number_is_a_gap() -> None:
    losses = [2.0, math.nan, math.inf]
    own = Candidate("x", 0, (learned([0.1, 0.1, 0.1], losses=losses, end="not a number"), learned([0.2, 0.2, 0.2], 2)))
    for apart in (False, True):
        for chart in charts([own], "dark", apart=apart):
            json.dumps(chart.figure, allow_nan=False)
    loss = charts([own], "dark")[1].figure
    assert named(loss, "x")["y"][1:] == [None, None]
    assert not [one for one in loss["data"] if one.get("fill")]


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


def test_of_a_language_model_the_best_head_of_each_layer_is_followed() -> None:
    own = Candidate("rotary", 3, (learned([0.1, 0.9], scores=SCORES),))
    accuracy, _, induction, previous = charts([own], "dark")
    assert accuracy.title == "Accuracy on unseen text"
    assert (induction.title, previous.title) == ("Induction score", "Previous-token score")
    assert named(induction.figure, "rotary, layer 0 head 1")["y"] == [0.2, 0.15]
    assert named(induction.figure, "rotary, layer 1 head 1")["y"] == [0.1, 0.9]
    assert len({line["line"]["dash"] for line in induction.figure["data"]}) == 2
    assert sentences([own]) == [
        "rotary: 0.900 after 10 of 40 steps (seed 1), induction 0.900 (layer 1 head 1), "
        "previous token 0.900 (layer 1 head 1)"
    ]
    swapped = [[layer[::-1] for layer in look] for look in SCORES]  # over seeds each has its own best head
    own = Candidate("r", 3, (learned([0.1, 0.9], scores=SCORES), learned([0.1, 0.9], 2, scores=swapped)))
    assert named(charts([own], "dark")[2].figure, "r, layer 1 best head")["y"] == [0.1, 0.9]
    assert sentences([own])[0].endswith("2 seeds), induction 0.900, previous token 0.900")


def test_standings_and_progress_in_words() -> None:
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
    assert progress(1, 20, 40, 0.2) == "step 20 of 40 · 0.2 s · 100 steps/s"
    assert progress(2, 10, 80, 0.1) == "2 runs: step 10 of 80 · 0.1 s · 100 steps/s"
    assert progress(1, 2, 40, 6) == "step 2 of 40 · 6.0 s · 3.0 s a step"
    assert progress(1, 0, 1000, 0) == "step 0 of 1,000 · 0.0 s"
    why = ended(9, 2561, 3600, 85.0, stopped=True, why="its time was up")
    assert why == "9 runs stopped after 85 s: its time was up; step 2,561 of 3,600"
    assert ended(1, 20, 40, 2.0, stopped=True) == "stopped after 2 s; step 20 of 40"
    assert ended(2, 20, 40, 2.0, stopped=False) == "2 runs ended after 2 s; step 20 of 40"


def test_the_axes_stand_before_the_first_look_with_the_earlier_curves_in_grey() -> None:
    waiting = Candidate("rotary", 3, (History(Recipe(steps=40)), learned([])))
    assert charts([waiting], "dark") == charts([waiting], "dark", ghosts=[SEEDS]) == []
    assert sentences([waiting]) == ["rotary: not begun"]
    assert len(charts([waiting, SEEDS], "dark")) == 2
    bare, _ = charts([waiting], "dark", waiting=True)
    assert bare.figure["data"] == []
    assert bare.figure["layout"]["xaxis"]["range"][1] > 40
    accuracy, loss = charts([waiting], "dark", waiting=True, ghosts=[SEEDS, OTHER])
    for chart in (accuracy, loss):
        go.Figure(chart.figure)
        first, second = chart.figure["data"]
        assert (first["showlegend"], second["showlegend"], first["name"]) == (True, False, "before")
        assert {line["line"]["color"] for line in (first, second)} == {PALETTES["dark"].muted}
        assert first["opacity"] < 1
        assert first["mode"] == "lines"
    same(accuracy.figure["data"][0]["y"], [0.2, 0.5, 0.5])
    begun = charts([OTHER], "dark", ghosts=[SEEDS])[0].figure
    assert [line["name"] for line in begun["data"] if line["showlegend"]] == ["before", figures.escaped("a <b>")]
    short = Candidate("rotary", 3, (History(Recipe(steps=10)),))  # they end with the axes
    (ghost,) = charts([short], "dark", waiting=True, ghosts=[SEEDS])[0].figure["data"]
    assert ghost["x"] == [0, 10]


# ---- the table of results


def run(accuracy: float, pair: float | None = None, seed: int = 1, *, seconds: float = 2.0, **start: Any) -> History:
    """A run that began at 0.1 and came to this; `start` are other values of its start, `heads` and `end`."""
    own, end = start.pop("heads", []), start.pop("end", "steps")
    begun = Start(Recipe(seed=seed), "Title", ["a", "b"], 30, 200, "abc", ["A note."], 9, 33_546, 5, [], {}, "cpu")
    looks = ((0, 0.1), (400, accuracy))
    events: list[Event] = [
        Evaluation(step, seconds * bool(step), 1.0, 0.5, 1.0, value, pair, own, own) for step, value in looks
    ]
    return History.of([replace(begun, **start), *events, *([End(end, 400, seconds)] if end else [])])


def candidate(name: str, *histories: History) -> Candidate:
    return Candidate(name, 0, histories)


def column(head: str, *candidates: Candidate) -> list[str]:
    """A column of the table of these."""
    block = summary.table(list(candidates))
    return [row[block["head"].index(head)] for row in block["rows"]]


def test_the_table_has_means_spreads_intervals_and_times() -> None:
    none = candidate("none", run(0.5, 0.0, 1), run(0.5, 0.0, 2), run(0.5, 0.0, 3))
    rope = candidate("rotary", run(1.0, 1.0, 1, seconds=1.0), run(0.98, 0.96, 2), run(0.99, 0.98, 3, seconds=3.0))
    for head, cells in {
        "": ["none", "rotary"],
        "accuracy": ["0.500 ± 0.000", "0.990 ± 0.010"],
        "both of a pair": ["0.000", "0.980"],
        "parameters": ["33,546"] * 2,
        "seconds to 0.99": ["never", "2.00 (2 of 3)"],
    }.items():
        assert column(head, none, rope) == cells
    assert column("95 % interval", none) == ["0.431–0.569"]
    assert "3 seeds" in summary.note([none, rope])
    # 640 rows in batches of 64 are ten steps; the runs took 4 and 8 seconds for 400
    runs = [run(0.5, seed=seed, seconds=seconds, rows_train=640) for seed, seconds in ((1, 4.0), (2, 8.0))]
    assert column("seconds in all", candidate("none", *runs)) == ["6.00"]
    assert column("seconds an epoch", candidate("none", *runs)) == ["0.15"]
    under_way = History(runs[0].recipe, runs[0].start, [], runs[0].evaluations[:1])
    assert column("seconds in all", candidate("none", under_way)) == ["—"]
    # a single seed has no spread, one under way is not judged, and one that was cut short never had its chance
    one, empty = candidate("none", run(0.5, end="")), candidate("empty", History(Recipe()))
    assert (column("", one, empty), column("accuracy", one, empty)) == (["none"], ["0.500"])
    assert column("seconds to 0.99", one) == ["not yet"]
    assert "both of a pair" not in summary.table([one])["head"]
    assert summary.table([empty])["rows"] == []
    for reason, text in (("steps", "never"), ("stopped", "not reached"), ("time", "not reached")):
        short = candidate("none", run(0.5, 0.0, end=reason))
        assert column("seconds to 0.99", short) == [text]
        assert ("as the training ended early" in summary.mirrors([short])) is (reason != "steps")


def test_the_data_and_too_few_test_rows_are_reported() -> None:
    assert summary.about_data(run(0.5)) == "Title: 30 training rows, 200 test rows, fingerprint abc. A note."
    assert summary.about_data(History(Recipe())) == ""
    assert summary.few_rows([candidate("none", run(0.5))]) == []
    few = summary.few_rows([candidate("none", run(0.5, rows_test=1))])
    assert few == ["Tested on 1 row only: too few to say how good it is."]


def test_language_models_have_no_interval_and_another_level() -> None:
    written: dict[str, Any] = {
        "classes": [],
        "heads": [[0.1, 0.2, 0.7, 0.3]],
        "rows_train": 0,
    }  # every batch is made anew
    for model in (
        candidate("2 layers", run(0.93, **written)),
        candidate("2 layers", History(Recipe()), run(0.93, seed=2, **written)),  # the first never looked
    ):
        head = summary.table([model])["head"]
        assert head == ["", "accuracy", "parameters", "seconds in all", "seconds to 0.90"]
        assert (column("seconds to 0.90", model), column("accuracy", model)) == (["2.00"], ["0.930"])
        assert [block["cells"] for block in summary.heads([model])] == [[["0.10", "0.20", "0.70", "0.30"]]] * 2
    assert summary.heads([candidate("a", run(0.5))]) == []


def test_what_the_mirrors_say() -> None:
    rows: list[tuple[dict[str, float | None], list[str], str]] = [
        (
            {"none": 0.0, "rotary": 1.0},
            ["never right on both sentences of a pair: “none”.", "in every pair: “rotary”."],
            "without positions",
        ),
        ({"none": 0.25}, ["both right: “none” in 25.0 %."], "never"),
        ({"none": None}, [], "mirror"),
    ]
    for pairs, said, unsaid in rows:
        words = summary.mirrors([candidate(name, run(0.5, pair)) for name, pair in pairs.items()]).lower()
        assert all(each in words for each in said), words
        assert unsaid not in words
    blind = run(0.5, 0.0)
    blind.recipe = replace(blind.recipe, position="none")
    why = summary.mirrors([candidate("mask on", blind), candidate("rotary", run(1.0, 1.0))])
    assert "“mask on”. Without positions both get the same answer" in why


def test_the_time_of_an_epoch() -> None:
    names = {name: {"median": at, "low": 0.5, "high": 1.5, "calls": 9} for name, at in (("fused", 0.8), ("torch", 1.0))}
    for steps, what in ((17, "an epoch of 17 steps"), (0, "a step:")):
        seconds = {"fused": 0.1, "torch": 0.125}
        (block,) = summary.epochs({"names": names, "seconds": seconds, "steps_per_epoch": steps})
        assert block["rows"] == [
            ["fused", "0.80", "0.50 to 1.50", "0.100", "9"],
            ["torch", "1.00", "0.50 to 1.50", "0.125", "9"],
        ]
        assert what in block["caption"]
    assert summary.epochs(None) == []
