"""The table of results: means and spreads as computed, intervals, what the mirrors say; no NaN."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mha_core.training.events import End, Evaluation, Event, History, Start
from mha_core.training.recipe import Recipe
from pages.train import summary
from pages.train.curves import Candidate


def run(
    accuracy: float,
    pair: float | None = None,
    seed: int = 1,
    *,
    classes: tuple[str, ...] = ("a", "b"),
    seconds: float = 2.0,
    end: bool = True,
    heads: list[list[float]] | None = None,
) -> History:
    """A run that began at 0.1 and came to this."""
    recipe = Recipe(seed=seed)
    notes = ["A row was left out."]
    own = heads or []
    events: list[Event] = [Start(recipe, "Title", list(classes), 30, 200, "abc", notes, 9, 33_546, 5, [], {}, "cpu")]
    for step, value in ((0, 0.1), (400, accuracy)):
        events.append(Evaluation(step, seconds * bool(step), 1.0, 0.5, 1.0, value, pair, own, own))
    return History.of([*events, End("steps", 400, seconds)] if end else events)


def candidate(name: str, *histories: History) -> Candidate:
    return Candidate(name, 0, histories)


def column(block: dict[str, Any], head: str) -> list[str]:
    at = block["head"].index(head)
    return [row[at] for row in block["rows"]]


def test_means_and_spreads() -> None:
    none = candidate("none", run(0.5, 0.0, 1), run(0.5, 0.0, 2), run(0.5, 0.0, 3))
    rope = candidate("rotary", run(1.0, 1.0, 1, seconds=1.0), run(0.98, 0.96, 2), run(0.99, 0.98, 3, seconds=3.0))
    block = summary.table([none, rope])
    assert column(block, "") == ["none", "rotary"]
    assert column(block, "accuracy") == ["0.500 ± 0.000", "0.990 ± 0.010"]
    assert column(block, "both of a pair") == ["0.000", "0.980"]
    assert column(block, "parameters") == ["33,546"] * 2
    assert column(block, "seconds to 0.99") == ["never", "2.00 (2 of 3)"]
    assert column(block, "95 % interval")[0] == "0.431–0.569"
    assert "3 seeds" in summary.note([none, rope])


def test_seconds_of_an_epoch_and_in_all_are_means_over_the_seeds() -> None:
    """640 rows in batches of 64 are ten steps; the runs took 4 and 8 seconds for 400."""
    runs = [run(0.5, seed=seed, seconds=seconds) for seed, seconds in ((1, 4.0), (2, 8.0))]
    for one in runs:
        assert one.start
        one.start = replace(one.start, rows_train=640)
    block = summary.table([candidate("none", *runs)])
    assert column(block, "seconds in all") == ["6.00"]
    assert column(block, "seconds an epoch") == ["0.15"]
    under_way = History(runs[0].recipe, runs[0].start, [], runs[0].evaluations[:1])
    assert column(summary.table([candidate("none", under_way)]), "seconds in all") == ["—"]


def test_a_single_seed_has_no_spread_and_a_run_under_way_is_not_judged() -> None:
    block = summary.table([candidate("none", run(0.5, end=False)), candidate("empty", History(Recipe()))])
    assert column(block, "") == ["none"]
    assert column(block, "accuracy") == ["0.500"]
    assert column(block, "seconds to 0.99") == ["not yet"]
    assert "both of a pair" not in block["head"]
    assert summary.table([candidate("empty", History(Recipe()))])["rows"] == []


def test_a_run_that_was_cut_short_never_had_its_chance() -> None:
    for reason, said in (("steps", "never"), ("stopped", "not reached"), ("time", "not reached")):
        cut = run(0.5, 0.0, end=False)
        cut.take(End(reason, 30, 0.5))
        assert column(summary.table([candidate("none", cut)]), "seconds to 0.99") == [said]
        assert ("as the training ended early" in summary.mirrors([candidate("none", cut)])) is (reason != "steps")


def test_the_data_and_too_few_test_rows_are_reported() -> None:
    about = summary.about_data(run(0.5))
    assert about == "Title: 30 training rows, 200 test rows, fingerprint abc. A row was left out."
    assert summary.about_data(History(Recipe())) == ""
    few = run(0.5)
    assert few.start
    assert summary.few_rows([candidate("none", few)]) == []
    few.start = replace(few.start, rows_test=1)
    assert summary.few_rows([candidate("none", few)]) == ["Tested on 1 row only: too few to say how good it is."]


def test_language_models_have_no_interval_and_another_level() -> None:
    heads = [[0.1, 0.2, 0.7, 0.3]]
    model = candidate("2 layers", run(0.93, classes=(), heads=heads))
    start = model.histories[0].start
    assert start
    model.histories[0].start = replace(start, rows_train=0)  # every batch is made anew
    block = summary.table([model])
    assert block["head"] == ["", "accuracy", "parameters", "seconds in all", "seconds to 0.90"]
    assert column(block, "seconds to 0.90") == ["2.00"]
    induction, previous = summary.heads([model])
    assert induction["cells"] == previous["cells"] == [["0.10", "0.20", "0.70", "0.30"]]
    assert summary.heads([candidate("a", run(0.5))]) == []
    # a first seed that never looked is passed over
    model = candidate("2 layers", History(Recipe()), run(0.93, classes=(), heads=heads, seed=2))
    assert column(summary.table([model]), "accuracy") == ["0.930"]
    assert len(summary.heads([model])) == 2


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
