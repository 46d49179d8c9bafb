"""Training for real, on small settings: the events and their order, bit-equal repetition, and that it learns."""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
import torch

from mha_core import load_model
from mha_core.errors import DeviceError, HeadlightError, SizeError, Unsupported
from mha_core.training import inference
from mha_core.training.events import End, Evaluation, Event, Snapshot, Start, Step
from mha_core.training.loop import Training
from mha_core.training.recipe import Recipe
from tests.closeness import quoted, same_function

from .runs import TINY, TINY_WORDS, WHO, case, equal, state_of, task, trained

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
    assert [event.step for event in events if isinstance(event, Step)] == list(range(1, 9))
    assert evaluated(events) == [0, 4, 8]
    shots = [(event.step, event.probe) for event in events if isinstance(event, Snapshot)]
    assert shots == [(step, probe) for step in (0, 4, 8) for probe in (0, 1)]
    seconds = [event.seconds for event in events if isinstance(event, Step)]
    assert seconds[0] > 0
    assert seconds == sorted(seconds)
    last = end(events)
    assert (last.reason, last.step, last.seconds, len(last.predicted)) == ("steps", 8, seconds[-1], 360)
    history = made.history
    assert [history.start, history.end] == [events[0], last]
    assert len(history.steps) + len(history.evaluations) + len(history.snapshots) + 2 == len(events)
    start, own = cast(Start, events[0]), task("who")
    assert (start.recipe, start.title) == (TINY, own.title)
    assert start.fingerprint == f"{own.fingerprint}, version {own.version}"
    assert start.vocabulary == made.tokenizer.get_vocab_size() == made.stack.sizes.vocabulary
    assert start.parameters == sum(tensor.numel() for tensor in made.stack.state_dict().values())
    assert (start.rows_train, start.rows_test) == (1080, 360)
    assert (start.versions["torch"], start.machine) == (torch.__version__, "cpu, 1 thread")
    words = trained(TINY_WORDS).history
    assert words.start
    assert words.end
    assert (words.start.classes, words.start.rows_train, words.end.predicted) == ([], 0, [])


def test_evaluations_are_evenly_spread() -> None:
    for steps, evaluations, expected in ((1, 1, [0, 1]), (3, 100, [0, 1, 2, 3]), (7, 2, [0, 4, 7])):
        _, events = run(replace(TINY, steps=steps, evaluations=evaluations))
        assert evaluated(events) == expected
        assert end(events).step == steps


def test_an_evaluation_is_that_of_its_rows_and_of_the_batches_since_the_last() -> None:
    made = trained(TINY)
    steps, found, last = made.history.steps, made.history.evaluations, made.history.end
    assert last is not None
    right = [row.label == guess for row, guess in zip(made.task.test, last.predicted, strict=True)]  # type: ignore[arg-type]
    assert found[-1].test_accuracy == sum(right) / 360
    for one, part in zip(found[1:], (steps[:4], steps[4:]), strict=True):
        quoted(one.train_loss, f"{sum(step.loss for step in part) / 4:.4f}")
    assert 0.9 < found[0].train_loss / found[0].test_loss < 1.1  # nothing is learnt yet


def test_maps_are_rounded_to_bytes() -> None:
    made = trained(TINY)
    shots = [shot for shot in made.history.snapshots if shot.step == 8]
    assert len(shots) == 2
    for shot in shots:
        shot.check(cast(Start, made.history.start))
        weights = made.model().run(task("who").probes[shot.probe]).weights
        kept = torch.frombuffer(bytearray(shot.maps), dtype=torch.uint8).view(shot.shape)
        assert (kept.double() - 255 * weights.double()).abs().max() < 0.501, "to the nearest byte"


# Why a run ends.


def test_stop_ends_it_after_the_present_step() -> None:
    for after in (0, 3, 4):
        made = Training(TINY, task("who"))
        events = list(made.events(lambda made=made, after=after: len(made.history.steps) >= after))  # type: ignore[misc]
        assert (end(events).reason, end(events).step) == ("stopped", after)
        assert evaluated(events) == sorted({0, after})
        assert len(end(events).predicted) == 360, after


