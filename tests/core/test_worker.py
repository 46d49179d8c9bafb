"""The training process: its plan, what it says, and its end when the parent is gone."""

import itertools
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from safetensors.torch import load_file

from headlight.jobs import process
from mha_core import load_model
from mha_core.errors import HeadlightError, SizeError
from mha_core.training import limits, saved
from mha_core.training.events import End, Evaluation, Event, History, Start, Step, from_values
from mha_core.training.limits import TrainingPlan, check_recipes, check_step
from mha_core.training.recipe import Recipe
from mha_core.training.tasks import TrainingData
from mha_core.training.worker import run_plan

PATIENCE = 60  # seconds: only for a test that has already failed
TINY = Recipe(task="who", d_model=16, n_heads=2, vocabulary=60, steps=6, evaluations=2, batch=8)
ENDLESS = replace(TINY, steps=100_000, evaluations=1, seconds=10.0**6)
CSV = b"text,label\n" + b"".join(b"%s,%s\n" % (b"good day" * n, b"ab"[n % 2 : n % 2 + 1]) for n in range(1, 17))
Lines = list[dict[str, Any]]


@contextmanager
def worker(folder: Path, *recipes: Recipe) -> Iterator[tuple[BaseProcess, Connection]]:
    """A process that trains, as the app starts it."""
    running, pipe = process.start(TrainingPlan(recipes, seconds=60), folder)
    with pipe:
        try:
            yield running, pipe
        finally:
            running.kill()
            running.join()


def said(pipe: Connection) -> Iterator[dict[str, Any]]:
    """What a process says until its end."""
    with suppress(EOFError):
        while True:
            yield json.loads(pipe.recv_bytes())


def here(
    folder: Path,
    *recipes: Recipe,
    stop_at: int = 0,
    enough: bool = False,
    data: TrainingData | None = None,
    seconds: float = 60,
    **how: Any,
) -> Lines:
    """All that a job reports, in this process; in step `stop_at` it is stopped, or reads that it is enough."""
    lines, signals = Lines(), (threading.Event(), threading.Event())

    def say(**line: Any) -> None:
        lines.append(line)
        if "run" in line and isinstance(event := from_values(line["event"]), Step) and event.step == stop_at:
            signals[enough].set()

    run_plan(TrainingPlan(recipes, data, seconds), folder, say, *signals, **how)
    return lines


def events(lines: Lines, run: int) -> list[Event]:
    return [from_values(line["event"]) for line in lines if line.get("run") == run]


def ends(lines: Lines, *runs: int) -> list[tuple[str, int]]:
    return [(end.reason, end.step) for end in (cast(End, events(lines, run)[-1]) for run in runs)]


def others(lines: Lines) -> Lines:
    return [line for line in lines if "run" not in line]


@pytest.mark.thorough("a process imports torch and trains two models")
def test_two_runs_in_a_process_of_their_own(tmp_path: Path) -> None:
    """Also: the same seed gives the same weights, bit for bit, and tokenizer in this process as in that one."""
    recipes = (replace(TINY, position="none"), TINY)
    with worker(tmp_path, *recipes) as (running, pipe):
        lines = list(said(pipe))
        running.join(PATIENCE)
        assert running.exitcode == 0
    assert others(lines) == [{"saved": 0}, {"saved": 1}, {"done": "steps"}]
    for number, recipe in enumerate(recipes):
        history, kept = History.from_events(events(lines, number)), saved.read(tmp_path / str(number))
        assert (history.recipe, len(history.steps)) == (recipe, TINY.steps)
        assert (kept.end, kept.evaluations) == (history.end, history.evaluations)
    (tmp_path / "here").mkdir()
    here(tmp_path / "here", TINY)
    ours, theirs = (load_file(tmp_path / name / "model.safetensors") for name in ("here/0", "1"))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    # the tokenizers' own trainer numbers characters in the order of a hash map
    one, other = (json.loads((tmp_path / name / saved.TOKENIZER).read_text("utf-8")) for name in ("here/0", "1"))
    assert one == other


