"""The rules of lessons: read into a tree, never run as code; what their signs and functions compute."""

from __future__ import annotations

import math
import random
import re
from pathlib import Path

import pytest
import torch
from torch.autograd import functional

from headlight.lessons import references
from headlight.lessons.evaluate import evaluate, number, truth
from headlight.lessons.grammar import MAX_EXPANDED_LENGTH, MAX_LENGTH, MAX_NODES, RuleError, parse
from headlight.lessons.quantities import scene
from headlight.lessons.quantities.scene import PageScene, page_scene
from headlight.lessons.values import Value
from headlight.picture import pictures
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from mha_core.measure import rounding
from tests.closeness import quoted, same_function

DOCS = Path(__file__).parents[2] / "docs" / "lessons.md"
pytestmark = pytest.mark.numeric
WORDS = ("[CLS]", "the", "cat", "saw", "the", "dog", "n")


class Toy(PageScene):
    """A picture of two layers and three heads, its numbers known; the other picture has twice the weights."""

    W = torch.arange(2 * 3 * 7 * 7, dtype=torch.float64).reshape(2, 3, 7, 7)

    def __init__(self) -> None:
        super().__init__("explore", Query(b""))

    def has(self, name: str) -> bool:
        return name in ("W", "n")

    def tokens(self) -> tuple[str, ...]:
        return WORDS

    def quantity(self, name: str, arguments: list[str | float], *, primed: bool) -> Value:
        assert not arguments
        return Value.from_tensor(self.W * (1 + primed), "l h i j", WORDS) if name == "W" else Value.number(7.0)

    def overlay(self, link: str) -> Toy:
        return Doubled() if link == "t=2" else self

    def ablate(self, layer: int, head: int | None) -> Toy:
        return Doubled() if (layer, head) == (1, 2) else self


class Doubled(Toy):
    """The same with twice the weights on both sides."""

    W = Toy.W * 2


W = Toy.W


def jacobian(scores: torch.Tensor) -> torch.Tensor:
    """Of the softmax of one row, by torch."""
    found: torch.Tensor = functional.jacobian(lambda row: torch.softmax(row, dim=0), scores)  # type: ignore[no-untyped-call]
    return found


def test_expression_values() -> None:
    for rule, value in (
        ("1 + 2 * 3 - 4 / 2", 5), ("-(2 - 5) * 1.5e1", 45), ("|2 - 5| + |-1|", 4), ("|W[0,0,0,1] - W[0,0,0,3]|", 2),
        ("cat + 1", 3), ('the#2 + "the" + "[CLS]" + "the"#2', 9), ("n", 7), ('"n"', 6),
        ("W[1,2,dog,saw]", float(W[1, 2, 5, 3])), ("W'[1,2,dog,saw]", 2 * float(W[1, 2, 5, 3])),
        ("W[1,-1,the#2,-1]", float(W[1, 2, 4, 6])), ("sum(W[0,1,1:3,:cat])", float(W[0, 1, 1:3, :2].sum())),
        ("mean(W)", float(W.mean())), ("max(mean(W, h))", float(W.mean(1).max())),
        ("min(sum(W[0,0], j))", float(W[0, 0].sum(-1).min())), ("std(W[0,0,0])", float(W[0, 0, 0].std(correction=0))),
        ("argmax(W[0,0,cat])", 6), ("argmax(1, 5, 2)", 1), ("max(1, 5, 2)", 5),
        ("count(W > 100)", float((W > 100).sum())), ("first(W[0,0,cat] > 15)", 2),
        ("mean(diag(W[0,0], -1))", float(W[0, 0].diagonal(-1).mean())),
        ("diag(W[0,0], 1)[the#2]", float(W[0, 0, 4, 5])),
        ("cos(W[0,0,cat], W[1,0,cat])", float(torch.cosine_similarity(W[0, 0, 2], W[1, 0, 2], dim=0))),
        ("max(|W - mean(W, h)|)", float((W - W.mean(1, keepdim=True)).abs().max())),
        ("(1 < 2) + (1 < 2) - |(2 < 1)| - -(1 < 2)", 3), ("sqrt(16) + ceil(1.2) + floor(1.8) + abs(-1)", 8),
        ("median(W[0,0,0])", 3), ("median(3, 1, 2, 9)", 2), ("sum(softmax(W[0,0,cat]))", 1),
        ("slope(softmax(W[0,0,cat]) * 0)", float(jacobian(torch.zeros(7, dtype=torch.float64)).norm())),
        ("slope(W[0,0,cat] / 9)", float(jacobian(W[0, 0, 2].double() / 9).norm())), ("apart(W[0] * 3, W[0])", 2),
        ("error(W[0,0] > 9)", math.sqrt(10 / 49 * 39 / 49 / 7)),
        ("luck(16, 72, 1 / 6)", sum(math.comb(72, k) * 5 ** (72 - k) for k in range(16, 73)) / 6**72),
        ("luck(0, 9, .5)", 1), ("rounding_of(16, 16) / rounding_of(16)", 2), ("rounding_of(64) / rounding_of(16)", 2),
        ("rounding_of(4, 9)", rounding.sum_bound(4, 9)), ('with("t=2", W[0,0,0,1])', 2),
        ('with("t=2", W[0,0,0,1]) - W[0,0,0,1]', 1), ("without(1, 2, W[0,0,0,3])", 6),
    ):  # fmt: skip
        same_function(number(parse(rule), Toy()), float(value))


