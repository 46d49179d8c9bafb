"""Live timing: its figures, its end by itself and by hand, and what is refused; no speed is asserted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mha_core import IMPLEMENTATIONS
from mha_core.attention import AttentionLayer
from mha_core.clock import Spread
from mha_core.errors import DeviceError, SizeError
from mha_core.measure.agreement import BIASES
from mha_core.pretrained import memory
from pages.implementations import timing, timing_section
from pages.implementations.timing import YARDSTICK, AtLength, TimingJob, TimingPlan

from .waiting import PATIENCE

SMALL = TimingPlan("forward with maps", tuple(IMPLEMENTATIONS), 1, (4, 8), 12, 3, seconds=0.01, device="cpu")


def test_it_has_all_its_results() -> None:
    for task in timing.TASKS:
        names = tuple(IMPLEMENTATIONS) if task == "forward with maps" else ("einsum",)
        done = TimingJob(replace(SMALL, task=task, names=names)).start()
        done.join(PATIENCE)
        assert (done.share, done.error, done.stopped) == (1, "", False), task
        assert [result.length for result in done.results] == [4, 8]
        for result in done.results:
            assert result.times.keys() == result.peaks.keys() == {*names, YARDSTICK}
            for name, times in result.times.items():
                assert timing.FEWEST_ROUNDS <= times.calls <= timing.MOST_ROUNDS
                assert 0 < times.low <= times.median <= times.high
                assert result.peaks[name]
            assert len({times.calls for times in result.times.values()}) == 1
            assert result.ratio(YARDSTICK).median == 1
        assert "torch" in done.machine


def test_errors_become_a_sentence_and_sizes_that_take_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for error, sentence in (
        (torch.OutOfMemoryError("CUDA out of memory"), "the device is out of memory; choose smaller sizes"),
        (RuntimeError("a secret path"), "RuntimeError"),
    ):

        def fail(*_: object, maps: bool, error: Exception = error) -> None:
            raise error

        monkeypatch.setitem(timing.TASKS, "forward with maps", (fail, True))
        failed = TimingJob(SMALL).start()
        failed.join(PATIENCE)
        assert (failed.error, failed.stopped) == (sentence, False)
    sizes: tuple[tuple[dict[str, Any], str], ...] = (
        ({"d_model": 50, "n_heads": 6}, "cannot be split into 6"),
        ({"b": 64, "lengths": (16, 1024)}, r"b · h · n² = 201,326,592, at most"),
        ({"b": 64, "lengths": (64,), "d_model": 1024, "n_heads": 1}, r"b · n · d² = 4,294,967,296, at most"),
    )
    for size, match in sizes:
        with pytest.raises(SizeError, match=match):
            TimingJob(replace(SMALL, **size))


def test_the_size_of_the_post_is_taken_where_the_memory_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    post = replace(SMALL, b=32, lengths=(512,), d_model=64, n_heads=8, names=("fused",))
    monkeypatch.setattr(memory, "available", lambda: 3 * 10**9)
    post.check()
    monkeypatch.setattr(memory, "available", lambda: 10**9)
    with pytest.raises(DeviceError, match=r"needs 1,342 MB of memory, this machine has 1,000 MB left; choose fewer"):
        post.check()


def test_a_race_is_of_layers_with_the_biases_that_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, bool] = {}

    def call(layer: nn.Module, x: Tensor, *, maps: bool) -> None:
        if isinstance(layer, AttentionLayer):
            seen.update({name[0]: one is not None for name, one in layer.save().items() if name.endswith("_bias")})

    monkeypatch.setitem(timing.TASKS, SMALL.task, (call, True))
    for biases in BIASES:
        TimingJob(replace(SMALL, names=("efficient",), lengths=(4,), biases=biases)).start().join(PATIENCE)
        assert [letter for letter, there in seen.items() if there] == list(BIASES[biases])
        seen.clear()


# ---- the results in words, a table and curves


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


def test_the_table_has_every_figure_in_the_order_of_the_house() -> None:
    rows = timing_section.table(timed())["rows"]
    assert [row[:2] for row in rows] == [[n, name] for n in ("16", "20") for name in ("naive", "einsum", YARDSTICK)]
    assert rows[0] == ["16", "naive", "3.000", "2.000 to 6.000", "7", "1.50", "3.00", "1.50"]
    job = timed(peaks=False)  # memory was not measured
    assert timing_section.table(job)["rows"][0][6:] == ["–", "–"]
    assert timing_section.lengths_of(128, sweep=True) == (16, 32, 64, 128)