def test_the_time_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time between the events is free: several runs take turns, and each waits while the others train."""
    ticks = itertools.count()
    with monkeypatch.context() as clocks:
        clocks.setattr("mha_core.training.loop.time.perf_counter", lambda: float(next(ticks)))
        _, events = run(replace(TINY, steps=100_000, evaluations=1, seconds=30))
    last = end(events)
    assert last.reason == "time"
    assert 0 < last.step < 100
    assert evaluated(events) == [0, last.step]
    clock = 0.0
    monkeypatch.setattr("mha_core.training.loop.time.perf_counter", lambda: clock)
    events = []
    for event in Training(replace(TINY, seconds=1), task("who")).events():
        events.append(event)
        clock += 100
    assert (end(events).reason, end(events).seconds) == ("steps", 0)


def test_the_target() -> None:
    _, events = run(replace(TINY, target=0.0))
    assert letters(events) == "semmE"
    assert (end(events).reason, end(events).step) == ("target", 0)
    _, events = run(replace(TINY, target=1.0))
    assert end(events).reason == "steps"


def test_a_loss_that_is_no_number(tmp_path: Path) -> None:
    made, events = run(NOT_A_NUMBER)
    assert (end(events).reason, end(events).predicted) == ("not a number", [])
    assert not any(isinstance(event, Step) and event.step > end(events).step for event in events)
    with pytest.raises(HeadlightError, match="numbers of this run are none any more; choose a smaller rate"):
        made.save(tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_a_test_loss_that_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The training rows may still give numbers when the test rows do not."""
    made = Training(TINY, task("who"))
    evaluate = made.objective.evaluate

    def outcome() -> Any:
        found = evaluate()
        return replace(found, totals=replace(found.totals, loss=math.inf)) if made.history.steps else found

    monkeypatch.setattr(made.objective, "evaluate", outcome)
    events = list(made.events())
    assert letters(events) == "semm....E"
    assert end(events).reason == "not a number"


def test_what_cannot_be_trained() -> None:
    wrong: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"n_heads": 3}, SizeError), ({"implementation": "what"}, Unsupported),
        ({"implementation": "torch", "position": "rotary"}, Unsupported), ({"position": "what"}, HeadlightError),
        ({"d_model": 15, "n_heads": 1}, HeadlightError),  # sines and cosines come in pairs
        ({"position": "learned", "amplitude": -1.0}, HeadlightError), ({"device": "what"}, DeviceError),
        ({"beta2": 1.0}, HeadlightError), ({"weight_decay": -1.0}, HeadlightError),
    ]  # fmt: skip
    for changes, error in wrong:
        with case(changes), pytest.raises(error):
            Training(replace(TINY, **changes), task("who"))


def test_a_model_is_a_copy() -> None:
    made = Training(TINY, task("who"))
    model = made.model()
    before = {name: tensor.clone() for name, tensor in model.encoder.state_dict().items()}
    for _ in made.events():
        pass
    assert equal(dict(model.encoder.state_dict()), before)
    assert not equal(state_of(made), before)
    assert not any(parameter.requires_grad for parameter in model.encoder.parameters())
    assert model.origin == "trained here"


# What it learns.


@pytest.mark.thorough("a model is trained for a hundred steps; the shipped ones show the same in `test`")
def test_without_positions_order_cannot_be_learnt() -> None:
    """Exactly one of each mirror pair is right, because both get the same answer; the logits are equal."""
    made = trained(replace(WHO, position="none", steps=100))
    for look in made.history.evaluations:
        assert look.test_accuracy <= 0.5
        assert look.pair_accuracy == 0
    assert made.history.evaluations[-1].test_accuracy == 0.5
    same_function(*mirrors(made))


@pytest.mark.thorough("a model is trained to its end; the shipped ones show in `test` what training learns")
def test_with_positions_it_is_learnt() -> None:
    made = trained(WHO)
    last = made.history.evaluations[-1]
    assert last.test_accuracy >= 0.99
    assert last.pair_accuracy is not None
    assert last.pair_accuracy >= 0.98
    assert last.test_loss < made.history.evaluations[0].test_loss / 10
    one, other = mirrors(made)
    assert float((one - other).abs().max()) > 1


def mirrors(made: Training) -> tuple[torch.Tensor, torch.Tensor]:
    """The logits of test sentences and those of their mirrors, in float64."""
    questions = made.task.questions
    with TemporaryDirectory() as folder:
        made.save(Path(folder) / "run")
        model = load_model(str(Path(folder) / "run"), device="cpu", dtype=torch.float64)
    logits = inference.logits(model, questions)
    assert sorted(questions[0].split()) == sorted(questions[1].split())
    return logits[::2], logits[1::2]