def test_truth_values_of_rules() -> None:
    for rule, holds in (
        ("1 < 2 and not 2 < 1", True), ("1 < 2 and 2 < 1 or 1 == 1", True), ("not (1 < 2 or 2 < 1)", False),
        ("2 <= 2 and 2 >= 2 and 2 != 3", True), ("all(W' == 2 * W) and any(W > 200)", True),
        ("argmax(W[0,0,cat]) == cat", False),
        ("2 < 1 and elephant == 1", False),  # what decides nothing is not asked
        ("isnan(first(W < 0))", True),
        ("first(W < 0) == 0 or first(W < 0) != 0 and first(W < 0) > 3", False),  # no number is not above 3
    ):  # fmt: skip
        assert truth(parse(rule), Toy()) is holds, rule


def test_invalid_rule_gives_one_sentence() -> None:
    for rule, why in (
        ("", "it ends"), ("1 +", "it ends"), ("(1", "“)” is expected, but it ends"), ("1 2", "not “2”"),
        ("W[0", "“]” is expected"), ("a < b < c", "only two values"), ("W.__class__", "character 2 of the rule, “.”"),
        ("x = 1", "“=”"), ("lambda: 1", "“:” is not allowed"), ("the#0", "a whole number from 1"), ("the#", "“#”"),
        ("W[0](1)", "in a rule"), ("W[::2]", "in a rule"), ("mean(*W)", "in a rule"), ("2 ** 3", "“*” is not"),
        ("W[0)", "no opening bracket"), ("(" * 3_000, "400 characters"), ("f'x'", "the end is"), ("`ls`", "“`”"),
        ("1" * (MAX_LENGTH + 1), f"{MAX_LENGTH} characters"),
    ):  # fmt: skip
        with pytest.raises(RuleError, match=r"^[^\n]+$") as error:
            parse(rule, MAX_LENGTH)
        assert why in str(error.value), rule
    for rule, why in (
        ("+".join("1" * MAX_NODES), f"{MAX_NODES} parts"), ("(" * 300 + "1" + ")" * 300, "is not allowed there"),
        ("-" * 3_000 + "1", "parts|levels"),
    ):  # fmt: skip
        with pytest.raises(RuleError, match=why):
            parse(rule, MAX_EXPANDED_LENGTH, MAX_NODES)
    same_function(number(parse("-" * 198 + "1", MAX_LENGTH), Toy()), 1.0)


