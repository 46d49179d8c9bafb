"""The numbers of the default screen: MiniLM on two sentences that differ in one word."""

from __future__ import annotations

import pytest
import torch

from mha_core import Model, Run
from mha_core.measure.measures import previous_token_weight

from .conftest import TIRED, WIDE


@pytest.fixture(scope="module")
def tired(minilm: Model) -> Run:
    return minilm.run(TIRED)


@pytest.fixture(scope="module")
def bag(minilm: Model) -> Run:
    """The same sentence with the positions taken away."""
    return minilm.run(TIRED, position="none")


@pytest.mark.parametrize(
    ("text", "position", "key", "weight"),
    [
        (TIRED, "trained", "animal", 0.64),
        (TIRED, "trained", "street", 0.05),
        (WIDE, "trained", "animal", 0.27),
        (WIDE, "trained", "street", 0.13),
        (TIRED, "none", "animal", 0.04),
    ],
)
def test_what_it_looks_at(minilm: Model, text: str, position: str, key: str, weight: float) -> None:
    """In layer 3, head 1: the animal that is tired, less so where it is wide, and nothing without positions."""
    run = minilm.run(text, position=position)
    found = float(run.weights[3, 1, run.tokens.index("it"), run.tokens.index(key)])
    assert found == pytest.approx(weight, abs=0.005)


def test_layer_0_head_2_looks_at_the_previous_token(tired: Run, bag: Run) -> None:
    assert previous_token_weight(tired.weights[0, 2]) == pytest.approx(0.9998, abs=0.00005)
    assert previous_token_weight(bag.weights[0, 2]) == pytest.approx(0.109, abs=0.0005)


def test_without_positions_equal_words_have_equal_rows(tired: Run, bag: Run) -> None:
    first, second = (place for place, token in enumerate(tired.tokens) if token == "the")

    def apart(run: Run) -> float:
        return float((run.weights[:, :, first] - run.weights[:, :, second]).abs().max())

    assert apart(bag) <= 1e-5
    assert 0.99 < apart(tired) <= 1.0


def test_a_causal_mask_alone_tells_equal_words_apart(minilm: Model) -> None:
    run = minilm.run(TIRED, position="none", mask="causal")
    first, second = (place for place, token in enumerate(run.tokens) if token == "the")
    assert not torch.allclose(run.weights[:, :, first], run.weights[:, :, second], atol=0.01)
    # in layer 0 both ask the same question; the second has more keys to share its weight with
    assert float(run.weights[0, :, second, : first + 1].sum()) < float(run.weights[0, :, first].sum()) - 0.1
