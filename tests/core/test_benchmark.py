"""How the benchmark measures; how fast anything is, no test asserts."""

from __future__ import annotations

import statistics
import time

import pytest
import torch

from mha_core import IMPLEMENTATIONS, Model, benchmark
from mha_core.errors import Unsupported


def test_candidates_are_visited_equally_often_in_shuffled_order() -> None:
    visits: list[str] = []
    names = ["a", "b", "c", "d"]
    medians = benchmark.interleaved({name: lambda name=name: visits.append(name) for name in names}, 20, warm_up=3)  # type: ignore[misc]
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
    medians = benchmark.interleaved({name: lambda name=name: take(given[name]) for name in given}, 5, warm_up=1)  # type: ignore[misc]
    assert medians == {name: statistics.median(seconds) for name, seconds in counted.items()}


def test_the_race_is_run_with_the_same_weights() -> None:
    theirs, ours = benchmark.same_weights(24, 3)
    x = torch.randn(2, 5, 24)
    expected, expected_maps = theirs(x, x, x, average_attn_weights=False)
    assert ours.keys() == IMPLEMENTATIONS.keys()
    for layer in ours.values():
        out, maps = layer(x)
        torch.testing.assert_close(out, expected)
        torch.testing.assert_close(maps, expected_maps)


def test_every_figure_has_its_candidates(tiny: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    both = {f"{name}, {kind}" for name in IMPLEMENTATIONS for kind in ("maps", "no maps")}
    assert benchmark.forward(5, 1, d_model=12, n_heads=3).keys() == both | {"torch"}
    assert benchmark.training(1, b=2, n=5, d_model=12, n_heads=3).keys() == both | {"torch"}
    assert benchmark.tracing(5, 1, d_model=12, n_heads=3).keys() == {"on", "off", "no-ops"}
    assert benchmark.maps_of_minilm(tiny, 5, 1).keys() == {"headlight", "transformers"}
    with pytest.raises(Unsupported, match="not read from a folder"):
        benchmark.maps_of_minilm(Model("x", tiny.tokenizer, tiny.encoder, origin="random"), 5, 1)


@pytest.mark.parametrize("tokens", [2, 16, 512])
def test_the_texts_have_the_length_they_say(minilm: Model, tokens: int) -> None:
    assert len(minilm.tokenize(benchmark.text_of(tokens))[0]) == tokens


def test_the_machine_is_named() -> None:
    assert f"torch {torch.__version__}, {torch.get_num_threads()} threads" in benchmark.machine()
