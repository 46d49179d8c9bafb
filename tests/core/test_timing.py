"""Times of calls and their memory, and the figures of the benchmark; no test asserts a speed."""

from __future__ import annotations

import statistics
import threading
import time
from functools import partial

import pytest
import torch

from mha_core import IMPLEMENTATIONS, Model, clock
from mha_core.errors import SizeError, Unsupported
from mha_core.measure import benchmark, timing
from mha_core.measure.agreement import BIASES
from tests.closeness import same_function


def test_candidates_are_visited_equally_often_in_shuffled_order() -> None:
    visits: list[str] = []
    names = ["a", "b", "c", "d"]
    medians = clock.interleaved({name: lambda name=name: visits.append(name) for name in names}, 20, warm_up=3)  # type: ignore[misc]
    rounds = [tuple(visits[start : start + 4]) for start in range(0, len(visits), 4)]
    assert len(rounds) == 23
    assert all(sorted(order) == names for order in rounds)
    assert len(set(rounds)) > 5
    assert len({order[0] for order in rounds}) == 4
    assert list(medians) == names


def test_the_medians_are_those_of_the_counted_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock of our own, which only the candidates move."""
    now = 0.0

    def take(seconds: list[float]) -> None:
        nonlocal now
        now += seconds.pop(0)

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    counted = {"a": [3.0, 1.0, 2.0, 9.0, 4.0], "b": [10.0, 50.0, 20.0, 30.0, 40.0]}
    given = {name: [1000.0, *seconds] for name, seconds in counted.items()}
    medians = clock.interleaved({name: lambda name=name: take(given[name]) for name in given}, 5, warm_up=1)  # type: ignore[misc]
    assert medians == {name: statistics.median(seconds) for name, seconds in counted.items()}


def test_a_series_ends_when_nobody_asks_for_more() -> None:
    visits: list[str] = []
    series = clock.calls({"a": lambda: visits.append("a"), "b": lambda: visits.append("b")}, 1000, warm_up=1)
    seen = [next(series) for _ in range(3)]
    assert len(visits) == 3
    assert [number for _, number, _ in seen] == [-1, -1, 0]
    assert all(seconds >= 0 for *_, seconds in seen)


def test_spread() -> None:
    assert clock.spread([4.0, 1.0, 3.0, 2.0, 5.0]) == clock.Spread(3.0, 2.0, 4.0, 5)
    assert clock.spread([2.0]) == clock.Spread(2.0, 2.0, 2.0, 1)


@pytest.mark.parametrize("biases", BIASES)
def test_all_run_with_the_same_weights_and_the_chosen_biases(biases: str) -> None:
    theirs, ours = timing.same_weights(24, 3, biases=biases)
    x = torch.randn(2, 5, 24, dtype=torch.float64)
    expected, expected_maps = theirs.double()(x, x, x, average_attn_weights=False)
    assert ours.keys() == IMPLEMENTATIONS.keys()
    efficient = ours["efficient"].save().items()
    assert [name[0] for name, one in efficient if name.endswith("_bias") and one is not None] == list(BIASES[biases])
    for layer in ours.values():
        assert not layer.training
        out, maps = layer.double()(x)
        same_function(out, expected)
        same_function(maps, expected_maps)
    assert list(timing.same_weights(24, 3, names=["sdpa"])[1]) == ["sdpa"]
    with pytest.raises(SizeError, match="d_model=50"):
        timing.same_weights(50, 6)


def test_what_is_timed_leaves_no_gradient_behind() -> None:
    theirs, ours = timing.same_weights(12, 3)
    x = torch.randn(2, 5, 12)
    for number, layer in enumerate((theirs, *ours.values())):
        timing.forward_pass(layer, x, maps=number % 2 == 0)
        timing.training_step(layer, x, maps=number % 2 == 1)
        assert all(parameter.grad is None for parameter in layer.parameters())


def known_allocation() -> None:
    """4 MiB, then 1 MiB beside it, then 2 MiB after the first is gone."""
    first = torch.empty(2**20)
    second = torch.empty(2**18)
    del first
    torch.empty(2**19)
    del second


def is_known(peak: int | None) -> bool:
    """5 MiB, and what an allocator rounds a tensor up by."""
    return peak is not None and 0 <= peak - 5 * 2**20 < 2**15


def test_peak_memory_is_that_of_its_thread() -> None:
    assert is_known(timing.peak_memory(known_allocation))
    assert timing.peak_memory(lambda: None) == 0
    assert timing.peak_memory(lambda: None, "mps") is None, "it is not guessed where nobody counts"
    found: list[int | None] = []
    done = threading.Event()

    def other() -> None:
        while not done.is_set():
            torch.empty(2**22)

    noise = threading.Thread(target=other)
    noise.start()
    measuring = threading.Thread(target=lambda: found.append(timing.peak_memory(known_allocation)))
    measuring.start()
    measuring.join()
    done.set()
    noise.join()
    assert len(found) == 1
    assert is_known(found[0])


def test_without_maps_less_is_held_than_the_maps_take(capfd: pytest.CaptureFixture[str]) -> None:
    _, ours = timing.same_weights(16, 4, names=["fused"])
    x = torch.randn(1, 128, 16)
    for maps in (True, False):
        step = partial(timing.training_step, ours["fused"], x, maps=maps)
        step()
        peak = timing.peak_memory(step)
        assert peak is not None
        assert (peak > 4 * 128 * 128 * 4) == maps
    assert "profiler" not in capfd.readouterr().err


def test_the_machine_is_named_and_texts_have_the_length_they_promise(minilm: Model) -> None:
    for tokens in (2, 16, 512):
        assert len(minilm.tokenize(benchmark.text_of(tokens))[0]) == tokens
    assert f"torch {torch.__version__}, {torch.get_num_threads()} threads" in clock.machine()


@pytest.mark.thorough("The benchmark times every candidate of each of its figures.")
def test_every_figure_has_its_candidates(tiny: Model) -> None:
    both = {f"{name}, {kind}" for name in IMPLEMENTATIONS for kind in ("maps", "no maps")}
    assert benchmark.forward(5, 1, d_model=12, n_heads=3).keys() == both | {"torch"}
    assert benchmark.training(1, b=2, n=5, d_model=12, n_heads=3).keys() == both | {"torch"}
    rows = {f"{name}, {rows}" for name in benchmark.CLASSIFIERS for rows in ("one row", "all rows")}
    assert benchmark.classifying(1, b=2, n=5, d_model=16).keys() == rows
    peaks = benchmark.memory(b=2, n=5, d_model=12, n_heads=3)
    assert peaks.keys() == both | {"torch"}
    assert all(peak is not None and peak > 0 for peak in peaks.values())
    assert benchmark.tracing(5, 1, d_model=12, n_heads=3).keys() == {"on", "off", "no-ops"}
    assert benchmark.maps_of_minilm(tiny, 5, 1).keys() == {"headlight", "transformers"}
    with pytest.raises(Unsupported, match="not read from a folder"):
        benchmark.maps_of_minilm(Model("x", tiny.tokenizer, tiny.encoder, origin="random"), 5, 1)
