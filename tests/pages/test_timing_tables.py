"""The results of a timing in words, a table and curves."""

from __future__ import annotations

import pytest

from mha_core.clock import Spread
from pages.implementations import timing, timing_tables
from pages.implementations.timing import YARDSTICK, AtLength, TimingJob, TimingPlan
from pages.kit.server.queue import Work

from .waiting import PATIENCE, Clock, of_jobs


def timed(*, peaks: bool = True, lengths: tuple[int, ...] = (16, 20)) -> TimingJob:
    """A job as it is after both lengths, with figures of our own."""
    job = TimingJob(TimingPlan("training step with maps", ("einsum", "naive"), 2, lengths, 24, 3))
    results = []
    for length in (16, 20):
        times = {YARDSTICK: Spread(0.002, 0.001, 0.003, 7), "naive": Spread(0.003, 0.002, 0.006, 7)}
        times["einsum"] = Spread(0.001, 0.001, 0.001, 7)
        held = {YARDSTICK: 2_000_000, "naive": 3_000_000, "einsum": 1_000_000}
        results.append(AtLength(length, times, {name: held[name] if peaks else None for name in times}))
    job.results = tuple(results)
    job.machine = "cpu, a machine"
    return job


@pytest.mark.parametrize(
    ("n", "sweep", "lengths"),
    [(1, True, (1,)), (16, True, (16,)), (17, True, (16, 17)), (128, True, (16, 32, 64, 128)), (128, False, (128,))],
)
def test_lengths(n: int, sweep: bool, lengths: tuple[int, ...]) -> None:
    assert timing_tables.lengths(n, sweep=sweep) == lengths


def test_the_table_has_every_figure_in_the_house_order() -> None:
    rows = timing_tables.table(timed())["rows"]
    assert [row[:2] for row in rows] == [[n, name] for n in ("16", "20") for name in ("naive", "einsum", YARDSTICK)]
    assert rows[0] == ["16", "naive", "3.000", "2.000 to 6.000", "7", "1.50", "3.00", "1.50"]
    assert rows[2][5:] == ["1.00", "2.00", "1.00"]


def test_the_curves_have_the_numbers_of_the_table() -> None:
    job = timed()
    figure = timing_tables.ratio_figure(job, "dark")
    naive, einsum, one = figure["data"]
    assert [line["name"] for line in figure["data"]] == ["naive", "einsum", f"{YARDSTICK} with maps"]
    assert naive["y"] == [1.5, 1.5]
    assert naive["error_y"]["array"] == [1.5, 1.5]
    assert einsum["y"] == [0.5, 0.5]
    assert one["y"] == [1, 1]
    assert not figure["layout"]["showlegend"]
    names = figure["layout"]["annotations"]
    assert [one["text"] for one in names] == ["einsum", f"{YARDSTICK} with maps", "naive"]  # from the lowest line up
    assert [10 ** one["y"] for one in names] == pytest.approx([0.5, 1, 1.5])
    memory = timing_tables.memory_figure(job, "light")
    assert memory is not None
    assert memory["data"][0]["y"] == [1.5, 1.5]


def test_memory_that_was_not_measured_is_not_drawn() -> None:
    job = timed(peaks=False)
    assert timing_tables.memory_figure(job, "dark") is None
    assert timing_tables.table(job)["rows"][0][6:] == ["–", "–"]
    assert timing_tables.notices(job) == ["Peak memory is not measured on this device."]


def test_the_words() -> None:
    job = timed(lengths=(16, 20, 32))
    assert timing_tables.summary(job) == "training step with maps · b 2, d_model 24, 3 heads, float32 · cpu, a machine"
    assert timing_tables.progress(job) == "Length 32, 3 of 3 · 0 s"
    assert timing_tables.notices(job) == []
    job.error = "the device is out of memory"
    assert timing_tables.notices(job) == ["The timing ended early: the device is out of memory."]


def test_the_words_of_one_that_was_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    of_jobs(monkeypatch, Work.RACE, clock)
    job = timed(lengths=(16, 20, 32))
    results = job.results

    def stop(*_: object, maps: bool) -> None:
        clock.now += 4.5
        job.results = results
        job.stop()

    monkeypatch.setitem(timing.TASKS, job.plan.task, (stop, True))
    job.start()
    job.join(PATIENCE)
    assert timing_tables.notices(job) == ["Stopped after 4.5 s; results for 2 of 3 lengths are kept."]