def test_stopped_run_keeps_its_model(tmp_path: Path) -> None:
    for name in ("stop", "enough"):
        (tmp_path / name).mkdir()
    lines = here(tmp_path / "stop", ENDLESS, replace(ENDLESS, seed=2), stop_at=4)
    assert ends(lines, 0, 1) == [("stopped", 4), ("stopped", 0)]
    assert others(lines) == [{"saved": 0}, {"done": "stopped"}]
    assert saved.read(tmp_path / "stop" / "0").end == events(lines, 0)[-1]
    assert not (tmp_path / "stop" / "1").exists()  # it has learnt nothing
    lines = here(tmp_path / "enough", ENDLESS, stop_at=4, enough=True)
    assert ends(lines, 0) == [("time", 4)]
    assert others(lines) == [{"saved": 0}, {"done": "time"}]


@pytest.mark.faults
@pytest.mark.thorough("a process of its own trains")
def test_stopped_worker_keeps_its_snapshot(tmp_path: Path) -> None:
    with worker(tmp_path, ENDLESS) as (running, pipe):
        lines = said(pipe)
        while next(lines)["event"]["kind"] != "Step":
            pass
        pipe.send_bytes(b"stop")
        assert list(lines)[-2:] == [{"saved": 0}, {"done": "stopped"}]
        running.join(PATIENCE)
        assert running.exitcode == 0


def test_the_time_of_all_runs_together_is_bounded_and_they_take_turns(tmp_path: Path) -> None:
    ticks = itertools.count()
    two = (ENDLESS, replace(ENDLESS, seed=2))
    lines = here(tmp_path, *two, seconds=40, clock=lambda: float(next(ticks)))
    assert all(reason == "time" and 0 < step < 40 for reason, step in ends(lines, 0, 1))
    assert lines[-1] == {"done": "time"}
    (tmp_path / "turns").mkdir()
    lines = here(tmp_path / "turns", TINY, replace(TINY, seed=2))
    turns = [line["run"] for line in lines if "run" in line and isinstance(from_values(line["event"]), Evaluation)]
    assert turns == [0, 1, 0, 1, 0, 1]


def test_data_from_a_table_or_a_text(tmp_path: Path) -> None:
    for kind, contexts in (("csv", (64,)), ("text", (16, 100))):
        (tmp_path / kind).mkdir()
        content = CSV if kind != "text" else b"to be or not to be, that is the question. " * 40
        recipes = [replace(TINY, task=kind, max_len=context) for context in contexts]
        lines = here(tmp_path / kind, *recipes, data=TrainingData(kind, content))
        starts = [cast(Start, events(lines, run)[0]) for run in range(len(recipes))]
        assert lines[-1] == {"done": "steps"}, kind
        assert starts[0].classes == ([] if kind == "text" else ["a", "b"]), kind
    assert [load_model(str(tmp_path / "text" / str(run))).sizes.max_len for run in range(2)] == [16, 100]


def test_plans_that_cannot_be_carried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HeadlightError, match="no longer exists"):
        here(tmp_path / "gone", TINY)
    assert not list(tmp_path.iterdir())
    for bound, sentence in (
        ("MAX_SCORES", "choose a smaller batch"),
        ("MAX_MAPS", r"2 runs with 1 × 2 heads keep [\d,]+ bytes of maps"),
    ):
        with monkeypatch.context() as bounds:
            bounds.setattr(limits, bound, 100)
            with pytest.raises(SizeError, match=sentence):
                here(tmp_path, TINY, replace(TINY, seed=2))


def test_a_core_is_left_for_the_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # as on macOS and Windows
    count: dict[str, int | None] = {}
    monkeypatch.setattr(os, "cpu_count", lambda: count["cores"])
    for count["cores"], most in ((None, 1), (2, 1), (8, 7)):
        check_recipes((replace(TINY, threads=most),))
        with pytest.raises(SizeError, match=f"threads={most + 1}: choose at most {most}"):
            check_recipes((TINY, replace(TINY, threads=most + 1)))


def test_too_large_plan_is_refused() -> None:
    with pytest.raises(SizeError, match=r"up to 224,000,000 parameters in 40 models, at most 20,000,000"):
        check_recipes((replace(TINY, d_model=1000, vocabulary=1600),) * 40)
    news = Recipe(batch=32, n_heads=8)
    with pytest.raises(SizeError, match=r"texts of 1024 tokens layers · b · h · n² = 268,435,456, at most 80,000,000"):
        check_step(news, 1024)
