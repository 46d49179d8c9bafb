"""Training for real, on small settings: the events and their order, bit-equal repetition, and that it learns."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
import torch

from mha_core.errors import DeviceError, HeadlightError, SizeError, Unsupported
from mha_core.training import inference
from mha_core.training.events import End, Evaluation, Event, Snapshot, Start, Step
from mha_core.training.loop import Training
from mha_core.training.recipe import Recipe

from .runs import TINY, TINY_WORDS, WHO, equal, state_of, task, trained

NOT_A_NUMBER = replace(TINY, amplitude=1e38, rate=9.9, schedule="constant")


def run(recipe: Recipe, stop: Callable[[], bool] = lambda: False) -> tuple[Training, list[Event]]:
    made = Training(recipe, task(recipe.task))
    return made, list(made.events(stop))


def told(events: list[Event]) -> str:
    """The events in their order, a letter each."""
    return "".join({Start: "s", Step: ".", Evaluation: "e", Snapshot: "m", End: "E"}[type(event)] for event in events)


def end(events: list[Event]) -> End:
    last = events[-1]
    assert isinstance(last, End)
    return last


@pytest.mark.parametrize("recipe", [TINY, TINY_WORDS], ids=["classes", "next tokens"])
def test_what_is_told_and_when(recipe: Recipe) -> None:
    made, events = run(recipe)
    assert told(events) == "semm....emm....emmE"
    assert [event.step for event in events if isinstance(event, Step)] == list(range(1, 9))
    assert [event.step for event in events if isinstance(event, Evaluation)] == [0, 4, 8]
    assert [(event.step, event.probe) for event in events if isinstance(event, Snapshot)] == [
        (step, probe) for step in (0, 4, 8) for probe in (0, 1)
    ]
    seconds = [event.seconds for event in events if isinstance(event, Step)]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0
    last = end(events)
    assert (last.reason, last.step, last.seconds) == ("steps", 8, seconds[-1])
    history = made.history
    assert [history.start, history.end] == [events[0], last]
    assert len(history.steps) + len(history.evaluations) + len(history.snapshots) + 2 == len(events)


@pytest.mark.parametrize(("steps", "evaluations", "looks"), [(1, 1, [0, 1]), (3, 100, [0, 1, 2, 3]), (7, 2, [0, 4, 7])])
def test_looks_are_evenly_spread(steps: int, evaluations: int, looks: list[int]) -> None:
    _, events = run(replace(TINY, steps=steps, evaluations=evaluations))
    assert [event.step for event in events if isinstance(event, Evaluation)] == looks
    assert end(events).step == steps


def test_the_start_says_what_is_trained() -> None:
    made, events = run(TINY)
    start, own = events[0], task("who")
    assert isinstance(start, Start)
    assert (start.recipe, start.title) == (TINY, own.title)
    assert start.fingerprint == f"{own.fingerprint}, version {own.version}"
    assert start.vocabulary == made.tokenizer.get_vocab_size() == made.stack.sizes.vocabulary
    assert start.parameters == sum(tensor.numel() for tensor in made.stack.state_dict().values())
    assert (start.rows_train, start.rows_test) == (1080, 360)
    assert start.versions["torch"] == torch.__version__
    assert start.machine == "cpu, 1 thread"
    assert len(end(events).predicted) == 360
    words = trained(TINY_WORDS).history
    assert words.start
    assert words.end
    assert (words.start.classes, words.start.rows_train, words.end.predicted) == ([], 0, [])


def test_a_look_is_that_of_its_rows_and_of_the_batches_since_the_last() -> None:
    made = trained(TINY)
    steps, looks, last = made.history.steps, made.history.evaluations, made.history.end
    assert last is not None
    right = [row.label == guess for row, guess in zip(made.task.test, last.predicted, strict=True)]  # type: ignore[arg-type]
    assert looks[-1].test_accuracy == sum(right) / 360
    for look, part in zip(looks[1:], (steps[:4], steps[4:]), strict=True):
        assert look.train_loss == pytest.approx(sum(step.loss for step in part) / 4, rel=1e-5)
    assert looks[0].train_loss == pytest.approx(looks[0].test_loss, rel=0.1)  # nothing is learnt yet


def test_maps_are_rounded_to_bytes() -> None:
    made = trained(TINY)
    shots = [shot for shot in made.history.snapshots if shot.step == 8]
    assert len(shots) == 2
    for shot in shots:
        shot.check(cast(Start, made.history.start))
        text = task("who").probes[shot.probe]
        weights = made.model().run(text).weights
        kept = torch.frombuffer(bytearray(shot.maps), dtype=torch.uint8).view(shot.shape)
        assert (kept.float() / 255 - weights).abs().max() <= 0.5 / 255 + 1e-6


# Why a run ends.


@pytest.mark.parametrize("after", [0, 3, 4])
def test_stop_ends_it_after_the_present_step(after: int) -> None:
    made = Training(TINY, task("who"))
    events = list(made.events(lambda: len(made.history.steps) >= after))
    looks = [event.step for event in events if isinstance(event, Evaluation)]
    assert (end(events).reason, end(events).step) == ("stopped", after)
    assert looks == sorted({0, after})
    assert len(end(events).predicted) == 360


def test_the_time_budget() -> None:
    _, events = run(replace(TINY, steps=100_000, evaluations=1, seconds=0.05))
    last = end(events)
    assert last.reason == "time"
    assert 0 < last.step < 100_000
    assert [event.step for event in events if isinstance(event, Evaluation)] == [0, last.step]


def test_time_between_the_events_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several runs take turns: each waits while the others train."""
    clock = 0.0
    monkeypatch.setattr("mha_core.training.loop.time.perf_counter", lambda: clock)
    events = []
    for event in Training(replace(TINY, seconds=1), task("who")).events():
        events.append(event)
        clock += 100
    assert (end(events).reason, end(events).seconds) == ("steps", 0)


