"""Training for real, on small settings: the events and their order, and why a run ends."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from mha_core.errors import DeviceError, HeadlightError, SizeError, Unsupported
from mha_core.training.events import End, Evaluation, Event, Snapshot, Start, Step
from mha_core.training.loop import Training
from mha_core.training.recipe import Recipe
from tests.closeness import quoted

from .runs import TINY, case, task, trained

NOT_A_NUMBER = replace(TINY, amplitude=1e38, rate=9.9, schedule="constant")


def run(recipe: Recipe, stop: Callable[[], bool] = lambda: False) -> tuple[Training, list[Event]]:
    made = Training(recipe, task(recipe.task))
    return made, list(made.events(stop))


def letters(events: list[Event]) -> str:
    """The events in their order, a letter each."""
    return "".join({Start: "s", Step: ".", Evaluation: "e", Snapshot: "m", End: "E"}[type(event)] for event in events)


def end(events: list[Event]) -> End:
    return cast(End, events[-1])


def evaluated(events: list[Event]) -> list[int]:
    """The steps after which there was an evaluation."""
    return [event.step for event in events if isinstance(event, Evaluation)]


def test_the_events_their_order_and_what_the_first_says() -> None:
    made, events = run(TINY)
    assert letters(events) == "semm....emm....emmE"
    assert evaluated(events) == [0, 4, 8]
    seconds = [event.seconds for event in events if isinstance(event, Step)]
    assert seconds[0] > 0
    assert seconds == sorted(seconds)
    last = end(events)
    assert (last.reason, last.step, last.seconds, len(last.predicted)) == ("steps", 8, seconds[-1], 360)
    start, own = cast(Start, events[0]), task("who")
    assert (start.recipe, start.title) == (TINY, own.title)
    assert start.fingerprint == f"{own.fingerprint}, version {own.version}"
    assert start.vocabulary == made.tokenizer.get_vocab_size() == made.stack.sizes.vocabulary
    assert start.parameters == sum(tensor.numel() for tensor in made.stack.state_dict().values())
    assert (start.rows_train, start.rows_test) == (1080, 360)
    assert (start.versions["torch"], start.machine) == (torch.__version__, "cpu, 1 thread")


def test_an_evaluation_is_that_of_its_rows_and_of_the_batches_since_the_last() -> None:
    made = trained(TINY)
    steps, found, last = made.history.steps, made.history.evaluations, made.history.end
    assert last is not None
    right = [row.label == guess for row, guess in zip(made.task.test, last.predicted, strict=True)]  # type: ignore[arg-type]
    assert found[-1].test_accuracy == sum(right) / 360
    for one, part in zip(found[1:], (steps[:4], steps[4:]), strict=True):
        quoted(one.train_loss, f"{sum(step.loss for step in part) / 4:.4f}")
    assert 0.9 < found[0].train_loss / found[0].test_loss < 1.1  # nothing is learnt yet


# Why a run ends.


def test_the_time_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr("mha_core.training.loop.time.perf_counter", lambda: float(next(ticks)))
    _, events = run(replace(TINY, steps=100_000, evaluations=1, seconds=30))
    last = end(events)
    assert last.reason == "time"
    assert 0 < last.step < 100
    assert evaluated(events) == [0, last.step]


def test_the_target() -> None:
    _, events = run(replace(TINY, target=0.0))
    assert letters(events) == "semmE"
    assert (end(events).reason, end(events).step) == ("target", 0)


def test_a_loss_that_is_no_number(tmp_path: Path) -> None:
    made, events = run(NOT_A_NUMBER)
    assert (end(events).reason, end(events).predicted) == ("not a number", [])
    assert not any(isinstance(event, Step) and event.step > end(events).step for event in events)
    with pytest.raises(HeadlightError, match="are not finite; choose a smaller learning rate"):
        made.save(tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_invalid_recipes_raise() -> None:
    wrong: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"n_heads": 3}, SizeError), ({"implementation": "what"}, Unsupported),
        ({"implementation": "torch", "position": "rotary"}, Unsupported), ({"position": "what"}, HeadlightError),
        ({"d_model": 15, "n_heads": 1}, HeadlightError),  # sines and cosines come in pairs
        ({"position": "learned", "amplitude": -1.0}, HeadlightError), ({"device": "what"}, DeviceError),
    ]  # fmt: skip
    for changes, error in wrong:
        with case(changes), pytest.raises(error):
            Training(replace(TINY, **changes), task("who"))
