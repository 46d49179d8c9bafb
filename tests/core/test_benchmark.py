"""The figures of the benchmark; no test asserts a speed."""

from __future__ import annotations

import pytest

from mha_core import IMPLEMENTATIONS, Model
from mha_core.errors import Unsupported
from mha_core.measure import benchmark


def test_every_figure_has_its_candidates(tiny: Model, monkeypatch: pytest.MonkeyPatch) -> None:
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
