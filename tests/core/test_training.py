"""Training for real, on small settings: the events and their order, bit-equal repetition, and that it learns."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
import torch

from mha_core import load_model
from mha_core.errors import DeviceError, HeadlightError, SizeError, Unsupported
from mha_core.measure import rounding
from mha_core.training import inference
from mha_core.training.events import End, Evaluation, Event, Snapshot, Start, Step
from mha_core.training.loop import Training
from mha_core.training.recipe import Recipe
from tests.closeness import same_function, within_rounding

from .runs import TINY, TINY_WORDS, WHO, case, equal, state_of, task, trained

NOT_A_NUMBER = replace(TINY, amplitude=1e38, rate=9.9, schedule="constant")


def run(recipe: Recipe, stop: Callable[[], bool] = lambda: False) -> tuple[Training, list[Event]]:
    made = Training(recipe, task(recipe.task))
    return made, list(made.events(stop))


def letters(events: list[Event]) -> str:
    """The events in their order, a letter each."""
    return "".join({Start: "s", Step: ".", Evaluation: "e", Snapshot: "m", End: "E"}[type(event)] for event in events)


def end(events: list[Event]) -> End:
    last = events[-1]
    assert isinstance(last, End)
    return last


@pytest.mark.parametrize("recipe", [TINY, TINY_WORDS], ids=["classes", "next tokens"])
def test_the_events_and_their_order(recipe: Recipe) -> None:
    made, events = run(recipe)
    assert letters(events) == "semm....emm....emmE"
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


def test_evaluations_are_evenly_spread() -> None:
    for steps, evaluations, expected in ((1, 1, [0, 1]), (3, 100, [0, 1, 2, 3]), (7, 2, [0, 4, 7])):
        _, events = run(replace(TINY, steps=steps, evaluations=evaluations))
        assert [event.step for event in events if isinstance(event, Evaluation)] == expected
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
        of_steps = torch.tensor([step.loss for step in part], dtype=torch.float64).mean()
        within_rounding(torch.tensor(look.train_loss), of_steps, rounding.of_sums(32, 4))
    assert 0.9 < looks[0].train_loss / looks[0].test_loss < 1.1  # nothing is learnt yet


def test_maps_are_rounded_to_bytes() -> None:
    made = trained(TINY)
    shots = [shot for shot in made.history.snapshots if shot.step == 8]
    assert len(shots) == 2
    for shot in shots:
        shot.check(cast(Start, made.history.start))
        text = task("who").probes[shot.probe]
        weights = made.model().run(text).weights
        kept = torch.frombuffer(bytearray(shot.maps), dtype=torch.uint8).view(shot.shape)
        assert (kept.double() - 255 * weights.double()).abs().max() < 0.501, "to the nearest byte"


# Why a run ends.


def test_stop_ends_it_after_the_present_step() -> None:
    for after in (0, 3, 4):
        made = Training(TINY, task("who"))
        events = list(made.events(lambda made=made, after=after: len(made.history.steps) >= after))  # type: ignore[misc]
        assert (end(events).reason, end(events).step) == ("stopped", after)
        assert [event.step for event in events if isinstance(event, Evaluation)] == sorted({0, after})
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
    assert [event.step for event in events if isinstance(event, Evaluation)] == [0, last.step]
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

    def outcome() -> object:
        if not made.history.steps:
            return evaluate()
        found = evaluate()
        return replace(found, totals=replace(found.totals, loss=float("inf")))

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
