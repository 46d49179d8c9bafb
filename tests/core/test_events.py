"""Events as values, and the checks of a history that comes from outside."""

import json
import math
from dataclasses import asdict, replace
from typing import Any

import pytest

from mha_core.errors import HeadlightError
from mha_core.training import events as ev
from mha_core.training.events import End, Evaluation, Event, History, Snapshot, Start, Step
from mha_core.training.recipe import Recipe

from .runs import case

RECIPE = Recipe(n_layers=2, n_heads=2, d_model=8)
START = Start(RECIPE, "Task", ["a", "b"], 6, 3, "f00, version 1", ["A note."], 9, 500, 7, [["[CLS]", "x"]], {}, "cpu")
STEP = Step(1, 0.5, 0.01)
LOOK = Evaluation(1, 0.01, 0.5, 0.5, 0.6, 2 / 3, 0.5, [[0.1, 0.2]] * 2, [[0.0, 1.0]] * 2)
MAPS = Snapshot(1, 0, [2, 2, 2, 2], bytes(range(16)))
END = End("steps", 1, 0.01, [0, 1, 1])
EVERY: list[Event] = [START, STEP, LOOK, MAPS, END]
OTHER_MAPS: list[dict[str, Any]] = [
    {"probe": 1}, {"probe": -1}, {"maps": bytes(15)}, {"shape": [2, 2, 4, 1]}, {"shape": []},
    {"shape": [1, 2, 2, 2], "maps": bytes(8)}, {"shape": [-2, -2, 2, 2]},
]  # fmt: skip
NO_EVENT = "no event of a training run"


@pytest.mark.parametrize("event", EVERY, ids=lambda event: type(event).__name__)
def test_event_round_trip(event: Event) -> None:
    assert ev.from_values(json.loads(json.dumps(ev.to_values(event)))) == event


def changed(event: Event, **values: Any) -> dict[str, Any]:
    return {**ev.to_values(event), **values}


def test_values_of_something_else_and_fields_that_are_wrong_or_missing() -> None:
    wrong: list[tuple[Event, str, list[Any]]] = [
        (STEP, "step", ["1", True, 1.0, 10**300]), (STEP, "loss", [math.nan, math.inf, 10**400, True, None]),
        (STEP, "more", [1]), (LOOK, "induction", [[0.1]]), (LOOK, "previous", [[[math.nan]]]),
        (LOOK, "pair_accuracy", ["0.5"]), (MAPS, "maps", ["no base64", [1, 2]]), (MAPS, "shape", [[2.0]]),
        (START, "classes", ["ab", [1]]), (START, "title", ["\ud800"]), (START, "versions", [{"torch": 2}]),
        (START, "recipe", [{}, {**asdict(RECIPE), "n_heads": 3}]), (END, "predicted", [[0.5]]), (END, "reason", [None]),
    ]  # fmt: skip
    wanting: list[Any] = [changed(event, **{name: value}) for event, name, values in wrong for value in values]
    wanting += ["nonsense", [], {}, None, 3, {"kind": "Model"}, {"kind": ["Step"]}, {"kind": "Step"}]
    optional = {"kind", "pair_accuracy", "induction", "previous", "predicted", "aligned"}
    optional |= {"columns", "target_length", "picture"}
    for event in EVERY:
        values = ev.to_values(event)
        wanting += [{key: value for key, value in values.items() if key != name} for name in values.keys() - optional]
        wanting.append({**values, "more": 1})
    for values in wanting:
        with case(str(values)[:200]), pytest.raises(HeadlightError, match=NO_EVENT):
            ev.from_values(values)


def test_events_that_make_a_history_or_none() -> None:
    history = History.from_events(EVERY)
    assert (history.step, history.seconds) == (END.step, END.seconds)
    assert (history.start, history.evaluations, history.snapshots, history.end) == (START, [LOOK], [MAPS], END)
    assert History.from_events([replace(START, picture=[28, 4, 1])]).start is not None
    wrong: list[list[Event]] = [
        [], [STEP], [STEP, START], [START, replace(START, classes=["a", "b", "c"])], [START, END, STEP],
        [START, END, END],
        *(list[Event]([START, replace(END, predicted=guess)]) for guess in ([0, 1, 2], [0, 1, -1], [0, 1])),
        [START, replace(END, reason="because")], [START, replace(END, step=RECIPE.steps + 1)],
        [START, replace(STEP, step=-1)], [START, replace(MAPS, step=RECIPE.steps + 1)],
        *(list[Event]([START, replace(MAPS, **changes)]) for changes in OTHER_MAPS),
        [START, replace(LOOK, test_accuracy=1.5)], [START, replace(LOOK, train_accuracy=-0.5)],
        [START, replace(LOOK, pair_accuracy=7.0)], [START, replace(LOOK, induction=[[0.1, 0.2]])],
        [START, replace(LOOK, previous=[[0.1], [0.2]])], [START, replace(LOOK, previous=[[0.1, 0.2], [0.1, 2.0]])],
        [replace(START, longest=0)], [replace(START, longest=10**9)], [replace(START, rows_test=-1)],
    ]  # fmt: skip
    for events in wrong:
        with case(events), pytest.raises(HeadlightError, match=r"begins with its start|fit the run"):
            History.from_events(events)
    # a picture is cut into whole patches
    for picture in ([28, 5, 1], [28, 4], [28, 0, 1], [28, 4, -1], [28, 4, 10**9]):
        with case(picture), pytest.raises(HeadlightError):
            History.from_events([replace(START, picture=picture)])