def test_the_target() -> None:
    _, events = run(replace(TINY, target=0.0))
    assert told(events) == "semmE"
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

    def outcome() -> object:
        if not made.history.steps:
            return evaluate()
        found = evaluate()
        return replace(found, totals=replace(found.totals, loss=float("inf")))

    monkeypatch.setattr(made.objective, "evaluate", outcome)
    events = list(made.events())
    assert told(events) == "semm....E"
    assert end(events).reason == "not a number"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"n_heads": 3}, SizeError),
        ({"implementation": "what"}, Unsupported),
        ({"implementation": "torch", "position": "rotary"}, Unsupported),
        ({"position": "what"}, HeadlightError),
        ({"d_model": 15, "n_heads": 1}, HeadlightError),  # sines and cosines come in pairs
        ({"position": "learned", "amplitude": -1.0}, HeadlightError),
        ({"device": "what"}, DeviceError),
        ({"beta2": 1.0}, HeadlightError),
        ({"weight_decay": -1.0}, HeadlightError),
    ],
    ids=str,
)
def test_what_cannot_be_trained(changes: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        Training(replace(TINY, **changes), task("who"))  # type: ignore[arg-type]


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


def test_without_positions_order_cannot_be_learnt() -> None:
    """Exactly one of each mirror pair is right, because both get the same answer; the logits are equal."""
    made = trained(replace(WHO, position="none", steps=100))
    for look in made.history.evaluations:
        assert look.test_accuracy <= 0.5
        assert look.pair_accuracy == 0
    assert made.history.evaluations[-1].test_accuracy == 0.5
    assert mirror_difference(made) <= 1e-5


def test_with_positions_it_is_learnt() -> None:
    made = trained(WHO)
    last = made.history.evaluations[-1]
    assert last.test_accuracy >= 0.99
    assert last.pair_accuracy is not None
    assert last.pair_accuracy >= 0.98
    assert last.test_loss < made.history.evaluations[0].test_loss / 10
    assert mirror_difference(made) > 1


def mirror_difference(made: Training) -> float:
    """The largest one between the logits of a test sentence and those of its mirror."""
    model, questions = made.model(), made.task.questions
    logits = inference.logits(model, questions)
    assert sorted(questions[0].split()) == sorted(questions[1].split())
    return float((logits[::2] - logits[1::2]).abs().max())
