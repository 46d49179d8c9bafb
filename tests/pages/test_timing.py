"""Live timing: its figures, its end, and what is refused; no speed is asserted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from headlight.queue.client import Client
from headlight.queue.executor import QUEUE
from headlight.queue.policy import QueueEntry, Work
from mha_core import IMPLEMENTATIONS
from mha_core.attention import AttentionLayer
from mha_core.errors import DeviceError, HeadlightError, SizeError
from mha_core.measure.agreement import BIASES
from mha_core.pretrained import memory
from pages.implementations import timing
from pages.implementations.parity import InputSizes
from pages.implementations.timing import YARDSTICK, Timing, TimingPlan, measure

SMALL = TimingPlan("forward with maps", tuple(IMPLEMENTATIONS), InputSizes(1, 8, 12, 3), seconds=0.01, device="cpu")


def test_timing_has_results_of_complete_rounds() -> None:
    for task in timing.TASKS:
        names = tuple(IMPLEMENTATIONS) if task == "forward with maps" else ("einsum",)
        done = measure(replace(SMALL, task=task, names=names))
        assert done.seconds.keys() == done.peaks.keys() == {*names, YARDSTICK}
        for name, seconds in done.seconds.items():
            assert timing.MIN_ROUNDS <= len(seconds) <= timing.MAX_ROUNDS
            assert min(seconds) > 0
            assert done.peaks[name]
        assert len({len(seconds) for seconds in done.seconds.values()}) == 1
        assert "torch" in done.machine


def test_its_visitor_ends_it_between_two_calls_and_its_place_is_free_again() -> None:
    class Stopped(BaseException):
        """As Streamlit ends a script."""

    asked: list[float] = []

    def stop(share: float) -> None:
        asked.append(share)
        if len(asked) == 3:
            raise Stopped

    with pytest.raises(Stopped):
        measure(SMALL, stop)
    turn = QueueEntry(Client(), Work.HEAVY)
    QUEUE.enqueue(turn)
    assert turn.began is not None
    QUEUE.release(turn)


def test_errors_become_a_sentence_and_sizes_that_take_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(error: Exception) -> Callable[..., None]:
        def fail(*_: object, maps: bool) -> None:
            raise error

        return fail

    for kind, error, sentence in (
        (HeadlightError, torch.OutOfMemoryError("CUDA out of memory"), "the device is out of memory; choose smaller"),
        (RuntimeError, RuntimeError("a fault"), "a fault"),
    ):
        monkeypatch.setitem(timing.TASKS, "forward with maps", (fails(error), True))
        with pytest.raises(kind, match=sentence):
            measure(SMALL)
    for sizes, match in (
        (InputSizes(1, 8, 50, 6), "cannot be split into 6"),
        (InputSizes(64, 1024, 12, 3), r"b · h · n² = 201,326,592, at most"),
        (InputSizes(64, 64, 1024, 1), r"b · n · d² = 4,294,967,296, at most"),
    ):
        with pytest.raises(SizeError, match=match):
            measure(replace(SMALL, sizes=sizes))


def test_size_of_the_post_is_taken_where_the_memory_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    post = replace(SMALL, sizes=InputSizes(32, 512, 64, 8), names=("fused",))
    monkeypatch.setattr(memory, "available", lambda: 3 * 10**9)
    post.check()
    monkeypatch.setattr(memory, "available", lambda: 10**9)
    with pytest.raises(DeviceError, match=r"needs 1,342 MB of memory, this machine has 1,000 MB left; choose fewer"):
        post.check()


def test_race_is_of_layers_with_the_biases_that_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, bool] = {}

    def call(layer: nn.Module, x: Tensor, *, maps: bool) -> None:
        if isinstance(layer, AttentionLayer):
            seen.update({name[0]: one is not None for name, one in layer.save().items() if name.endswith("_bias")})

    monkeypatch.setitem(timing.TASKS, SMALL.task, (call, True))
    for biases in BIASES:
        measure(replace(SMALL, names=("efficient",), sizes=replace(SMALL.sizes, biases=biases)))
        assert [letter for letter, there in seen.items() if there] == list(BIASES[biases])
        seen.clear()


def test_table_has_every_figure_in_the_order_of_the_house() -> None:
    seconds = {YARDSTICK: [0.001, 0.002, 0.003], "naive": [0.006, 0.003, 0.002], "einsum": [0.001]}
    held: dict[str, int | None] = {YARDSTICK: 2_000_000, "naive": 3_000_000, "einsum": 1_000_000}
    measured = Timing(SMALL, seconds, held, "cpu, a machine")
    notices, bars, table = timing.result(measured)
    assert (notices["sentences"], bars["values"]) == ([], ["1.50", "0.50", "1.00"])
    assert [row[0] for row in table["rows"]] == ["naive", "einsum", YARDSTICK]
    assert table["rows"][0] == ["naive", "3.000", "2.500 to 4.500", "3", "1.50", "3.00", "1.50"]
    notices, _, table = timing.result(replace(measured, peaks=dict.fromkeys(held)))  # memory was not measured
    assert table["rows"][0][5:] == ["–", "–"]
    assert notices["sentences"] == ["Peak memory is not measured on this device."]
