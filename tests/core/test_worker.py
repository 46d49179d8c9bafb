"""The training process: its orders, the lines it writes, and its end when the parent is gone."""

import itertools
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from safetensors.torch import load_file

from mha_core import load_model
from mha_core.errors import HeadlightError, SizeError
from mha_core.training import limits, order_runs, saved
from mha_core.training.events import End, Evaluation, Event, History, Start, Step, from_line
from mha_core.training.limits import Data, Order, check_parameters, check_step, check_threads, most_threads
from mha_core.training.order_runs import OrderRuns
from mha_core.training.recipe import Recipe
from pages.kit.jobs import process

PATIENCE = 60  # seconds: only for a test that has already failed
TINY = Recipe(task="who", d_model=16, n_heads=2, vocabulary=60, steps=6, evaluations=2, batch=8)
ENDLESS = replace(TINY, steps=100_000, evaluations=1, seconds=1e6)
CSV = b"text,label\n" + b"".join(b"%s,%s\n" % (b"good day" * n, b"ab"[n % 2 : n % 2 + 1]) for n in range(1, 17))


def order(folder: Path, *recipes: Recipe, data: Data | None = None, seconds: float = 60, timing: bool = False) -> Order:
    return Order(str(folder), recipes, data, seconds, timing)


@contextmanager
def worker() -> Iterator[process.Process]:
    """A process that waits for its order, as the app starts it."""
    running = process.start()
    assert running.stdin
    assert running.stdout
    with running.stdout:
        try:
            yield running
        finally:
            running.kill()
            running.wait()
            with suppress(BrokenPipeError):
                running.stdin.close()


def tell(running: process.Process, line: str) -> Iterator[dict[str, Any]]:
    """Gives a process a line; what it says from then on."""
    assert running.stdin
    assert running.stdout
    process.tell(running.stdin, line)
    return map(json.loads, running.stdout)


def here(given: Order, **how: Any) -> list[dict[str, Any]]:
    """All that a job says, in this process."""
    lines: list[dict[str, Any]] = []
    signals = threading.Event(), threading.Event()
    OrderRuns(given, lambda at_once=True, **line: lines.append(line), *signals, **how).run()
    return lines


def events(lines: list[dict[str, Any]], run: int) -> list[Event]:
    return [from_line(line["line"]) for line in lines if line.get("run") == run]


def end_of(lines: list[dict[str, Any]], run: int) -> End:
    return cast(End, events(lines, run)[-1])


@pytest.mark.thorough("a process imports torch and trains two models")
def test_two_runs_in_a_process_of_their_own(tmp_path: Path) -> None:
    """Also: the same seed gives the same weights, bit for bit, in this process as in that one."""
    recipes = (replace(TINY, position="none"), TINY)
    with worker() as running:
        lines = list(tell(running, order(tmp_path, *recipes).to_line()))
        assert running.wait(PATIENCE) == 0
    assert [line for line in lines if "run" not in line] == [{"saved": 0}, {"saved": 1}, {"done": "steps"}]
    for number, recipe in enumerate(recipes):
        told = History.of(events(lines, number))
        assert told.recipe == recipe
        assert len(told.steps) == TINY.steps
        assert [look.step for look in told.evaluations] == [0, 3, 6]
        kept = saved.read(tmp_path / str(number))
        assert kept.end == told.end
        assert kept.evaluations == told.evaluations
        assert load_model(str(tmp_path / str(number))).run("the dog chased the cat").weights.isfinite().all()
    (tmp_path / "here").mkdir()
    here(order(tmp_path / "here", TINY))
    ours, theirs = (load_file(tmp_path / name / "model.safetensors") for name in ("here/0", "1"))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.thorough("steps of three implementations are timed in rounds")
def test_a_step_is_timed_against_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_runs, "TIMING_SECONDS", 0.05)
    *_, told, last = here(order(tmp_path, TINY, replace(TINY, implementation="naive"), timing=True))
    timing = told["timing"]
    assert timing["names"].keys() == timing["seconds"].keys() == {"fused", "naive", "torch"}
    assert timing["names"]["torch"]["median"] == 1
    assert timing["steps_per_epoch"] > 0
    for found in timing["names"].values():
        assert 0 < found["low"] <= found["median"] <= found["high"]
        assert order_runs.FEWEST_ROUNDS <= found["calls"] <= order_runs.MOST_ROUNDS
    assert last == {"done": "steps"}


