from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from mha_core import Model, compare, load_model
from mha_core.errors import SizeError, Unsupported

from .conftest import TIRED


def test_relative_difference() -> None:
    a, b = torch.tensor([[3.0, 0.0], [0.0, 8.0]]), torch.tensor([[0.0, 0.0], [0.0, 4.0]])
    assert compare.relative_difference(a, b) == pytest.approx(math.hypot(3, 4) / 4)
    assert compare.relative_difference(b, b) == 0
    assert compare.relative_difference(0 * b, 0 * b) == 0
    assert compare.relative_difference(a, 0 * b) == math.inf
    assert compare.relative_difference(a.requires_grad_(), b) > 1


def test_largest_difference() -> None:
    assert compare.largest_difference(torch.tensor([1.0, -2.0]), torch.tensor([1.5, 1.0])) == 3
    assert compare.largest_difference(torch.zeros(0), torch.zeros(0)) == 0


@pytest.mark.parametrize("measure", [compare.relative_difference, compare.largest_difference])
def test_two_shapes_raise(measure: object) -> None:
    with pytest.raises(SizeError, match=r"\(2, 1\) and \(2,\)"):
        measure(torch.zeros(2, 1), torch.zeros(2))  # type: ignore[operator]


def test_worst_row_sum() -> None:
    weights = torch.full((2, 3, 4, 5), 0.2)
    assert compare.worst_row_sum(weights) == pytest.approx(1)
    weights[1, 2, 3, 4] = 0.5
    assert compare.worst_row_sum(weights) == pytest.approx(1.3)
    weights[0, 0, 0] = 0
    assert compare.worst_row_sum(weights) == 0


def test_previous_token_weight() -> None:
    weights = torch.tensor([[9.0, 0.0, 0.0], [0.25, 9.0, 0.0], [0.0, 0.75, 9.0]])
    assert compare.previous_token_weight(weights) == 0.5


def test_cosine() -> None:
    a, b = torch.tensor([3.0, 4.0, 0.0]), torch.tensor([0.0, 2.0, 0.0])
    assert compare.cosine(a, a) == pytest.approx(1, abs=1e-6)
    assert compare.cosine(a, -2 * a) == pytest.approx(-1, abs=1e-6)
    assert compare.cosine(a, b) == compare.cosine(b, a) == pytest.approx(0.8, abs=1e-6)
    with pytest.raises(SizeError):
        compare.cosine(a, b[:2])


def test_cosine_of_sentences(minilm: Model) -> None:
    run, same, other = (minilm.run(text) for text in (TIRED, TIRED, "orange is my favorite fruit"))
    assert compare.cosine(run.sentence, same.sentence) == pytest.approx(1, abs=1e-6)
    assert compare.cosine(run.sentence, other.sentence) < 0.5


def test_difference_to_transformers(minilm: Model, minilm64: Model) -> None:
    assert compare.difference_to_transformers(minilm, TIRED) <= 1e-5
    assert compare.difference_to_transformers(minilm64, TIRED) <= 1e-12
    assert compare.difference_to_transformers(minilm, TIRED) <= 1e-5  # the float64 copy has not touched this one


def test_difference_to_transformers_is_not_blind(tiny_folder: Path) -> None:
    model = load_model(str(tiny_folder), device="cpu")
    assert compare.difference_to_transformers(model, "a b c") <= 1e-5
    model.encoder.words.weight[4, 0] += 0.5
    assert compare.difference_to_transformers(model, "a b c") > 0.01


def test_without_files_there_is_nothing_to_compare_with(tiny: Model) -> None:
    model = Model("made up", tiny.tokenizer, tiny.encoder, origin="random")
    with pytest.raises(Unsupported, match="'made up' was not read from a folder"):
        compare.difference_to_transformers(model, "a")
