"""The rules of the claims on made-up tensors: other weights, another verdict."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from mha_core.errors import HeadlightError
from pages.claims.rules import aspects, chance, layer, maps, order, rounding, softmax, speed
from pages.claims.rules.aspects import Sought
from pages.claims.rules.verdict import Verdict

TOKENS = ["[CLS]", "orange", "is", "favorite", "fruit", "[SEP]"]
ALMOST = 1e-5  # a difference up to which two numbers count as one here


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def told(verdict: Verdict) -> tuple[str, int | None]:
    return verdict.result, verdict.answer


def test_where_a_word_looks_most() -> None:
    there, elsewhere = [0.6, 0.1, 0.0, 0.1, 0.2, 0.0], [0.0, 0.0, 0.5, 0.4, 0.1, 0.0]

    def words(found: int, of: int, looks: list[float] = there) -> Verdict:
        """So many heads look there, the others elsewhere; of three other words the wanted two are one pair of three."""
        weights = torch.zeros(1, of, 6, 6)
        weights[0, :, 1] = torch.tensor([looks] * found + [elsewhere] * (of - found))
        return maps.looks_most_at(weights, TOKENS, "orange", ("favorite", "fruit"), ALMOST)

    assert told(words(8, 8)) == ("holds", 2)
    assert told(words(44, 90)) == ("depends", 1)
    assert told(words(32, 90)) == ("does not hold", 0)  # chance alone gives 30
    assert told(words(3, 3)) == ("does not hold", 0)  # three of three are one in 27 by chance
    assert told(words(0, 8)) == ("does not hold", 0)
    assert "in 32 of 90 heads. They are one of 3 pairs" in words(32, 90).said
    assert "would give 30 on average" in words(32, 90).said
    assert "it may well be chance" in words(32, 90).said
    assert "it may well be chance" not in words(44, 90).said
    assert "among all tokens 0 (chance: 0.5)" in words(8, 8).said
    tied = [0.0, 0.0, 0.3, 0.3 * (1 + ALMOST / 2), 0.4, 0.0]  # larger by no more than rounding
    assert "in 0 of 8 heads" in words(8, 8, tied).said
    with pytest.raises(HeadlightError, match="sun"):
        maps.looks_most_at(torch.ones(1, 1, 2, 2), ["a", "b"], "sun", ("a", "b"), ALMOST)


def test_chance_is_that_of_a_binomial() -> None:
    wanted = sum(math.comb(72, k) * 5 ** (72 - k) for k in range(16, 73)) / 6**72
    assert chance.at_least(16, [1 / 6] * 72) == pytest.approx(wanted)
    assert chance.at_least(0, [0.3, 0.6]) == 1
    assert chance.at_least(1, [0.3, 0.6]) == pytest.approx(1 - 0.7 * 0.4)
    assert chance.at_least(2, [0.3, 0.6]) == pytest.approx(0.3 * 0.6)
    assert chance.of_the_best(2, [0.3, 0.6], 5) == pytest.approx(1 - 0.82**5)


def test_rounding_grows_with_the_sums() -> None:
    """Far more than a sum is off by, far less than what is called a difference."""
    x = draw(64, 4096)
    off = (x.sum(dim=-1) - x.double().sum(dim=-1)).abs() / x.double().abs().sum(dim=-1)
    assert float(off.max()) < rounding.of_sums(4096) < 1e-4
    assert rounding.of_sums(16, 16) == pytest.approx(2 * rounding.of_sums(16))
    assert rounding.of_sums(64) == pytest.approx(2 * rounding.of_sums(16))
    assert rounding.of_model(6, 20, 384, 32, 1536) > rounding.of_attention(20, 384, 32) > rounding.of_softmax(20, 32)


def test_heads_that_look_for_something() -> None:
    def rows(found: int, of: int = 12, *, fixed: bool = False) -> list[Sought]:
        """A head of two that finds so many; the goals stand at several distances, or all at one."""
        goals = [2] * of if fixed else [2 + at % 5 for at in range(of)]
        made = []
        for at, goal in enumerate(goals):
            row = torch.full((2, 10), 0.05)
            row[1, goal if at < found else 8] = 0.6
            made.append(Sought(row, 1, goal))
        return made

    assert told(aspects.heads_find({"a": rows(12), "b": rows(11)}, ALMOST)) == ("holds", 0)
    assert told(aspects.heads_find({"a": rows(12), "b": rows(4)}, ALMOST)) == ("depends", 1)  # 4 of 12 are chance
    assert told(aspects.heads_find({"a": rows(12, fixed=True)}, ALMOST)) == ("does not hold", 2)  # as a distance does
    assert told(aspects.heads_find({"a": rows(2, of=2)}, ALMOST)) == ("does not hold", 2)  # too few to tell
    assert "a: 12 of 12 (a fixed distance: 3;" in aspects.heads_find({"a": rows(12)}, ALMOST).said


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
    assert told(maps.mean_loses_nothing(weights[:1].expand(3, -1, -1), v, "abcd", ALMOST)) == ("holds", 0)
    assert told(maps.mean_loses_nothing(weights, v, "abcd", ALMOST)) == ("does not hold", 2)


def test_rows_of_a_word_said_twice() -> None:
    apart = draw(1, 2, 3, 3).softmax(-1)
    equal = apart.clone()
    equal[..., 2, :] = equal[..., 0, :]
    cases = {(0, 0): ("depends", 0), (1, 0): ("holds", 1), (0, 1): ("does not hold", 2), (1, 1): ("depends", 3)}
    for (first, second), wanted in cases.items():
        pair = [(equal, apart)[one] for one in (first, second)]
        assert told(maps.same_word_same_row(pair[0], pair[1], [7, 8, 7], ["can", "you", "can"], ALMOST)) == wanted
    with pytest.raises(HeadlightError, match="twice"):
        maps.same_word_same_row(apart, apart, [1, 2, 3], ["a", "b", "c"], ALMOST)


def test_waves_that_move_the_look() -> None:
    here, moved = torch.eye(4).expand(1, 2, 4, 4), torch.eye(4).roll(1, 0).expand(1, 2, 4, 4)
    one = here.clone()
    one[0, 0, 0] = moved[0, 0, 0]
    assert told(maps.waves_move_the_look(here, moved, ALMOST)) == ("holds", 2)
    assert told(maps.waves_move_the_look(here, one, ALMOST)) == ("depends", 1)
    assert told(maps.waves_move_the_look(here, here, ALMOST)) == ("does not hold", 0)
    # a word that stands twice has one weight at both places: the last bit says which of them is larger
    tied, choosing = torch.tensor([[[[0.4, 0.2, 0.4]]]]), torch.tensor([[[[0.3, 0.2, 0.5]]]])
    nearly = tied * torch.tensor([1 + ALMOST / 2, 1, 1])
    for none in (tied, nearly):
        assert told(maps.waves_move_the_look(none, choosing, ALMOST)) == ("does not hold", 0)


def test_symmetric_weights() -> None:
    x, one = draw(3, 4), draw(1, 3, 3).softmax(-1)
    assert told(maps.attention_is_symmetric(x, one + one.mT, one + one.mT, "abc", ALMOST)) == ("holds", 0)
    assert told(maps.attention_is_symmetric(x, one + one.mT, one, "abc", ALMOST)) == ("does not hold", 1)
    assert told(maps.attention_is_symmetric(x, one, one, "abc", ALMOST)) == ("does not hold", 2)


def test_order_that_does_not_matter() -> None:
    here, there = draw(4, 5), draw(4, 5, seed=1)
    assert told(order.order_does_not_matter((here, here + 1e-7), (here, there), ALMOST)) == ("holds", 1)
    assert told(order.order_does_not_matter((here, there), (here, there), ALMOST)) == ("does not hold", 0)


def test_a_classifier_with_positions_and_without() -> None:
    right, half = torch.ones(40, dtype=torch.bool), torch.arange(40) < 20
    hardly = torch.arange(40) < 22  # more, but within the standard error of 40 rows
    assert told(order.positions_are_needed({"who": (half, right)})) == ("holds", 0)
    assert told(order.positions_are_needed({"who": (half, right), "news": (right, half)})) == ("depends", 1)
    assert told(order.positions_are_needed({"news": (right, half), "same": (half, hardly)})) == ("does not hold", 2)


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
    assert told(order.a_mask_hides_padding(alone, alone, alone, 3, ALMOST)) == ("holds", 0)
    assert told(order.a_mask_hides_padding(alone, alone, near, 3, ALMOST)) == ("holds", 1)
    assert told(order.a_mask_hides_padding(alone, other, other, 3, ALMOST)) == ("does not hold", 2)


def test_a_large_number_for_infinity() -> None:
    scores, causal = draw(4, 4), torch.ones(4, 4).tril().bool()
    assert told(softmax.large_number_is_infinity(scores, causal, ALMOST)) == ("holds", 0)
    assert told(softmax.large_number_is_infinity(scores, causal.tril(-1), ALMOST)) == ("depends", 1)
    # scores as low as the number itself: what is forbidden gets a share again
    assert told(softmax.large_number_is_infinity(scores - 1e9, causal, ALMOST)) == ("does not hold", 2)


def test_rows_that_sum_to_one_and_one_that_may_look_at_no_key() -> None:
    scores, causal = draw(2, 4, 4), torch.ones(4, 4).tril().bool()
    weights = scores.softmax(-1)[None]
    some = weights.clone()
    some[0, 0, 0] *= 1.001
    for of, wanted in {weights: ("holds", 0), some: ("does not hold", 1), 2 * weights: ("does not hold", 2)}.items():
        assert told(softmax.rows_sum_to_one(of, scores, causal, ALMOST)) == wanted
    assert "7 of 8 rows sum to 1" in softmax.rows_sum_to_one(some, scores, causal, ALMOST).said
    assert "0 rows may look at no key" in softmax.rows_sum_to_one(weights, scores, causal, ALMOST).said
    verdict = softmax.rows_sum_to_one(weights, scores, causal.tril(-1), ALMOST)
    assert "1 row may look at no key and sums to 0." in verdict.said


def test_weights_that_begin_alike() -> None:
    """An even share of 80 keys is .0125."""
    even, sharp, middle = torch.zeros(3, 80), 1000 * draw(3, 80), torch.zeros(3, 80)
    middle[:, 0] = math.log(79 * 0.4 / 0.6)  # .4 of the row
    assert told(softmax.weights_begin_alike({"a": even, "b": sharp}, 1, "a")) == ("holds", 0)
    assert told(softmax.weights_begin_alike({"a": even, "b": sharp}, 1, "b")) == ("does not hold", 2)
    assert told(softmax.weights_begin_alike({"a": even, "b": middle}, 1, "b")) == ("does not hold", 1)
    said = softmax.weights_begin_alike({"a": even, "b": middle}, 1, "b").said
    assert said.startswith("With a the scores")
    assert "with b the scores" in said
    assert "0.40 on average" in said


def test_gradients_that_are_lost() -> None:
    small, large = draw(64, 8), 1000 * draw(64, 8)
    assert told(softmax.division_keeps_gradients({100: 10 * draw(64, 8) * 3}))[0] == "holds"
    assert told(softmax.division_keeps_gradients({4: small})) == ("does not hold", 0)
    assert told(softmax.division_keeps_gradients({4: small, 10_000: large})) == ("depends", 2)


def test_values_by_their_matrix() -> None:
    x = draw(4, 8)
    assert told(layer.values_are_embeddings(x, x, "abcd", ALMOST)) == ("holds", 0)
    assert told(layer.values_are_embeddings(x, x + 0.8 * draw(4, 8, seed=1), "abcd", ALMOST)) == ("does not hold", 1)
    assert told(layer.values_are_embeddings(x, draw(4, 8, seed=2), "abcd", ALMOST)) == ("does not hold", 2)


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
        assert told(layer.trained_biases_cost_nothing(whole, without, 12, ALMOST)) == wanted


def test_models_that_learn_without_biases() -> None:
    every, most, few = (torch.arange(100) < many for many in (95, 94, 60))
    assert told(layer.learns_without_biases({1: (every, most), 2: (few, every)}, (20, 10))) == ("holds", 0)
    assert told(layer.learns_without_biases({1: (every, most), 2: (every, few)}, (20, 10))) == ("depends", 1)
    assert told(layer.learns_without_biases({1: (every, few)}, (20, 10))) == ("does not hold", 2)
    assert told(layer.learns_without_biases({1: (every, every)}, (20, 20)))[0] == "does not hold"  # none fewer


def test_a_key_bias_that_is_turned() -> None:
    a, b = draw(1, 3, 3), draw(1, 3, 3, seed=1)
    assert told(layer.key_bias_changes_nothing((a, a), (b, b), ALMOST)) == ("holds", 1)
    assert told(layer.key_bias_changes_nothing((a, a), (a, b), ALMOST)) == ("depends", 2)
    assert told(layer.key_bias_changes_nothing((a, b), (a, b), ALMOST)) == ("does not hold", 0)


def test_two_implementations() -> None:
    out, weights = draw(3, 4), draw(2, 3, 3)
    good, less, worse = (torch.arange(100).expand(5, 100) < many for many in (87, 85, 60))

    def judged(other: Tensor, right: Tensor) -> tuple[str, int | None]:
        return told(layer.same_function_same_accuracy((other, out), (weights, weights), ALMOST, (right, good)))

    assert judged(out, good) == judged(out * (1 + ALMOST / 2), less) == ("holds", 0)
    assert judged(out, worse) == ("depends", 0)
    assert judged(out * 1.0005, good) == ("depends", 1)
    assert judged(out + 1, worse) == ("does not hold", 2)


def test_what_a_text_reports() -> None:
    """Above the printed number or below it says nothing; above what rounding may leave does."""
    for draws in ([1e-7, 1.9e-7], [1e-7, 2.1e-7], [0.0, 0.0]):  # as processors differ
        bounded = [(value, 5e-7) for value in draws]
        assert told(layer.rounding_alone(bounded, (3e-7, 5e-7), 1.98e-7)) == ("holds", 0)
    assert told(layer.rounding_alone([(1e-7, 5e-7), (6e-7, 5e-7)], (3e-7, 5e-7), 1.98e-7)) == ("depends", 1)
    assert told(layer.rounding_alone([(1e-7, 5e-7)], (3e-7, 5e-7), 1e-6)) == ("depends", 0)
    assert told(layer.rounding_alone([(1e-2, 5e-7)], (1e-2, 5e-7), 1e-6)) == ("does not hold", 2)


def test_any_number_of_axes() -> None:
    a = draw(2, 3)
    assert told(layer.loops_over_the_other_axes({"(2, 3)": (a, a + 1e-7)}, ALMOST)) == ("holds", 0)
    assert told(layer.loops_over_the_other_axes({"(2, 3)": (a, a * 1.0005)}, ALMOST)) == ("does not hold", 1)
    assert told(layer.loops_over_the_other_axes({"(2, 3)": (a, a), "(3,)": (a[0], a)}, ALMOST)) == ("depends", 2)


def test_times() -> None:
    second, first = torch.tensor([[1.0, 1.1, 1.2, 1.1, 9.0], [2.0, 2.2, 2.1, 2.1, 2.0]]).repeat(1, 3)
    pair = ("naive", "efficient")
    assert told(speed.slower({"a": (first, second)}, pair)) == ("holds", 0)
    assert told(speed.slower({"a": (first, second), "b": (second, first)}, pair)) == ("depends", 1)
    assert told(speed.slower({"b": (second, first)}, pair)) == ("does not hold", 2)
    chance = torch.tensor([0.5, 3.0]).repeat(6)  # no more slow turns than chance gives
    noisy = torch.cat([chance, chance[1:2]]), torch.ones(13)
    for judge in (speed.slower, speed.as_fast):
        assert told(judge({"a": noisy, "b": (first, second)}, pair)) == ("depends", None)
        assert "too unsteady now to tell in a: time it again" in judge({"a": noisy, "b": (first, second)}, pair).said
    assert "unsteady" not in speed.slower({"b": (first, second)}, pair).said
    burdened = torch.linspace(1, 9, 30)  # a machine that slows down: both calls of a turn, by as much
    assert told(speed.slower({"a": (1.3 * burdened, burdened)}, pair)) == ("holds", 0)
    assert told(speed.as_fast({"b": (second, first), "c": (first, first)}, pair)) == ("holds", 0)
    assert told(speed.as_fast({"a": (first, second), "c": (first, first)}, pair)) == ("depends", 1)
    assert told(speed.as_fast({"a": (first, second)}, pair)) == ("does not hold", 2)
