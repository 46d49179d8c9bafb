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


def looks(run: Run, key: str) -> float:
    """The weight of `it` on `key` in layer 3, head 1."""
    return float(run.weights[3, 1, run.tokens.index("it"), run.tokens.index(key)])


def test_tired_it_looks_at_the_animal(tired: Run) -> None:
    assert looks(tired, "animal") == pytest.approx(0.64, abs=0.005)
    assert looks(tired, "street") == pytest.approx(0.05, abs=0.005)


def test_wide_it_looks_less_at_the_animal_and_more_at_the_street(minilm: Model) -> None:
    wide = minilm.run(WIDE)
    assert looks(wide, "animal") == pytest.approx(0.27, abs=0.005)
    assert looks(wide, "street") == pytest.approx(0.13, abs=0.005)


def test_layer_0_head_2_looks_at_the_previous_token(tired: Run, bag: Run) -> None:
    assert previous_token_weight(tired.weights[0, 2]) == pytest.approx(0.9998, abs=0.00005)
    assert previous_token_weight(bag.weights[0, 2]) == pytest.approx(0.109, abs=0.0005)


def test_without_positions_it_no_longer_finds_the_animal(bag: Run) -> None:
    assert looks(bag, "animal") == pytest.approx(0.04, abs=0.005)


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
