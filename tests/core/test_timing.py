"""Times of calls and their memory, and the figures of the benchmark; no test asserts a speed."""

from __future__ import annotations

import statistics
import threading
import time

import pytest
import torch

from mha_core import IMPLEMENTATIONS, Model, clock
from mha_core.errors import SizeError, Unsupported
from mha_core.measure import benchmark, timing
from mha_core.measure.agreement import BIASES


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
def test_the_race_is_run_with_the_same_weights_and_the_biases_that_are_chosen(biases: str) -> None:
    theirs, ours = timing.same_weights(24, 3, biases=biases)
    x = torch.randn(2, 5, 24)
    expected, expected_maps = theirs(x, x, x, average_attn_weights=False)
    assert ours.keys() == IMPLEMENTATIONS.keys()
    for layer in ours.values():
        assert not layer.training
        out, maps = layer(x)
        torch.testing.assert_close(out, expected)
        torch.testing.assert_close(maps, expected_maps)
    assert list(timing.same_weights(24, 3, names=["sdpa"])[1]) == ["sdpa"]
    with pytest.raises(SizeError, match="d_model=50"):
        timing.same_weights(50, 6)
    efficient = ours["efficient"].save().items()
    assert [name[0] for name, one in efficient if name.endswith("_bias") and one is not None] == list(BIASES[biases])


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


def test_peak_memory_sees_a_known_allocation() -> None:
    assert timing.peak_memory(known_allocation) == pytest.approx(5 * 2**20, rel=0.01)
    assert timing.peak_memory(lambda: None) == 0


def test_peak_memory_works_in_any_thread_and_counts_that_one_alone() -> None:
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
    assert found == [pytest.approx(5 * 2**20, rel=0.01)]


def test_peak_memory_is_not_guessed_where_nobody_counts() -> None:
    assert timing.peak_memory(lambda: None, "mps") is None


@pytest.mark.parametrize("maps", [True, False])
def test_without_maps_less_is_held_than_the_maps_take(maps: bool, capfd: pytest.CaptureFixture[str]) -> None:
    _, ours = timing.same_weights(16, 4, names=["fused"])
    x = torch.randn(1, 128, 16)

    def step() -> None:
        timing.training_step(ours["fused"], x, maps=maps)

    step()
    peak = timing.peak_memory(step)
    assert peak is not None
    assert (peak > 4 * 128 * 128 * 4) == maps
    assert "profiler" not in capfd.readouterr().err


def test_the_machine_is_named() -> None:
    assert f"torch {torch.__version__}, {torch.get_num_threads()} threads" in clock.machine()


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


def test_the_texts_have_the_length_they_say(minilm: Model) -> None:
    for tokens in (2, 16, 512):
        assert len(minilm.tokenize(benchmark.text_of(tokens))[0]) == tokens
