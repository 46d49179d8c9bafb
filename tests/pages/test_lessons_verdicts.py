"""Every rule of every lesson, on its step and its variants; numbers worked out another way; and with other weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import pytest
import torch
from torch import Tensor

from headlight.lessons import course
from headlight.lessons.schema import Lesson, LessonStep
from headlight.lessons.verdict import verdict
from headlight.picture import pictures
from headlight.picture.query import Query
from headlight.queue import single_flight
from mha_core import Model, load_model
from mha_core.measure.by_hand import random_entropy
from mha_core.models.block import AttentionBlock
from mha_core.training import inference, tasks
from mha_core.training.tasks import Labelled
from pages.by_hand import real_cell
from tests.closeness import quoted, same_function

from .lesson_variants import holding_choices
from .numbers_shown import in_float64

pytestmark = pytest.mark.numeric

COURSE = course.read_folders((course.SHIPPED,))
STEPS = {f"{lesson.id}.{at}": step for lesson in COURSE.lessons.values() for at, step in enumerate(lesson.steps, 1)}
ANIMAL = "The animal didn't cross the street because it was too tired"
WIDE = ANIMAL.replace("tired", "wide")
IT, CAT = 10, 2  # where "it" and the subject stand
LONG = pytest.mark.thorough("a model that writes, or one pass without each head, is needed for its steps")
OF_LONG = {
    "capital", "copying", "seat", "explanation", "whole", "residual", "mlp", "lens", "sampling", "cache", "pairs",
    "groups", "example",
}  # fmt: skip
each_lesson = pytest.mark.parametrize(
    "lesson",
    [pytest.param(one, id=name, marks=LONG if name in OF_LONG else ()) for name, one in COURSE.lessons.items()],
)


def as_it_opens(step: LessonStep) -> Query:
    return Query(step.query.encode("ascii"))


@pytest.fixture
def precise() -> Iterator[Model]:
    with in_float64() as model:
        yield model


def assert_number(learn: str, at: int, expected: float | Tensor) -> None:
    """Assert that a step's number is this one, both computed in float64."""
    same_function(verdict(STEPS[learn], as_it_opens(STEPS[learn])).numbers[at][1], float(expected))


def cosine(a: Tensor, b: Tensor) -> Tensor:
    return a @ b / (a @ a).sqrt() / (b @ b).sqrt()


def test_every_lesson_is_there_and_whole() -> None:
    assert COURSE.errors == ()
    assert len(COURSE.lessons) >= 14


def test_each_row_behind_a_curtain_is_a_row_of_its_step() -> None:
    """A word that is not there would hide nothing; the browser leaves out the space before it (curtain.js)."""
    for learn, step in STEPS.items():
        words = [word for hidden in step.hidden if hidden.part in ("row", "rows") for word in hidden.words]
        tokens = pictures.tokens(as_it_opens(step).settings()) if words else []
        known = {token.removeprefix("##").lower() for token in tokens}
        for word in words:
            there = word.partition("#")[0].lower() in known or (word.isdecimal() and int(word) < len(tokens))
            assert there or word.removeprefix("-").isdecimal(), (learn, word)


@each_lesson
def test_the_rule_of_each_step_picks_the_answer_that_is_meant(lesson: Lesson) -> None:
    for at, step in enumerate(lesson.steps, 1):
        found = verdict(step, as_it_opens(step))
        assert found.picked == step.answer, at
        text = next(option.text for option in step.choices if option.letter == step.answer)
        assert found.sentence.startswith(f"{step.answer}: {text}")
        assert [label for label, _, _ in found.numbers] == [one.label for one in step.results]
        assert all(math.isfinite(value) and text for _, value, text in found.numbers), at


@pytest.mark.thorough("three hundred other sentences go through the models")
@each_lesson
def test_each_step_holds_in_as_many_variants_as_it_claims(lesson: Lesson) -> None:
    for at, step in enumerate(lesson.steps, 1):
        held = [variant for variant in step.variants if holding_choices(step, variant)[0] == [step.answer]]
        assert len(held) == (step.holds_in if step.variants else 0), at


def test_numbers_of_maps_and_vectors_by_plain_tensors(precise: Model) -> None:
    run, wide = precise.run(ANIMAL), precise.run(WIDE)
    weights, n = run.weights, len(run.tokens)
    assert run.tokens[IT] == "it"
    assert_number("it.1", 1, weights[3, 1, IT, CAT])
    assert_number("it.2", 1, sum(weights[3, 1, row, CAT] for row in range(n)))
    assert_number("it.4", 3, wide.weights[3, 1, IT, 8])
    here, there = (
        precise.run(text).hidden[3, 7] for text in ("she won a prize at the fair", "the rules of the game are fair")
    )
    assert_number("same-word.2", 0, cosine(here, there))
    off = [(1, head) for head in range(12)]
    texts = ("turn to the right at the corner", "you have the right to be silent")
    assert_number("same-word.4", 2, cosine(*(precise.run(text, heads_off=off).hidden[3, 4] for text in texts)))
    for at, of in enumerate((weights[0, 2], weights[0].mean(0))):
        assert_number("heads.4", at, sum(of[row, row - 1] for row in range(1, n)) / (n - 1))
    assert_number("heads.5", 1, (weights[4:] - precise.run(ANIMAL, heads_off=[(3, 1)]).weights[4:]).abs().max())
    sharp, flat = (precise.run(ANIMAL, temperature=t) for t in (0.18, 5.0))
    assert_number("root-of-d.2", 1, sharp.weights[3, 1, IT, CAT])
    assert_number("root-of-d.2", 3, sharp.weights.amax(-1).mean())
    assert_number("root-of-d.5", 1, run.sentence @ flat.sentence)
    assert_number("order.3", 1, precise.run(ANIMAL, position="none").weights[0, 2].diagonal(-1).mean())
    mirrored = ("the dog bit the man", "the man bit the dog", "the cat bit the man")
    dog, mirror, cat = (precise.run(text).sentence for text in mirrored)
    assert_number("order.4", 0, dog @ mirror)
    assert_number("order.4", 1, dog @ cat)
    allow = torch.ones(15, 15, dtype=torch.bool)
    allow[IT, CAT] = False
    assert_number("future.3", 4, precise.run(ANIMAL, mask=allow).weights[3, 1, IT, 0])
    for head, at in ((11, 2), (6, 3)):
        changed = precise.run(ANIMAL, heads_off=[(2, head)]).sentence
        assert_number("explanation.2", at, 1 - cosine(run.sentence, changed))


