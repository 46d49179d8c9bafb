"""Attention by hand: the worked example of the long post, and agreement with the layers."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from mha_core import attention, masks
from mha_core.errors import HeadlightError, MaskError, SizeError
from mha_core.measure.by_hand import (
    entropy,
    random_entropy,
    softmax_steps,
    softmax_three_ways,
    take_apart,
)
from tests.closeness import identical, quoted, same_function

SCORES = torch.tensor([[0.5, 0.1, 0.4], [0.1, 0.8, 0.3], [0.4, 0.3, 0.1]], dtype=torch.float64)
X = torch.tensor([[1.1, 1.2], [2.1, 2.2], [3.1, 3.2]], dtype=torch.float64)
RULES = ["none", "causal", "window:2", "causal & window:2"]


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_posts_output_to_four_decimals_and_its_table_within_a_hundredth() -> None:
    done = softmax_steps(SCORES, X)
    table = torch.tensor([[0.38, 0.26, 0.35], [0.23, 0.48, 0.29], [0.38, 0.34, 0.28]], dtype=torch.float64)
    output = torch.tensor([[2.0630, 2.1630], [2.1523, 2.2523], [2.0020, 2.1020]], dtype=torch.float64)
    for own, written in zip(done.weights.flatten().tolist(), table.flatten().tolist(), strict=True):
        quoted(own, f"{written:.2f}")
    assert torch.equal(done.mixed.round(decimals=4), output)


@pytest.mark.parametrize(("rule", "divisor"), list(zip(RULES, [1.0, math.sqrt(2)] * 2, strict=True)))
def test_the_steps_lead_to_the_weights(rule: str, divisor: float) -> None:
    allow = masks.allow(masks.parse(rule), 3, 3)[0, 0]
    done = softmax_steps(SCORES, X, allow=allow, divisor=divisor)
    assert torch.equal(done.masked == -math.inf, ~allow)
    same_function(done.weights, (SCORES / divisor).masked_fill(~allow, -math.inf).softmax(-1))
    same_function(done.exps / done.sums, done.weights)
    same_function(done.mixed, done.weights @ X)
    assert float(done.subtracted.abs().max()) == 0  # nothing here could overflow


@pytest.mark.parametrize(
    ("rule", "temperature", "biased"),
    [("none", 1.0, False), ("causal", 0.1, True), ("window:2", 5.0, False), ("causal & window:2", 1.0, True)],
)
def test_a_cell_taken_apart_is_the_layers_weight(rule: str, temperature: float, biased: bool) -> None:
    q, k = random(5, 8), random(6, 8, seed=1)
    bias = random(5, 6, seed=2) if biased else None
    allow = masks.allow(masks.parse(rule), 5, 6)[0, 0]
    _, weights = attention(q, k, k, allow=allow, bias=bias, temperature=temperature)
    for row in range(5):
        for key in range(6):
            cell = take_apart(q, k, row, key, allow=allow, bias=bias, temperature=temperature)
            for found, expected in (
                (cell.weight, float(weights[row, key])),
                (cell.dot, float(cell.running[-1])),
                (cell.score, (cell.dot / math.sqrt(8) + cell.bias) / temperature),
                (float(cell.weights.sum()), 1.0),
                (cell.weight, cell.exp / cell.total),
                (cell.bias, float(bias[row, key]) if bias is not None else 0.0),
            ):
                same_function(found, expected)
            assert cell.allowed == bool(allow[row, key])


def test_a_cell_of_an_empty_row() -> None:
    cell = take_apart(random(2, 4), random(3, 4), 1, 2, allow=torch.zeros(2, 3, dtype=torch.bool))
    assert (cell.allowed, cell.exp, cell.total, cell.weight) == (False, 0, 0, 0)
    assert bool(cell.exps.isfinite().all())


def test_entropy() -> None:
    rows = torch.tensor([[1.0, 0, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0], [0] * 4], dtype=torch.float64)
    same_function(entropy(rows), torch.tensor([0, 2, 1, 0], dtype=torch.float64))


def test_without_the_division_rows_become_sharper_as_d_grows() -> None:
    def mean(d: int, scaled: bool) -> float:
        return random_entropy(d, 16, draws=64, seed=0, scaled=scaled)

    raw = [mean(d, False) for d in (1, 4, 16, 64, 256, 1024)]
    assert raw == sorted(raw, reverse=True)
    divided = [mean(d, True) for d in (4, 16, 64, 256, 1024)]
    assert max(divided) - min(divided) < 0.2
    assert raw[-1] < 0.3 < 3 < min(divided) <= 4


def test_three_ways_differ_on_empty_rows_alone() -> None:
    scores = random(4, 4)
    allow = torch.ones(4, 4).tril().bool()
    for empty in (False, True):
        allow[2] &= not empty
        ours, plain, large = softmax_three_ways(scores, allow)
        rows = [0, 1, 3] if empty else [0, 1, 2, 3]
        identical(ours[rows], plain[rows])
        identical(ours[rows], large[rows])
    assert not ours[2].any()
    assert plain[2].isnan().all()
    identical(large[2], torch.full((4,), 0.25, dtype=torch.float64))


REFUSED: list[tuple[Callable[[], object], type[HeadlightError], str]] = [
    (lambda: softmax_steps(SCORES, X[:2]), SizeError, "need"),
    (lambda: softmax_steps(SCORES, X, allow=torch.ones(3, 3)), MaskError, "bool"),
    (lambda: take_apart(random(2, 4), random(3, 4), 2, 0), SizeError, "counted from 0"),
    (lambda: take_apart(random(2, 4), random(3, 4), 0, -1), SizeError, "counted from 0"),
    (lambda: take_apart(random(2, 4), random(3, 5), 0, 0), SizeError, "need"),
    (lambda: take_apart(random(2, 4), random(3, 4), 0, 0, temperature=0), HeadlightError, "temperature"),
    (lambda: softmax_three_ways(random(2, 3, 3), torch.ones(3, 3).bool()), SizeError, r"\(2, 3, 3\): need \(i, j\)"),
    (lambda: softmax_three_ways(random(3, 3), torch.ones(3, 2).bool()), MaskError, r"bool \(3, 3\)"),
]


def test_arguments_that_do_not_fit_are_refused() -> None:
    for call, kind, message in REFUSED:
        with pytest.raises(kind, match=message):
            call()
