from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from mha_core import IMPLEMENTATIONS, Model, Weights, compare, load_model, masks
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("mask", ["none", "causal", "window:2"])
@pytest.mark.parametrize("sizes", [(1, 1, 2, 1), (8, 80, 12, 2), (2, 33, 48, 6), (1, 20, 64, 64)])
def test_all_implementations_agree(sizes: tuple[int, int, int, int], mask: str, dtype: torch.dtype) -> None:
    b, n, d_model, n_heads = sizes
    x = torch.randn(b, n, d_model)
    allow = masks.allow(masks.parse(mask), n, n)
    found = compare.agreements(compare.random_weights(d_model), n_heads, x, allow=allow, dtype=dtype)
    assert found.keys() == IMPLEMENTATIONS.keys()
    bound = compare.bound(found, dtype)
    assert compare.BOUNDS[dtype] <= bound <= 4 * compare.BOUNDS[dtype]
    assert max(agreement.worst for agreement in found.values()) <= bound
    assert found["torch"].torch_out == found["torch"].torch_maps == compare.Difference(0, 0)
    if dtype == torch.float64:
        assert found["efficient"].out == found["efficient"].maps == compare.Difference(0, 0)


@pytest.mark.parametrize("out_bias", [True, False])
def test_agreement_without_biases(out_bias: bool) -> None:
    every = compare.random_weights(12)
    weights = Weights(every.q, every.k, every.v, every.o, o_bias=every.o_bias if out_bias else None)
    assert compare.key_bias_gradient(weights, 3, torch.randn(1, 5, 12)) == 0
    found = compare.agreements(weights, 3, torch.randn(2, 5, 12), dtype=torch.float64)
    assert max(agreement.worst for agreement in found.values()) <= 1e-14


def test_agreement_is_not_blind(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = IMPLEMENTATIONS["einsum"]

    class Wrong(kind):  # type: ignore[misc, valid-type]
        def load(self, weights: Weights) -> Wrong:
            return super().load(replace(weights, v_bias=torch.zeros(12)))  # type: ignore[no-any-return]

    monkeypatch.setitem(IMPLEMENTATIONS, "einsum", Wrong)
    found = compare.agreements(compare.random_weights(12), 3, torch.randn(2, 5, 12))
    assert found["einsum"].out.relative > 0.01
    assert found["einsum"].out.largest > 0.01
    assert found["einsum"].maps.relative < 1e-6
    assert found["fused"].worst < compare.bound(found, torch.float32)


def test_agreement_checks_what_it_is_given() -> None:
    with pytest.raises(SizeError, match="d_model=12 cannot be split into 5"):
        compare.agreements(compare.random_weights(12), 5, torch.randn(1, 4, 12))


def test_the_key_bias_has_no_gradient(minilm: Model) -> None:
    layer = minilm.encoder.layers[2].attention
    hidden = minilm.run(TIRED).hidden[2].unsqueeze(0)
    assert compare.key_bias_gradient(layer.save(), layer.n_heads, hidden) < 1e-6  # type: ignore[operator, union-attr, arg-type]
    weights, x = compare.random_weights(12), torch.randn(2, 5, 12)
    assert compare.key_bias_gradient(weights, 3, x, dtype=torch.float64) < 1e-15


def test_random_weights_are_the_same_for_a_seed() -> None:
    one, same, other = (compare.random_weights(8, seed=seed) for seed in (1, 1, 2))
    for (name, a), (_, b), (_, c) in zip(one.items(), same.items(), other.items(), strict=True):
        assert a is not None
        assert b is not None
        assert c is not None
        assert a.shape == ((8,) if name.endswith("bias") else (8, 8))
        assert torch.equal(a, b)
        assert not torch.equal(a, c)
