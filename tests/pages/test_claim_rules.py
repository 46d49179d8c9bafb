"""The rules of the claims on made-up tensors: other weights, another verdict."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from mha_core.errors import HeadlightError
from pages.claims.rules import layer, maps, order, softmax, speed
from pages.claims.rules.verdict import Verdict

TOKENS = ["[CLS]", "orange", "is", "favorite", "fruit", "[SEP]"]


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def told(verdict: Verdict) -> tuple[str, int | None]:
    return verdict.result, verdict.answer


def test_where_a_word_looks_most() -> None:
    def words(*rows: list[float]) -> Verdict:
        weights = torch.zeros(1, len(rows), 6, 6)
        weights[0, :, 1] = torch.tensor(rows)
        return maps.looks_most_at(weights, TOKENS, "orange", ("favorite", "fruit"))

    there, elsewhere = [0.6, 0.1, 0.0, 0.1, 0.2, 0.0], [0.0, 0.0, 0.5, 0.4, 0.1, 0.0]
    assert told(words(there, there)) == ("holds", 2)
    assert told(words(there, elsewhere, elsewhere)) == ("depends", 1)
    assert told(words(elsewhere)) == ("does not hold", 0)
    assert "among all tokens in 0" in words(there).said
    with pytest.raises(HeadlightError, match="sun"):
        maps.looks_most_at(torch.ones(1, 1, 2, 2), ["a", "b"], "sun", ("a", "b"))


def test_heads_that_differ() -> None:
    one, other = torch.full((2, 5, 5), 0.01), torch.full((2, 5, 5), 0.01)
    one[:, 1:-1, 1:-1] += torch.eye(3)
    other[:, 1:-1, 1:-1] += torch.stack([torch.eye(3), torch.eye(3).roll(1, 0)])
    ends = other.clone()
    ends[..., 0] += 20  # both heads look at the first token most, and at other words besides
    same, apart, at_ends = ((of / of.sum(-1, keepdim=True))[None] for of in (one, other, ends))
    assert told(maps.heads_differ(apart)) == ("holds", 1)
    assert told(maps.heads_differ(at_ends)) == ("depends", 2)
    assert told(maps.heads_differ(same)) == ("does not hold", 2)


def test_the_mean_of_equal_heads_loses_nothing() -> None:
    weights, v = (5 * draw(3, 4, 4)).softmax(-1), draw(3, 4, 2, seed=1)
    assert told(maps.mean_loses_nothing(weights[:1].expand(3, -1, -1), v, "abcd")) == ("holds", 0)
    assert told(maps.mean_loses_nothing(weights, v, "abcd")) == ("does not hold", 2)


def test_rows_of_a_word_said_twice() -> None:
    apart = draw(1, 2, 3, 3).softmax(-1)
    equal = apart.clone()
    equal[..., 2, :] = equal[..., 0, :]
    cases = {(0, 0): ("holds", 0), (1, 0): ("depends", 1), (0, 1): ("depends", 2), (1, 1): ("does not hold", 3)}
    for (first, second), wanted in cases.items():
        pair = [(equal, apart)[one] for one in (first, second)]
        assert told(maps.same_word_same_row(pair[0], pair[1], [7, 8, 7], ["can", "you", "can"])) == wanted
    with pytest.raises(HeadlightError, match="twice"):
        maps.same_word_same_row(apart, apart, [1, 2, 3], ["a", "b", "c"])


def test_waves_that_move_the_look() -> None:
    here, moved = torch.eye(4).expand(1, 2, 4, 4), torch.eye(4).roll(1, 0).expand(1, 2, 4, 4)
    one = here.clone()
    one[0, 0, 0] = moved[0, 0, 0]
    assert told(maps.waves_move_the_look(here, moved)) == ("holds", 2)
    assert told(maps.waves_move_the_look(here, one)) == ("depends", 1)
    assert told(maps.waves_move_the_look(here, here)) == ("does not hold", 0)


def test_symmetric_weights() -> None:
    x, one = draw(3, 4), draw(1, 3, 3).softmax(-1)
    assert told(maps.attention_is_symmetric(x, one + one.mT, one + one.mT, "abc")) == ("holds", 0)
    assert told(maps.attention_is_symmetric(x, one + one.mT, one, "abc")) == ("does not hold", 1)
    assert told(maps.attention_is_symmetric(x, one, one, "abc")) == ("does not hold", 2)


def test_order_that_does_not_matter() -> None:
    here, there = draw(4, 5), draw(4, 5, seed=1)
    assert told(order.order_does_not_matter((here, here + 1e-7), (here, there))) == ("holds", 1)
    assert told(order.order_does_not_matter((here, there), (here, there))) == ("does not hold", 0)


def test_a_classifier_with_positions_and_without() -> None:
    right, half = torch.ones(4, dtype=torch.bool), torch.tensor([True, True, False, False])
    assert told(order.better_without_positions({"news": (right, half)})) == ("holds", 0)
    assert told(order.better_without_positions({"news": (right, half), "who": (half, right)})) == ("depends", 1)
    assert told(order.better_without_positions({"who": (half, right), "same": (half, half)})) == ("does not hold", 2)


def test_accuracy_that_positions_cost() -> None:
    high, low = torch.arange(200).expand(3, 200) < 180, torch.arange(200).expand(2, 200) < 160
    near = torch.arange(200).expand(1, 200) < 178  # within the standard error of 200 rows
    assert told(order.positions_cost_accuracy({"a": (high, low)})) == ("holds", 0)
    assert told(order.positions_cost_accuracy({"a": (high, low), "b": (high, near)})) == ("depends", 1)
    assert told(order.positions_cost_accuracy({"a": (low, high), "b": (high, near)})) == ("does not hold", 2)
    assert "6 recorded runs" in order.positions_cost_accuracy({"a": (high, low), "b": (high, near)}).said


def test_padding_that_is_looked_at() -> None:
    alone, other = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
    near = torch.nn.functional.normalize(torch.tensor([1.0, 0.1]), dim=0)
    assert told(order.padding_does_no_harm(alone, alone, alone, 3)) == ("holds", 0)
    assert told(order.padding_does_no_harm(alone, alone, near, 3)) == ("does not hold", 1)
    assert told(order.padding_does_no_harm(alone, alone, other, 3)) == ("does not hold", 2)


def test_a_large_number_for_infinity() -> None:
    scores, causal = draw(4, 4), torch.ones(4, 4).tril().bool()
    assert told(softmax.large_number_is_infinity(scores, causal)) == ("holds", 0)
    assert told(softmax.large_number_is_infinity(scores, causal.tril(-1))) == ("depends", 1)
    # scores as low as the number itself: what is forbidden gets a share again
    assert told(softmax.large_number_is_infinity(scores - 1e9, causal)) == ("does not hold", 2)


def test_rows_with_nothing_allowed_sum_to_zero() -> None:
    scores, causal = draw(2, 4, 4), torch.ones(4, 4).tril().bool()
    assert told(softmax.rows_sum_to_one(scores, causal)) == ("holds", 0)
    assert told(softmax.rows_sum_to_one(scores, causal.tril(-1))) == ("depends", 1)
    assert told(softmax.rows_sum_to_one(scores * math.nan, causal)) == ("does not hold", 2)


def test_gradients_that_are_lost() -> None:
    small, large = draw(64, 8), 1000 * draw(64, 8)
    assert told(softmax.division_keeps_gradients({100: 10 * draw(64, 8) * 3}))[0] == "holds"
    assert told(softmax.division_keeps_gradients({4: small})) == ("does not hold", 0)
    assert told(softmax.division_keeps_gradients({4: small, 10_000: large})) == ("depends", 2)


def test_values_by_their_matrix() -> None:
    x = draw(4, 8)
    assert told(layer.values_are_embeddings(x, x, "abcd")) == ("holds", 0)
    assert told(layer.values_are_embeddings(x, x + 0.8 * draw(4, 8, seed=1), "abcd")) == ("does not hold", 1)
    assert told(layer.values_are_embeddings(x, draw(4, 8, seed=2), "abcd")) == ("does not hold", 2)


def test_biases_by_what_they_change() -> None:
    whole, other = [draw(3, 4)], [draw(3, 4, seed=1)]
    for free, wanted in {
        ("query", "key", "value"): ("holds", 0),
        ("query",): ("depends", 1),
        ("key",): ("depends", 2),
        ("value",): ("depends", None),
        (): ("does not hold", 3),
    }.items():
        without = {name: whole if name in free else other for name in ("query", "key", "value")}
        assert told(layer.biases_cost_nothing(whole, without, 12)) == wanted


def test_a_key_bias_that_is_turned() -> None:
    a, b = draw(1, 3, 3), draw(1, 3, 3, seed=1)
    assert told(layer.key_bias_changes_nothing((a, a), (b, b))) == ("holds", 1)
    assert told(layer.key_bias_changes_nothing((a, a), (a, b))) == ("depends", 2)
    assert told(layer.key_bias_changes_nothing((a, b), (a, b))) == ("does not hold", 0)


def test_two_implementations() -> None:
    out, weights = draw(3, 4), draw(2, 3, 3)
    assert told(layer.one_function((out, out), (weights, weights), 5e-7)) == ("holds", 0)
    assert told(layer.one_function((out * (1 + 3e-7), out), (weights, weights), 5e-7)) == ("holds", 1)
    assert told(layer.one_function((out + 0.1, out), (weights, weights), 5e-7)) == ("does not hold", 2)


def test_what_a_text_reports() -> None:
    assert told(layer.within_what_was_said([1e-7, 2e-7], 1e-7, 2e-7)) == ("holds", 0)
    assert told(layer.within_what_was_said([1e-7, 3e-7], 1e-7, 2e-7)) == ("depends", 1)
    assert told(layer.within_what_was_said([1e-7, 2e-7], 4e-7, 2e-7)) == ("depends", 0)
    assert told(layer.within_what_was_said([3e-7, 3e-7], 4e-7, 2e-7)) == ("does not hold", 2)


def test_any_number_of_axes() -> None:
    a = draw(2, 3)
    assert told(layer.any_axes({"(2, 3)": (a, a)})) == ("holds", 0)
    assert told(layer.any_axes({"(2, 3)": (a, a + 1e-6)})) == ("holds", 1)
    assert told(layer.any_axes({"(2, 3)": (a, a), "(3,)": (a[0], a)})) == ("depends", 2)


def test_times() -> None:
    second, first = torch.tensor([1.0, 1.1, 1.2, 1.1, 9.0]), torch.tensor([2.0, 2.2, 2.1, 2.1, 2.0])
    pair = ("naive", "efficient")
    assert told(speed.slower({"a": (first, second)}, pair)) == ("holds", 0)
    assert told(speed.slower({"a": (first, second), "b": (second, first)}, pair)) == ("depends", 1)
    assert told(speed.slower({"b": (second, first)}, pair)) == ("does not hold", 2)
    noisy = torch.tensor([1.0, 1.1, 2.3, 2.4, 2.5])  # a median twice as large, and fast calls among them
    assert told(speed.slower({"a": (noisy, second)}, pair)) == ("does not hold", 2)
    assert told(speed.as_fast({"b": (second, first), "c": (first, first)}, pair)) == ("holds", 0)
    assert told(speed.as_fast({"a": (first, second), "c": (first, first)}, pair)) == ("depends", 1)
    assert told(speed.as_fast({"a": (first, second)}, pair)) == ("does not hold", 2)
