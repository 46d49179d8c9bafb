"""The measures of heads against loops, over texts, and as frames."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from mha_core import Model
from mha_core.errors import SizeError
from mha_core.heads.kinds import KINDS, head_scores
from mha_core.heads.measures import MEASURES, HeadMeasures, head_measures
from mha_core.measure import rounding
from mha_core.measure.value_norms import transformed_norms
from tests.closeness import identical, within_rounding

IDS = [4, 7, 4, 9, 7, 4]
N = len(IDS)


def maps(*, causal: bool = False) -> Tensor:
    torch.manual_seed(3)
    scores = torch.randn(2, 3, N, N)
    return (scores.masked_fill(torch.ones(N, N).triu(1).bool(), -math.inf) if causal else scores).softmax(-1)


def looped(weights: Tensor, lengths: Tensor) -> dict[str, float]:
    """What is no weight of a kind of cells, of head 1 of layer 0, number by number."""
    own, every = weights[0, 1].tolist(), range(N)
    handed = [
        [sum(float(weights[0, h, i, j]) * float(lengths[0, h, j]) for j in every) for h in range(3)] for i in every
    ]
    rows = {
        "entropy": [-sum(w * math.log2(w) for w in row if w) for row in own],
        "distance": [sum(w * abs(i - j) for j, w in enumerate(row)) for i, row in enumerate(own)],
        "value": [one[1] / sum(one) for one in handed],
    }
    return {name: sum(found) / N for name, found in rows.items()}


@pytest.mark.parametrize("causal", [False, True])
def test_every_measure_is_that_of_a_loop(causal: bool) -> None:
    """Those of `KINDS` are compared with one in test_surprise.py."""
    weights, lengths = maps(causal=causal), torch.rand(2, 3, N) + 0.5
    found = head_measures(weights, IDS, lengths)
    assert list(found.values) == list(MEASURES)
    assert found.missing == {}
    for kind, own in head_scores(weights, IDS).items():
        identical(found.values[kind], own)
    for name, value in looped(weights, lengths).items():
        own = found.values[name]
        assert (own.shape, own.dtype) == ((2, 3), torch.float32)
        # a logarithm or quotient, a row, the rows
        within_rounding(own[0, 1], torch.tensor(value, dtype=torch.float64), rounding.sum_bound(N, N, N))
    assert found.rows == {"previous": 5, "next": 5, "itself": 5, "first": 5, "same": 3, "induction": 3} | dict.fromkeys(
        ("entropy", "distance", "value"), N
    )


def test_the_ends_of_the_scales() -> None:
    even = torch.full((1, 2, N, N), 1 / N)
    found = head_measures(even, IDS, torch.ones(1, 2, N)).values
    within_rounding(found["entropy"], torch.full((1, 2), math.log2(N)), rounding.sum_bound(N, N))
    within_rounding(found["value"], torch.full((1, 2), 0.5), rounding.sum_bound(N, N))
    nothing = head_measures(torch.zeros(1, 1, N, N), IDS, torch.ones(1, 1, N)).values
    assert all(not own.any() for own in nothing.values()), "rows that may look at nothing count as 0"


def test_missing_measures_are_explained() -> None:
    one: HeadMeasures = head_measures(torch.ones(1, 2, 1, 1), [5])
    assert list(one.values) == ["entropy", "distance"]
    assert one.missing["previous"] == "the text needs at least two tokens"
    assert set(one.missing) == {*KINDS, "value"}
    no_repeat = head_measures(torch.full((1, 1, 3, 3), 1 / 3), [1, 2, 3]).missing
    assert no_repeat["induction"] == "no token is repeated after another one"
    across = head_measures(torch.full((1, 1, 3, 2), 0.5), None)
    assert list(across.values) == ["entropy"]
    assert "different tokens" in across.missing["distance"]


# ---- of a run, and as frames


def test_a_run_as_frames(tiny: Model) -> None:

    run = tiny.run("how are you", trace_layer=1)
    n, (layers, heads) = len(run.tokens), run.weights.shape[:2]
    table = run.frame(1, 0)
    assert (table.pivot(index="query", columns="key", values="weight").to_numpy() == run.weights[1, 0].numpy()).all()
    assert table["key_token"].tolist() == run.tokens * n
    scores = torch.tensor(table["score"].to_numpy()).view(n, n)
    within_rounding(scores.softmax(-1), run.weights[1, 0], rounding.sum_bound(n, n))
    half = replace(run, weights=run.weights.bfloat16(), steps=())
    assert half.frame(1, 0)["weight"].tolist() == half.weights[1, 0].flatten().tolist(), "numpy has no bfloat16"
    with pytest.raises(SizeError, match="layer 2 head 0 is not there; there are 2 layers"):
        run.frame(2, 0)
    found = run.measures(transformed_norms(tiny, run))
    assert found.index.tolist() == [(layer, head) for layer in range(layers) for head in range(heads)]
    expected = head_measures(run.weights, run.ids, transformed_norms(tiny, run))
    assert all((found[name].to_numpy() == own.flatten().numpy()).all() for name, own in expected.values.items())
    assert found.attrs == {"rows": expected.rows, "missing": expected.missing}