def test_missing_number_is_explained() -> None:
    for rule, why in (
        ("W", "a single number is needed, not l 2 × h 3 × i 7 × j 7"),
        ("elephant", "“elephant” does not occur in the sentence"), ("the#3", "does not occur 3 times"),
        ("W[0,cat]", "the axis h has no words"), ("W[2,0,0,0]", "the axis l has size 2"),
        ("W[0,0,0,0,0]", "5 indices for 4 axes"), ("W[.5,0,0,0]", "a whole number"),
        ("W[1 / 0,0,0,0]", "a whole number"), ("max(|W[0,0] - W[0,0,1:]|)", "they do not match"),
        ("max(W[0,0,0] - W[0,0,:,0])", "do not match"), ("mean(W[0,0], h)", "there is no axis h"),
        ("mean(W[0,0,2:2])", "at least one number"), ("mean()", "needs an argument"), ("cos(1, 2)", "two vectors"),
        ("sqrt(1, 2)", "takes 1 value"), ("luck(1, 2)", "takes 3 values"), ("luck(3, 2, .5)", "at most"),
        ("apart(W[0,0], W[0,0,1:])", "they do not match"), ("open(1)", "no function open"),
    ):  # fmt: skip
        with pytest.raises(RuleError) as error:
            number(parse(rule), Toy())
        assert why in str(error.value), rule


def test_any_text_raises_only_rule_errors() -> None:
    """Parts of rules in any order, and any characters: a tree, or one sentence."""
    draw = random.Random(0)
    parts = [
        "W", "W'", "H", "cat", "the#2", '"[CLS]"', "1", ".5", "(", ")", "[", "]", ",", ":", "|", "+", "-", "*", "/",
        "<", "==", "and", "or", "not", "mean(", "diag(", "with(", "#", "'", "é", "€", "\0",
    ]  # fmt: skip
    read = 0
    for _ in range(3000):
        text = " ".join(draw.choice(parts) for _ in range(draw.randrange(1, 12)))
        try:
            evaluate(parse(text), Toy())
            read += 1
        except RuleError:
            continue
    assert read > 50


def test_unknown_names_are_found_before_anything_runs() -> None:
    for rule, why in (
        ("weights[0,0] > 1", "“weights” is neither a quantity nor a word"),
        ('with("s=what+you+need", W[0,0,need,you]) > 0', "“need” is a quantity and a word of the sentence"),
        ("Q'[0] > 1", "no quantity “Q”"),
        ("system(1) > 1", "no function “system”"),
        (" + ".join(["without(0, n)"] * 13), "12 pictures"),
    ):
        with pytest.raises(RuleError) as error:
            references.rule(rule, frozenset({"cat"}), {})
        assert why in str(error.value), rule


def test_every_quantity_is_in_the_docs() -> None:
    text = DOCS.read_text("utf-8")
    assert [name for name in scene.NAMES if not re.search(rf"`{name}[`(]", text)] == []


def test_the_names_are_those_of_the_picture() -> None:
    """Of the link's own picture, and primed of the other side of Compare, elsewhere of the untouched model."""
    text = "how are you"
    run, sharp, other = (
        pictures.picture(settings).run
        for settings in (Settings(text), Settings(text, temperature=0.5), Settings("how were you", mask="causal"))
    )
    two = page_scene("compare", {"s": text, "t": "0.5", "s2": "how were you", "mask2": "causal", "pos2": "as trained"})
    one = page_scene("explore", {"s": text, "t": "0.5"})

    def tensor(scene: PageScene, rule: str) -> torch.Tensor:
        return evaluate(parse(rule), scene).tensor

    assert torch.equal(tensor(two, "W"), sharp.weights)
    assert torch.equal(tensor(two, "H"), sharp.hidden)
    assert torch.equal(tensor(two, "W'"), other.weights)
    assert torch.equal(tensor(two, "S'[3:5]"), other.sentence[3:5])
    assert float(tensor(two, "W'[0,0,were,you]")) == float(other.weights[0, 0, 2, 3])
    assert torch.equal(tensor(one, "W'"), run.weights)
    quoted(float(sharp.sentence @ run.sentence), f"{float(tensor(one, 'sim')):.4f}")
    assert torch.equal(tensor(one, 'with("t=1&s=how+were+you&mask=causal", W)'), other.weights)
    without = pictures.model_on("auto").run(text, heads_off=[(1, head) for head in range(12)], temperature=0.5)
    assert torch.equal(tensor(one, "without(1, H)"), without.hidden)
    with pytest.raises(RuleError, match="no head 12 in a layer 0"):
        tensor(one, "without(0, 12, W)")