def test_numbers_of_examples_random_rows_and_a_trained_model_by_pencil() -> None:
    def shares(scores: list[float]) -> list[float]:
        exps = [math.exp(score) for score in scores]
        return [one / sum(exps) for one in exps]

    for at, weight in zip((1, 3, 5), shares([0.5, 2, 0.4]), strict=True):
        assert_number("query-key-value.3", at, weight)
    products = [1.1 * a + 1.2 * b for a, b in ((1.1, 1.2), (2.1, 2.2), (3.1, 3.2))]
    assert_number("query-key-value.4", 2, shares(products)[2])
    assert_number("query-key-value.5", 1, shares([one / math.sqrt(2) for one in products])[2])
    for at, (width, scaled) in enumerate([(2, False), (512, False), (512, True)]):  # as By hand draws them
        assert width in real_cell.WIDTHS
        rows = {"draws": real_cell.DRAWS, "seed": real_cell.SEED}
        assert_number("root-of-d.1", at, random_entropy(width, real_cell.KEYS, scaled=scaled, **rows))
    trained, rows_of_who = load_model("assets/trained/who-none-1"), cast(Labelled, tasks.build("who")).test
    right = [int(inference.logits(trained, [row.text])[0].argmax()) == row.label for row in rows_of_who]
    quoted(sum(right) / len(right), f"{verdict(STEPS['order.5'], as_it_opens(STEPS['order.5'])).numbers[0][1]:.4f}")


def test_news_reaches_a_word_after_as_many_layers_as_its_windows_are_away(precise: Model) -> None:
    for learn, width in (("reach.3", 3), ("reach.4", 5)):
        texts = (ANIMAL, ANIMAL.replace("animal", "horse"))
        hidden = [precise.run(text, mask=f"window:{width}").hidden[:, IT] for text in texts]
        apart = [bool((a != b).any()) for a, b in zip(*hidden, strict=True)]
        assert apart.index(True) == math.ceil(8 / (width - 1))
        assert_number(learn, 0, apart.index(True))


@pytest.fixture
def altered(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """MiniLM in float64 whose layer 3 head 1 asks for nothing: all its scores are 0, so every row is even."""
    model = load_model("minilm", "cpu", torch.float64)
    attention = cast(AttentionBlock, model.stack.layers[3]).attention
    weights = attention.save()
    head = torch.arange(32, 64)
    assert weights.q_bias is not None
    q, q_bias = (one.index_fill(0, head, 0.0) for one in (weights.q, weights.q_bias))
    attention.load(replace(weights, q=q, q_bias=q_bias))
    single_flight.clear_caches()
    monkeypatch.setattr(pictures, "model_on", lambda device, name="minilm": model)
    yield model
    single_flight.clear_caches()


def test_other_weights_bring_another_answer(altered: Model) -> None:
    """The right option is found in the numbers: with other weights another one holds, and there is no verdict."""
    same_function(altered.run(ANIMAL).weights[3, 1], torch.full((15, 15), 1 / 15, dtype=torch.float64))
    third = verdict(STEPS["it.3"], as_it_opens(STEPS["it.3"]))
    assert third.picked is None
    assert third.sentence == "Here the numbers give A, the lesson expects C: compare the numbers yourself."
    same_function(third.numbers[0][1], 1 / 15)
    assert third.numbers[0][2] == "0.07"
    columns = verdict(STEPS["it.2"], as_it_opens(STEPS["it.2"]))  # every column sums to 1 now
    assert columns.picked is None
    assert "the numbers give A" in columns.sentence


def test_the_verdict_is_of_what_the_page_shows_now() -> None:
    step = STEPS["heads.1"]
    assert verdict(step, {"at": "0.2", "s": "how are you"}).picked == "A"
    none = verdict(step, {"at": "0.2", "pos": "none"})
    assert none.numbers[0][2] != verdict(step, {}).numbers[0][2]
    twice = replace(step, choices=(step.choices[0], replace(step.choices[0], letter="B")))
    for found, reason in (
        (none, "No choice holds"),
        (verdict(STEPS["it.1"], {"s": "how are you"}), "“it” does not occur in the sentence"),
        (verdict(step, {"s": "how are you " * 1100}), "12,000 characters"),
        (verdict(twice, {"at": "0.2"}), "The rules of A and B all hold"),
    ):
        assert found.picked is None, reason
        assert reason in found.sentence
