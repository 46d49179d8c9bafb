"""Measures against counting by hand; implementations and transformers against each other."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from mha_core import IMPLEMENTATIONS, Model, Weights, load_model, masks
from mha_core.errors import HeadlightError, SizeError, TooLong, Unsupported
from mha_core.measure import agreement, measures, reference
from mha_core.models import stack

from .conftest import TIRED

pytestmark = pytest.mark.numeric


def test_relative_difference() -> None:
    a, b = torch.tensor([[3.0, 0.0], [0.0, 8.0]]), torch.tensor([[0.0, 0.0], [0.0, 4.0]])
    assert measures.relative_difference(a, b) == pytest.approx(math.hypot(3, 4) / 4)
    assert measures.relative_difference(b, b) == 0
    assert measures.relative_difference(0 * b, 0 * b) == 0
    assert measures.relative_difference(a, 0 * b) == math.inf
    assert measures.relative_difference(a.requires_grad_(), b) > 1


def test_largest_difference() -> None:
    assert measures.largest_difference(torch.tensor([1.0, -2.0]), torch.tensor([1.5, 1.0])) == 3
    assert measures.largest_difference(torch.zeros(0), torch.zeros(0)) == 0


@pytest.mark.parametrize(
    "measure", [measures.relative_difference, measures.largest_difference, measures.cosine, measures.row_distances]
)
def test_two_shapes_raise(measure: object) -> None:
    with pytest.raises(SizeError, match=r"\(2, 1\) and \(2,\)"):
        measure(torch.zeros(2, 1), torch.zeros(2))  # type: ignore[operator]


def test_worst_row_sum() -> None:
    weights = torch.full((2, 3, 4, 5), 0.2)
    assert measures.worst_row_sum(weights) == pytest.approx(1)
    weights[1, 2, 3, 4] = 0.5
    assert measures.worst_row_sum(weights) == pytest.approx(1.3)
    weights[0, 0, 0] = 0
    assert measures.worst_row_sum(weights) == 0


def test_previous_token_weight() -> None:
    weights = torch.tensor([[9.0, 0.0, 0.0], [0.25, 9.0, 0.0], [0.0, 0.75, 9.0]])
    assert measures.previous_token_weight(weights) == 0.5


def test_cosine() -> None:
    a, b = torch.tensor([3.0, 4.0, 0.0]), torch.tensor([0.0, 2.0, 0.0])
    assert measures.cosine(a, a) == pytest.approx(1, abs=1e-6)
    assert measures.cosine(a, -2 * a) == pytest.approx(-1, abs=1e-6)
    assert measures.cosine(a, b) == measures.cosine(b, a) == pytest.approx(0.8, abs=1e-6)


def test_cosine_of_sentences(minilm: Model) -> None:
    run, same, other = (minilm.run(text) for text in (TIRED, TIRED, "orange is my favorite fruit"))
    assert measures.cosine(run.sentence, same.sentence) == pytest.approx(1, abs=1e-6)
    assert measures.cosine(run.sentence, other.sentence) < 0.5


def test_difference_to_transformers(minilm: Model, minilm64: Model) -> None:
    assert reference.difference_to_transformers(minilm, TIRED) <= 1e-5
    assert reference.difference_to_transformers(minilm64, TIRED) <= 1e-12
    assert reference.difference_to_transformers(minilm, TIRED) <= 1e-5  # the float64 copy has not touched this one


def test_difference_to_transformers_is_not_blind(tiny_folder: Path) -> None:
    model = load_model(str(tiny_folder), device="cpu")
    assert reference.difference_to_transformers(model, "a b c") <= 1e-5
    model.encoder.words.weight[4, 0] += 0.5
    assert reference.difference_to_transformers(model, "a b c") > 0.01


def test_without_files_there_is_nothing_to_compare_with(tiny: Model) -> None:
    model = Model("made up", tiny.tokenizer, tiny.encoder, origin="random")
    with pytest.raises(Unsupported, match="'made up' was not read from a folder"):
        reference.difference_to_transformers(model, "a")


def test_row_distances() -> None:
    a = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.0, 0.0, 0.0]])
    b = torch.tensor([[0.0, 0.0, 1.0], [0.5, 0.5, 0.0], [0.3, 0.3, 0.4], [0.2, 0.3, 0.5]])
    assert measures.row_distances(a, b).tolist() == pytest.approx([1, 0, 0.1, 0.5])
    assert torch.equal(measures.row_distances(a, b), measures.row_distances(b, a))


def test_largest_change() -> None:
    a, b = torch.zeros(3, 4), torch.zeros(3, 4)
    assert measures.largest_change(a, b) == measures.Change(0, 0, 0)
    b[2, 1] = 0.25
    assert measures.largest_change(a, b) == measures.Change(2, 1, 0.25)
    a[1, 3] = 0.5
    assert measures.largest_change(a, b) == measures.Change(1, 3, -0.5)


def test_repeated_words() -> None:
    weights = torch.rand(2, 3, 5, 5)
    assert measures.repeated_words(weights, [5, 6, 7, 8, 9]) is None
    found = measures.repeated_words(weights, [5, 6, 7, 6, 6])
    assert found is not None
    assert found.places == (1, 3, 4)
    pairs = [(weights[:, :, one] - weights[:, :, other]).abs().max() for one in (1, 3, 4) for other in (1, 3, 4)]
    assert found.difference == max(pairs)
    weights[:, :, 3] = weights[:, :, 1]
    assert measures.repeated_words(weights, [5, 6, 7, 6, 9]) == measures.Repeated((1, 3), 0)


def test_of_words_whose_rows_are_equal_up_to_rounding_the_first_is_told_on_every_machine() -> None:
    weights = torch.full((1, 1, 4, 4), 0.25)
    weights[..., 3, 0] += 6e-8
    found = measures.repeated_words(weights, [5, 6, 5, 6])
    assert found == measures.Repeated((0, 2), 0)
    weights[..., 3, 0] += 0.01
    found = measures.repeated_words(weights, [5, 6, 5, 6])
    assert found is not None
    assert found.places == (1, 3)


def test_new_places() -> None:
    assert measures.new_places([1, 7, 8, 7, 2], [1, 7, 7, 8, 2]) == [0, 1, 3, 2, 4]
    assert measures.new_places([], []) == []
    for other in ([1, 7, 8, 8, 2], [1, 7, 8, 2], [1, 7, 8, 7, 2, 2]):
        with pytest.raises(HeadlightError, match="keep every word"):
            measures.new_places([1, 7, 8, 7, 2], other)


ORDERS = ("street because the was animal tired cross too it the didn't", "tired too was it because street the cross "
          "didn't animal the")  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
def test_without_positions_and_mask_permuting_words_permutes_outputs(minilm: Model, order: str) -> None:
    def apart(**switches: str) -> float:
        return measures.difference_in_new_order(*(minilm.run(text, **switches) for text in (TIRED, order)))  # type: ignore[arg-type]

    assert apart(position="none") <= 1e-5
    for position in ("trained", "sinusoidal"):
        assert apart(position=position) > 0.1
    for mask in ("causal", "window:3"):
        assert apart(position="none", mask=mask) > 0.1


def test_a_new_order_has_the_same_words(minilm: Model) -> None:
    with pytest.raises(HeadlightError, match="keep every word"):
        measures.difference_in_new_order(minilm.run("how are you"), minilm.run("you how is"))


@pytest.mark.parametrize(
    "switches",
    [
        {},
        {"position": "none", "mask": "causal"},
        {"heads_off": [(0, 1), (1, 2)], "temperature": 0.5},
        {"mask": masks.sinks(1), "position": "sinusoidal"},
    ],
)
def test_ablate_each_head_is_a_run_a_head(tiny: Model, switches: dict[str, Any]) -> None:
    heard: list[float] = []
    found = measures.ablate_each_head(tiny, "a b c d a", on_progress=heard.append, **switches)
    assert found.shape == (2, 3)
    whole = tiny.run("a b c d a", **switches).sentence
    off = switches.get("heads_off", [])
    for layer in range(2):
        for head in range(3):
            run = tiny.run("a b c d a", **{**switches, "heads_off": [*off, (layer, head)]})
            assert float(found[layer, head]) == pytest.approx(measures.cosine(run.sentence, whole), abs=1e-6)
    assert heard == sorted(heard)
    assert heard[-1] == 1


def test_ablate_each_head_of_a_long_text_goes_in_parts(tiny: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "TOKENS_AT_ONCE", 15)
    text, heard = "a b c d e a b", list[float]()
    cosines = measures.ablate_each_head(tiny, text, on_progress=heard.append)
    assert len(heard) == 6, "three heads of two layers, one at a time"
    run, whole = tiny.run(text, heads_off=[(1, 2)]), tiny.run(text)
    assert float(cosines[1, 2]) == pytest.approx(measures.cosine(run.sentence, whole.sentence), abs=1e-6)
    with pytest.raises(TooLong):
        measures.ablate_each_head(tiny, "a " * 600)


def test_ablate_each_head_can_be_stopped(tiny: Model) -> None:
    def stop(done: float) -> None:
        raise InterruptedError(done)

    with pytest.raises(InterruptedError):
        measures.ablate_each_head(tiny, "a b", on_progress=stop)


@pytest.mark.parametrize(
    ("sizes", "mask", "dtype"),
    [
        ((1, 1, 2, 1), "none", torch.float32),
        ((8, 80, 12, 2), "causal", torch.float32),
        ((2, 33, 48, 6), "window:2", torch.float32),
        ((1, 20, 64, 64), "none", torch.float32),
        ((1, 1, 2, 1), "causal", torch.float64),
        ((8, 80, 12, 2), "none", torch.float64),
        ((2, 33, 48, 6), "causal", torch.float64),
        ((1, 20, 64, 64), "window:2", torch.float64),
    ],
    ids=str,
)
def test_all_implementations_agree(sizes: tuple[int, int, int, int], mask: str, dtype: torch.dtype) -> None:
    b, n, d_model, n_heads = sizes
    x = torch.randn(b, n, d_model)
    allow = masks.allow(masks.parse(mask), n, n)
    found = agreement.agreements(agreement.random_weights(d_model), n_heads, x, allow=allow, dtype=dtype)
    assert found.keys() == IMPLEMENTATIONS.keys()
    assert max(agreement.share for agreement in found.values()) <= 1
    assert dtype == torch.float32 or max(agreement.worst for agreement in found.values()) <= 1e-14
    same = [found["torch"].torch_out, found["torch"].torch_maps]
    if dtype == torch.float64:
        same += [found["efficient"].out, found["efficient"].maps]
    assert {(one.largest, one.relative, one.share) for one in same} == {(0, 0, 0)}


def test_agreement_is_not_blind(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = IMPLEMENTATIONS["einsum"]

    class Wrong(kind):  # type: ignore[misc, valid-type]
        def load(self, weights: Weights) -> Wrong:
            return super().load(replace(weights, v_bias=torch.zeros(12)))  # type: ignore[no-any-return]

    monkeypatch.setitem(IMPLEMENTATIONS, "einsum", Wrong)
    found = agreement.agreements(agreement.random_weights(12), 3, torch.randn(2, 5, 12))
    assert found["einsum"].out.relative > 0.01
    assert found["einsum"].out.largest > 0.01
    assert found["einsum"].maps.relative < 1e-6
    assert found["einsum"].share > 1e3
    assert found["fused"].share < 1


def test_agreement_checks_what_it_is_given() -> None:
    with pytest.raises(SizeError, match="d_model=12 cannot be split into 5"):
        agreement.agreements(agreement.random_weights(12), 5, torch.randn(1, 4, 12))


def test_the_key_bias_has_no_gradient(minilm: Model) -> None:
    layer = minilm.encoder.layers[2].attention
    hidden = minilm.run(TIRED).hidden[2].unsqueeze(0)
    assert agreement.key_bias_gradient(layer.save(), layer.n_heads, hidden) < 1e-6  # type: ignore[operator, union-attr, arg-type]
    weights, x = agreement.random_weights(12), torch.randn(2, 5, 12)
    assert agreement.key_bias_gradient(weights, 3, x, dtype=torch.float64) < 1e-15


def test_random_weights_are_the_same_for_a_seed() -> None:
    one, same, other = (agreement.random_weights(8, seed=seed) for seed in (1, 1, 2))
    for (name, a), (_, b), (_, c) in zip(one.items(), same.items(), other.items(), strict=True):
        assert a is not None
        assert b is not None
        assert c is not None
        assert a.shape == ((8,) if name.endswith("bias") else (8, 8))
        assert torch.equal(a, b)
        assert not torch.equal(a, c)