def test_runs_take_turns(tmp_path: Path) -> None:
    lines = here(order(tmp_path, TINY, replace(TINY, seed=2)))
    looks = [line["run"] for line in lines if "run" in line and isinstance(from_line(line["line"]), Evaluation)]
    assert looks == [0, 1, 0, 1, 0, 1]
    assert isinstance(events(lines, 1)[0], Start)
    assert lines[-1] == {"done": "steps"}


def until_step_4(given: Order, *, stop: bool) -> list[dict[str, Any]]:
    """All that a job says that is told in its fourth step to stop, or that this is enough."""
    lines, signals = list[dict[str, Any]](), (threading.Event(), threading.Event())

    def say(*, at_once: bool = True, **line: Any) -> None:
        lines.append(line)
        if "run" in line and isinstance(event := from_line(line["line"]), Step) and event.step == 4:
            signals[not stop].set()

    OrderRuns(given, say, *signals).run()
    return lines


def test_a_run_that_is_stopped_keeps_what_it_has_learnt(tmp_path: Path) -> None:
    lines = until_step_4(order(tmp_path, ENDLESS, replace(ENDLESS, seed=2), timing=True), stop=True)
    first, second = (end_of(lines, number) for number in (0, 1))
    assert (first.reason, first.step) == ("stopped", 4)
    assert (second.reason, second.step) == ("stopped", 0)
    assert [line for line in lines if "run" not in line] == [{"saved": 0}, {"done": "stopped"}]
    assert saved.read(tmp_path / "0").end == first
    assert not (tmp_path / "1").exists()  # it has learnt nothing


def test_enough_ends_the_runs_as_their_time_would(tmp_path: Path) -> None:
    lines = until_step_4(order(tmp_path, ENDLESS), stop=False)
    assert (end_of(lines, 0).reason, end_of(lines, 0).step) == ("time", 4)
    assert [line for line in lines if "run" not in line] == [{"saved": 0}, {"done": "time"}]


def test_a_process_trains_until_it_reads_enough(tmp_path: Path) -> None:
    with worker() as running:
        told = tell(running, order(tmp_path, ENDLESS, seconds=10 * PATIENCE).to_line())
        next(line for line in told if "run" in line and isinstance(from_line(line["line"]), Step))
        *_, last = tell(running, "enough")
        assert running.wait(PATIENCE) == 0
    assert last == {"done": "time"}


def test_more_threads_than_a_training_may_use_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    with pytest.raises(SizeError, match="threads=2: a training gets at most 1 on this machine"):
        here(order(tmp_path, replace(TINY, threads=2)))


def test_the_time_of_all_runs_together_is_bounded(tmp_path: Path) -> None:
    ticks = itertools.count()
    given = order(tmp_path, ENDLESS, replace(ENDLESS, seed=2), seconds=40)
    lines = here(given, clock=lambda: float(next(ticks)))
    for number in (0, 1):
        assert end_of(lines, number).reason == "time"
        assert 0 < end_of(lines, number).step < 40
    assert next(ticks) < 60, "they end soon after their time is over"
    assert saved.read(tmp_path / "0").end == end_of(lines, 0)
    assert lines[-1] == {"done": "time"}


def test_a_run_whose_loss_is_no_number_is_not_kept(tmp_path: Path) -> None:
    lines = here(order(tmp_path, replace(TINY, rate=9.9, schedule="constant", amplitude=1e38)))
    assert end_of(lines, 0).reason == "not a number"
    assert not [event for event in events(lines, 0) if isinstance(event, Evaluation)]
    assert lines[-1] == {"done": "steps"}
    assert not list(tmp_path.iterdir())


@pytest.mark.faults
@pytest.mark.thorough("a process of its own is left by its parent")
def test_the_parent_is_gone(tmp_path: Path) -> None:
    with worker() as running:
        told = tell(running, order(tmp_path, ENDLESS).to_line())
        next(told)
        assert running.stdin
        running.stdin.close()
        *_, last = told
        assert running.wait(PATIENCE) == 0
    assert last == {"done": "stopped"}


