"""The rules of the claims on made-up tensors: other numbers, another verdict, and every answer of every claim."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from pages.claims.page import by_name
from pages.kit.lessons import verdict as judging
from pages.kit.lessons.course import claims
from pages.kit.lessons.quantities.scene import NAMES
from pages.kit.lessons.values import Value
from pages.kit.picture.query import Query

STEPS = {name: step for name, (step, _) in by_name(claims()).items()}
ALMOST = 1e-5  # a difference up to which two numbers count as one here
ORANGE = ("[CLS]", "orange", "is", "my", "favorite", "fruit", "[SEP]")
ANIMAL = ("[CLS]", "the", "animal", "tired", "[SEP]")
CAN = ("can", "you", "can")
LETTERS = {1: "c", 2: "i j", 3: "h i j", 4: "l h i j"}


class Made:
    """A page whose quantities are made up, by name and their arguments: `{"W'": …, "random_products 512": …}`."""

    def __init__(self, tokens: tuple[str, ...], quantities: dict[str, Tensor | float]) -> None:
        self.words, self.quantities = tokens, {"n": 16.0, "model_rounding": ALMOST, **quantities}

    def has(self, name: str) -> bool:
        return name in NAMES

    def tokens(self) -> tuple[str, ...]:
        return self.words

    def quantity(self, name: str, arguments: list[str | float], *, primed: bool) -> Value:
        key = " ".join([name + "'" * primed, *(f"{one:g}" if isinstance(one, float) else one for one in arguments)])
        made = self.quantities[key]
        if not isinstance(made, Tensor):
            return Value.number(float(made))
        letters = "l i c" if name == "H" else "i c" if name in ("value_vectors", "from_behind") else LETTERS[made.dim()]
        return Value.of(made, letters, self.words)

    def changed(self, link: str) -> Made:
        return self


Judge = Callable[[str, tuple[str, ...], dict[str, Any]], judging.Verdict]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """The verdict on a claim where its quantities are these."""

    def verdict_on(name: str, tokens: tuple[str, ...], quantities: dict[str, Any]) -> judging.Verdict:
        monkeypatch.setattr(judging, "scene_of", lambda page, query: Made(tokens, quantities))
        return judging.verdict(STEPS[name], Query(b""))

    return verdict_on


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def share(of: float, rows: int = 100) -> Tensor:
    """So many of the rows are answered rightly."""
    return torch.arange(rows) < round(of * rows)


def test_where_a_word_looks_most(judge: Judge) -> None:
    there, elsewhere = [0.5, 0.1, 0.0, 0.0, 0.1, 0.2, 0.1], [0.0, 0.0, 0.5, 0.3, 0.1, 0.0, 0.1]
    for found, of, *expected in (
        (72, 72, "holds", "C"),
        (44, 90, "depends", "B"),
        (21, 90, "does not hold", "A"),  # chance alone gives 15
        (2, 2, "does not hold", "A"),  # two of two are one in 36 by chance
        (0, 8, "does not hold", "A"),
    ):
        weights = torch.zeros(1, of, 7, 7)
        weights[0, :, 1] = torch.tensor([there] * found + [elsewhere] * (of - found))
        verdict = judge("orange", ORANGE, {"W": weights})
        assert [verdict.result, verdict.picked] == expected
        assert f"in {found} of {of} heads" in verdict.why
        assert "among all tokens 0 " in verdict.why  # [CLS] gets more
        weights[0, :, 1, 2] = weights[0, :, 1, 4:6].amin(-1) / (1 + ALMOST / 2)  # larger by no more than rounding
        assert "in 0 of" in judge("orange", ORANGE, {"W": weights}).why


def test_heads_that_look_for_something(judge: Judge) -> None:
    def kinds(**changed: tuple[float, float, float]) -> tuple[str, str | None]:
        """The best head, a fixed distance and the probability of chance, of each kind; otherwise found."""
        quantities: dict[str, float] = {}
        for kind in ("relationships", "sentiment", "subject"):
            names = (f"{name} {kind}" for name in ("finds_goal", "finds_at_a_distance", "finds_by_luck"))
            quantities |= zip(names, changed.get(kind, (12, 4, 0.001)), strict=True)
        verdict = judge("heads", ANIMAL, quantities)
        return verdict.result, verdict.picked

    assert kinds() == ("holds", "A")
    assert kinds(subject=(4, 3, 0.2)) == kinds(subject=(12, 12, 0.001)) == ("depends", "B")
    assert kinds(subject=(2, 1, 0.5), sentiment=(3, 3, 0.001), relationships=(3, 2, 0.02)) == ("does not hold", "C")


HALF, SAME = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [0.5, 0.5, 0.0]]), torch.eye(3)
TURNED = torch.eye(3).roll(1, 0)
EMPTY = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
NEAR = torch.nn.functional.normalize(torch.tensor([1.0, 0.1]), dim=0)
ALONE, OTHER = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
LONG = draw(4, 5)
TASKS = {
    f"right_answers {task}-{position}-1": share(0.5)
    for task in ("who", "food", "brackets")
    for position in ("none", "sinusoidal")
}
POST, WAVES = "right_answers post-efficient", "right_answers post-efficient-sinusoidal"
FAIR, FAIR_WAVES, SMALL = (
    "right_answers fair-fused",
    "right_answers fair-fused-sinusoidal",
    "right_answers fair-fused-sinusoidal-0.1",
)
HIGH, LOW, HARDLY = (share(of, 200).expand(3, 200) for of in (0.9, 0.8, 0.89))  # hardly: within the standard error
BIASES = {f"taught_answers {seed} {bias}": share(0.95) for seed in (1, 2, 3) for bias in (0, 1)}
FEWER = {"taught_parameters 1": 20.0, "taught_parameters 0": 10.0}
FLAT, SHARP, LARGE = torch.zeros(1, 1, 3, 80), 1e3 * draw(1, 1, 3, 80), 1e3 * draw(64, 8)
MIDDLE = torch.cat([torch.full((1, 1, 3, 1), math.log(79 * 0.4 / 0.6)), torch.zeros(1, 1, 3, 79)], -1) * math.sqrt(6)
DRAWN, DRAWN_BOUND = "drawn_from_torch difference", "drawn_from_torch rounding"
BOUND = {DRAWN_BOUND: torch.full((2,), 5e-7)}
REAL = {"from_torch einsum difference": torch.full((2,), 3e-7), "from_torch einsum rounding": torch.full((2,), 5e-7)}
SEEDS = {
    "right_answers post-naive": HIGH,
    "right_answers post-torch": HIGH,
    "from_torch naive rounding": torch.full((2,), ALMOST),
}
FUNCTION = "from_torch naive difference"


def products(small: Tensor, large: Tensor) -> dict[str, Tensor]:
    return {"random_products 16": small, "random_products 64": small, "random_products 512": large}


# the claim, the words, its quantities, whether it holds, and the answer
CASES: list[Any] = [
    *(("overlap", ANIMAL, {"shared_weight all": torch.full((6,), all_), "shared_weight words": torch.full((6,), words)},
        *then) for all_, words, *then in (
        (0.3, 0.2, "holds", "A"), (0.6, 0.4, "depends", "B"), (0.7, 0.7, "does not hold", "C"))),
    *(("mean", ANIMAL[:3], {"under_mean_map": lost, "W": HALF.expand(1, 2, 3, 3)}, *then) for lost, *then in (
        (1e-8, "holds", "A"), (0.1, "does not hold", "B"), (0.3, "does not hold", "C"))),
    *(("same-word", CAN, {"W": a.expand(1, 2, 3, 3), "W'": b.expand(1, 2, 3, 3)}, *then) for a, b, *then in (
        (HALF, HALF, "depends", "A"), (SAME, HALF, "holds", "B"),
        (HALF, SAME, "does not hold", "C"), (SAME, SAME, "depends", "D"))),
    *(("symmetric", ANIMAL, {"asymmetry x xᵀ": x, "asymmetry scores": s, "asymmetry weights": w,
        "W": torch.rand(1, 1, 5, 5)}, *then) for x, s, w, *then in (
        (0.0, 0.0, 0.0, "holds", "A"), (0.0, 0.0, 1.0, "does not hold", "B"), (0.0, 1.0, 1.0, "does not hold", "C"),
        (1.0, 1.0, 1.0, "does not hold", "D"), (1.0, 0.0, 1.0, "depends", None))),
    *(("order", ANIMAL[:4], {"H": LONG[None], "H'": LONG[None], "from_behind": -LONG, "from_behind'": there}, *then)
        for there, *then in ((LONG + 1e-7, "holds", "B"), (draw(4, 5, seed=1), "does not hold", "A"))),
    *(("news", ANIMAL, dict(zip((POST, WAVES, FAIR, FAIR_WAVES, SMALL), of, strict=True)), *then) for *of, then in (
        (HIGH, LOW, HIGH, LOW, LOW, ("holds", "A")), (HIGH, LOW, HIGH, LOW, HARDLY, ("depends", "B")),
        (LOW, HIGH, HIGH, HARDLY, HIGH, ("does not hold", "C")))),
    ("positions", ANIMAL, {**TASKS, POST: LOW, WAVES: HIGH}, "depends", "B"),
    ("positions", ANIMAL, {**TASKS, POST: HARDLY, WAVES: HIGH}, "does not hold", "C"),
    ("positions", ANIMAL, {**{task: share(1 if "sinusoidal" in task else 0.5) for task in TASKS}, POST: LOW,
        WAVES: HIGH}, "holds", "A"),
    *(("waves", CAN, {"W": a.expand(1, 2, 3, 3), "W'": b}, *then) for a, b, *then in (
        (SAME, TURNED.expand(1, 2, 3, 3), "holds", "C"), (SAME, SAME.expand(1, 2, 3, 3), "does not hold", "A"),
        (SAME, torch.stack([SAME, TURNED[[0, 1, 1]]])[None], "depends", "C"),
        (SAME, torch.stack([SAME, SAME[[0, 1, 1]]])[None], "depends", "B"),
        # a word that stands twice has one weight at both places: the last bit says which of them is larger
        *((torch.tensor([0.4, 0.2, last]).expand(3, 3), torch.tensor([0.3, 0.2, 0.5]).expand(1, 2, 3, 3),
            "does not hold", "A") for last in (0.4, 0.4 / (1 + ALMOST / 2))))),
    *(("padding", ANIMAL, {"in_batch alone": ALONE, "in_batch masked": kept, "in_batch not masked": lost}, *then)
        for kept, lost, *then in ((ALONE, ALONE, "holds", "A"), (ALONE, NEAR, "holds", "B"),
            (OTHER, OTHER, "does not hold", "C"), (NEAR, ALONE, "does not hold", "C"))),
    *(("root-d", ANIMAL, products(*drawn), *then) for drawn, *then in (
        ((30 * draw(64, 8), LARGE), "holds", "C"), ((0.1 * draw(64, 8), 0.1 * draw(64, 8)), "does not hold", "A"),
        ((0.1 * draw(64, 8), torch.cat([LARGE, 0.1 * draw(192, 8)])), "depends", "B"))),
    *(("amplitude", ANIMAL, {"first_products matrices": of, "first_products vectors": FLAT}, *then) for of, *then in (
        (FLAT, "holds", "A"), (MIDDLE, "does not hold", "B"), (SHARP, "does not hold", "C"))),
    *(("minus-1e9", ("a", "b"), {"masked_weights ours": EMPTY, "masked_weights -1e9": of}, *then) for of, *then in (
        (EMPTY, "holds", "A"), (EMPTY + torch.tensor([[0.5, 0.5], [0, 0]]), "depends", "B"),
        (torch.full((2, 2), 0.5), "does not hold", "C"))),
    *(("row-sum", CAN, {"W'": of.expand(4, 2, 3, 3), "W": torch.tril(HALF, -1).expand(4, 2, 3, 3)}, *then)
        for of, *then in ((HALF, "holds", "A"), (HALF * torch.tensor([[1], [1], [1.001]]), "does not hold", "B"),
            (2 * HALF, "does not hold", "C"))),
    *(("values", ANIMAL[:4], {"H": LONG[None], "value_vectors": v}, *then) for v, *then in (
        (LONG, "holds", "A"), (LONG * 2, "does not hold", "A"), (LONG + 0.8 * draw(4, 5, seed=1), "does not hold", "B"),
        (draw(4, 5, seed=2), "does not hold", "C"))),
    ("biases", ANIMAL, {**BIASES, **FEWER, "taught_answers 2 0": share(0.94)}, "holds", "A"),
    ("biases", ANIMAL, {**BIASES, **FEWER, "taught_answers 2 0": share(0.6)}, "depends", "B"),
    ("biases", ANIMAL, {**{name: share(0.95 if name.endswith("1") else 0.6) for name in BIASES}, **FEWER},
        "does not hold", "C"),
    ("biases", ANIMAL, {**BIASES, **FEWER, "taught_parameters 0": 20.0}, "does not hold", "A"),  # none fewer
    *(("trained-biases", ANIMAL, {f"without_bias {one}": torch.tensor([0.0, one not in free])
        for one in ("query", "key", "value")}, *then) for free, *then in (
        (("query", "key", "value"), "holds", "A"), (("query",), "depends", "B"), (("key",), "depends", "C"),
        (("value",), "depends", None), ((), "does not hold", "D"))),
    *(("key-bias", ANIMAL, {"key_bias added": a, "key_bias rotary": b}, *then) for a, b, *then in (
        (0.0, 0.0, "holds", "B"), (0.0, 1.0, "depends", "C"), (1.0, 1.0, "does not hold", "A"))),
    *(("one-function", ANIMAL, {**SEEDS, FUNCTION: torch.full((2,), apart), "right_answers post-naive": naive}, *then)
        for apart, naive, *then in ((ALMOST / 2, HIGH, "holds", "A"), (0.0, HARDLY, "holds", "A"),
            (0.0, LOW, "depends", "A"), (5e-4, HIGH, "depends", "B"), (1.0, LOW, "does not hold", "C"))),
    # above the printed number or below it says nothing; above what rounding may leave does
    *(("torch", ANIMAL, {**BOUND, **REAL, DRAWN: torch.tensor(drawn)}, *then) for drawn, *then in (
        ([1e-7, 1.9e-7], "holds", "A"), ([1e-7, 2.1e-7], "holds", "A"), ([0.0, 0.0], "holds", "A"),
        ([1e-7, 6e-7], "depends", "B"), ([1e-2, 1e-2], "depends", "C"))),
    ("torch", ANIMAL, {**REAL, DRAWN: torch.zeros(2), DRAWN_BOUND: torch.full((2,), 1e-7)}, "depends", "A"),
    ("torch", ANIMAL, {DRAWN: torch.ones(2), DRAWN_BOUND: torch.full((2,), 1e-7),
        **dict.fromkeys(REAL, torch.ones(2)), "from_torch einsum rounding": torch.zeros(2)}, "does not hold", "C"),
    *(("axes", ANIMAL, {"by_loops": torch.tensor(apart)}, *then) for apart, *then in (
        ([1e-8, 0, 0, 0], "holds", "A"), ([5e-4] * 4, "does not hold", "B"), ([0, 0, 0, 5e-4], "depends", "B"),
        ([0, 0, 0, math.inf], "depends", "C"))),
]  # fmt: skip


STEADY = torch.tensor([1.0, 1.1, 1.2, 1.1, 9.0] * 3) / torch.tensor([2.0, 2.2, 2.1, 2.1, 2.0] * 3)
SLOW, ALIKE, UNSTEADY = 1 / STEADY, torch.ones(15), torch.tensor([0.5, 3.0] * 6 + [3.0])  # unsteady: as chance gives


def test_other_numbers_bring_another_verdict_and_some_bring_each_answer(judge: Judge) -> None:
    for name, tokens, made, *expected in CASES:
        verdict = judge(name, tokens, made)
        assert [verdict.result, verdict.picked] == expected, (name, made)
    given = {(name, answer) for name, *_, answer in CASES}
    for name in STEPS.keys() - {"orange", "heads", "naive", "fastest", "einsum"}:  # these have tests of their own
        assert {(name, option.letter) for option in STEPS[name].options} <= given


def test_times(judge: Judge) -> None:
    for short, long, slower, as_fast in (
        (SLOW, SLOW, ("holds", "A"), ("does not hold", "C")),
        (SLOW, ALIKE, ("depends", "B"), ("depends", "B")),
        (STEADY, ALIKE, ("does not hold", "C"), ("holds", "A")),
        (UNSTEADY, SLOW, ("depends", None), ("depends", None)),
        (UNSTEADY, UNSTEADY, ("depends", None), ("depends", None)),
        (SLOW[:4], SLOW[:4], ("holds", "A"), ("does not hold", "C")),
    ):
        for name, pair in {"naive": "naive efficient", "fastest": "naive torch", "einsum": "einsum efficient"}.items():
            turns = {f"time_ratios {pair} 64 tokens": short, f"time_ratios {pair} training": long}
            verdict = judge(name, ANIMAL, turns)
            assert (verdict.result, verdict.picked) == (as_fast if name == "einsum" else slower), (name, short, long)