def test_an_order_that_cannot_be_read_is_told() -> None:
    with worker() as running:
        assert list(tell(running, "nonsense")) == [{"error": "this is no order for a training (JSONDecodeError)"}]
        assert running.wait(PATIENCE) == 0


def test_data_from_a_table_or_a_text(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(CSV)
    for kind in ("csv", "news"):
        lines = here(order(tmp_path, replace(TINY, task=kind, max_len=64), data=Data(kind, str(file))))
        assert cast(Start, events(lines, 0)[0]).classes == ["a", "b"], kind
        assert lines[-1] == {"done": "steps"}, kind
    file.write_bytes(b"to be or not to be, that is the question. " * 40)
    recipes = [replace(TINY, task="text", max_len=context) for context in (16, 100)]
    lines = here(order(tmp_path, *recipes, data=Data("text", str(file))))
    assert [cast(Start, events(lines, run)[0]).longest for run in range(2)] == [16, 100]
    assert [load_model(str(tmp_path / str(run))).sizes.max_len for run in range(2)] == [16, 100]
    assert lines[-1] == {"done": "steps"}


def test_data_of_an_unknown_kind_and_a_folder_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(HeadlightError, match="choose one of csv, news, text, hub"):
        here(order(tmp_path, TINY, data=Data("pickle")))
    with pytest.raises(HeadlightError, match="gone"):
        here(order(tmp_path / "gone", TINY))
    assert not list(tmp_path.iterdir())


def test_what_is_too_much_for_this_data_ends_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for bound, sentence in (
        ("MOST_SCORES", "choose a smaller batch"),
        ("MOST_MAPS", r"2 runs with 1 × 2 heads keep [\d,]+ bytes of maps"),
    ):
        with monkeypatch.context() as bounds:
            bounds.setattr(limits, bound, 100)
            with pytest.raises(SizeError, match=sentence):
                here(order(tmp_path, TINY, replace(TINY, seed=2)))


# ---- the order, and its bounds


def test_an_order_is_one_line() -> None:
    given = Order("there", (TINY, replace(TINY, seed=2)), Data("csv", "here", "a", "b", True), 60.0, True)
    assert "\n" not in given.to_line()
    assert Order.from_line(given.to_line()) == given
    alone = replace(given, data=None)
    assert Order.from_line(alone.to_line()) == alone


def test_a_line_that_is_no_order_is_refused() -> None:
    for line in ("", "nonsense", "[]", "{}", '{"recipes": [], "data": 3}', '{"recipes": [{}]}'):
        with pytest.raises(HeadlightError, match=r"no order|no recipe"):
            Order.from_line(line)


def test_a_core_is_left_for_the_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # as on macOS and Windows
    count: dict[str, int | None] = {}
    monkeypatch.setattr(os, "cpu_count", lambda: count["cores"])
    for count["cores"], most in ((None, 1), (1, 1), (2, 1), (8, 7)):
        assert most_threads() == most
        check_threads((replace(TINY, threads=most),))
        with pytest.raises(SizeError, match=f"threads={most + 1}: a training gets at most {most}"):
            check_threads((TINY, replace(TINY, threads=most + 1)))
    # and the cores are those of this process
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert most_threads() == 2


def test_what_is_too_much_is_refused() -> None:
    check_parameters((TINY,) * 40)
    with pytest.raises(SizeError, match=r"up to 224,000,000 parameters in 40 models, at most 20,000,000"):
        check_parameters((replace(TINY, d_model=1000, vocabulary=1600),) * 40)
    news = Recipe(batch=32, n_heads=8)
    check_step(news, 512)
    with pytest.raises(SizeError, match=r"texts of 1024 tokens layers · b · h · n² = 268,435,456, at most 80,000,000"):
        check_step(news, 1024)
    with pytest.raises(SizeError, match=r"4 d \+ 2 feed-forward\) = 17,179,869,184, at most"):
        check_step(replace(news, d_model=1024, n_heads=1), 128)
