"""Every rule of every lesson, on its step and its variants; numbers worked out another way; and with other weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import pytest
import torch
from torch import Tensor

from mha_core import Model, Run, load_model
from mha_core.measure.by_hand import entropy_of_random
from mha_core.models.block import AttentionBlock
from mha_core.training import inference, tasks
from mha_core.training.tasks import Labelled
from pages.by_hand import real_cell
from pages.kit.lessons import course
from pages.kit.lessons.schema import LessonStep
from pages.kit.lessons.variants import picked, second
from pages.kit.lessons.verdict import verdict
from pages.kit.picture import pictures, sharing
from pages.kit.picture.query import Query

pytestmark = pytest.mark.numeric

COURSE = course.of_folders((course.SHIPPED,))
STEPS = {f"{lesson.id}.{at}": step for lesson in COURSE.lessons.values() for at, step in enumerate(lesson.steps, 1)}
ANIMAL = "The animal didn't cross the street because it was too tired"
WIDE = ANIMAL.replace("tired", "wide")
IT, CAT = 10, 2  # where "it" and the subject stand
MIRROR = ("the dog bit the man", "the man bit the dog", "the cat bit the man")
FAIR = ("she won a prize at the fair", "the rules of the game are fair")


def as_it_opens(step: LessonStep) -> Query:
    return Query(step.query.encode("ascii"))


def shown_number(learn: str, at: int) -> float:
    """One of the numbers that a step shows."""
    return verdict(STEPS[learn], as_it_opens(STEPS[learn])).numbers[at][1]


def test_every_lesson_is_there_and_whole() -> None:
    assert COURSE.errors == ()
    numbers = [int(file.name.partition("-")[0]) for file, *_ in COURSE.stamps]
    assert numbers == sorted(set(numbers))
    assert set(range(1, 15)) <= set(numbers)
    for lesson in COURSE.lessons.values():
        assert 3 <= len(lesson.steps) <= 7
        assert lesson.title.endswith("?")
        assert lesson.audiences
        for step in lesson.steps:
            assert step.ask.endswith("?")
            assert step.say.count(". ") == 0, step.say  # one sentence
            assert step.shows


def test_each_row_behind_a_curtain_is_a_row_of_its_step() -> None:
    """A word that is not there would hide nothing; the browser leaves out the space before it (curtain.js)."""
    for learn, step in STEPS.items():
        words = [word for hidden in step.curtain if hidden.part in ("row", "rows") for word in hidden.words]
        tokens = (
            [token.removeprefix("##").lower() for token in pictures.tokens(as_it_opens(step).settings())]
            if words
            else []
        )
        for word in words:
            known = word.partition("#")[0].lower() in tokens or (word.isdecimal() and int(word) < len(tokens))
            assert known or word.removeprefix("-").isdecimal(), (learn, word)


@pytest.mark.parametrize("learn", STEPS)
def test_the_rule_picks_the_answer_that_is_meant(learn: str) -> None:
    step = STEPS[learn]
    found = verdict(step, as_it_opens(step))
    assert found.picked == step.right
    text = next(option.text for option in step.options if option.letter == step.right)
    assert found.sentence.startswith(f"{step.right}: {text}")
    assert [label for label, _, _ in found.numbers] == [one.label for one in step.shows]
    assert all(math.isfinite(value) and text for _, value, text in found.numbers)


@pytest.mark.once  # with other kernels the step itself is judged again, above
@pytest.mark.parametrize("learn", [learn for learn, step in STEPS.items() if step.variants])
def test_it_holds_in_as_many_variants_as_are_claimed(learn: str) -> None:
    step = STEPS[learn]
    held = [variant for variant in step.variants if picked(step, variant)[0] == [step.right]]
    assert len(held) == step.holds_in


def test_a_second_question_says_its_own_words_and_is_judged_by_them() -> None:
    first = STEPS["it.1"]
    again = second(first)
    assert again
    assert "animal" not in again.because + again.query
    assert verdict(again, as_it_opens(again)).picked == first.right
    assert verdict(first, as_it_opens(again)).picked is None, "the first one’s words are not there"
    assert second(replace(first, variants=("t=2",))) is None
    assert second(replace(first, variants=())) is None


@pytest.mark.parametrize("subject", ["dog", "cat", "horse", "child", "man", "woman", "boy", "girl", "bear"])
def test_the_weight_falls_for_every_subject(model: Model, subject: str) -> None:
    """What the note of the first lesson says of its last step, where the rule holds in some variants only."""
    tired, wide = (float(model.run(text.replace("animal", subject)).weights[3, 1, IT, CAT]) for text in (ANIMAL, WIDE))
    assert wide < tired


def test_the_first_lesson(model: Model) -> None:
    run, wide = model.run(ANIMAL), model.run(WIDE)
    assert run.tokens[IT] == "it"
    assert shown_number("it.1", 1) == pytest.approx(float(run.weights[3, 1, IT, CAT]), abs=1e-6)
    assert shown_number("it.2", 1) == pytest.approx(sum(float(row[CAT]) for row in run.weights[3, 1]), abs=1e-5)
    assert shown_number("it.4", 3) == pytest.approx(float(wide.weights[3, 1, IT, 8]), abs=1e-6)


def test_the_same_word(model: Model) -> None:
    here, there = (model.run(text).hidden[:, 7].double() for text in FAIR)
    cosine = float(here[3] @ there[3]) / (float(here[3] @ here[3]) * float(there[3] @ there[3])) ** 0.5
    assert shown_number("same-word.2", 0) == pytest.approx(cosine, abs=1e-6)
    off = [(1, head) for head in range(12)]
    texts = ("turn to the right at the corner", "you have the right to be silent")
    turn, law = (model.run(text, heads_off=off).hidden[3, 4] for text in texts)
    assert shown_number("same-word.4", 2) == pytest.approx(float(torch.cosine_similarity(turn, law, dim=0)), abs=1e-6)


def test_heads(model: Model) -> None:
    run, off = model.run(ANIMAL), model.run(ANIMAL, heads_off=[(3, 1)])
    rows = range(1, len(run.tokens))
    one, mean = (
        sum(float(of[i, i - 1]) for i in rows) / len(rows) for of in (run.weights[0, 2], run.weights[0].mean(0))
    )
    assert shown_number("heads.4", 0) == pytest.approx(one, abs=1e-6)
    assert shown_number("heads.4", 1) == pytest.approx(mean, abs=1e-6)
    assert shown_number("heads.5", 1) == pytest.approx(float((run.weights[4:] - off.weights[4:]).abs().max()), abs=1e-6)


def test_query_key_and_value() -> None:
    """By pencil: the scores of the page, and its words times themselves."""

    def shares(scores: list[float]) -> list[float]:
        exps = [math.exp(score) for score in scores]
        return [one / sum(exps) for one in exps]

    raised = shares([0.5, 2, 0.4])
    for at, weight in zip((1, 3, 5), raised, strict=True):
        assert shown_number("query-key-value.3", at) == pytest.approx(weight, abs=1e-9)
    words = [(1.1, 1.2), (2.1, 2.2), (3.1, 3.2)]
    products = [1.1 * a + 1.2 * b for a, b in words]
    assert shown_number("query-key-value.4", 2) == pytest.approx(shares(products)[2], abs=1e-9)
    assert shown_number("query-key-value.5", 1) == pytest.approx(
        shares([one / math.sqrt(2) for one in products])[2], abs=1e-9
    )


def test_the_root_of_d(model: Model) -> None:
    sharp, flat = (model.run(ANIMAL, temperature=t) for t in (0.18, 5.0))
    assert shown_number("root-of-d.2", 1) == pytest.approx(float(sharp.weights[3, 1, IT, CAT]), abs=1e-6)
    assert shown_number("root-of-d.2", 3) == pytest.approx(float(sharp.weights.max(-1).values.mean()), abs=1e-6)
    plain = model.run(ANIMAL).sentence
    assert shown_number("root-of-d.5", 1) == pytest.approx(float(plain @ flat.sentence), abs=1e-5)


def test_random_rows_are_those_that_by_hand_draws() -> None:
    """The page draws mean entropies over the width; the question is about one of its points."""
    setting = {"draws": real_cell.DRAWS, "seed": real_cell.SEED}
    for at, (width, scaled) in enumerate([(2, False), (512, False), (512, True)]):
        assert width in real_cell.WIDTHS
        drawn = entropy_of_random(width, real_cell.KEYS, scaled=scaled, **setting)
        assert shown_number("root-of-d.1", at) == pytest.approx(drawn, abs=1e-9)


def test_order(model: Model) -> None:
    none = model.run(ANIMAL, position="none")
    assert shown_number("order.3", 1) == pytest.approx(float(none.weights[0, 2].diagonal(-1).mean()), abs=1e-6)
    dog, mirror, cat = (model.run(text).sentence for text in MIRROR)
    assert shown_number("order.4", 0) == pytest.approx(float(dog @ mirror), abs=1e-5)
    assert shown_number("order.4", 1) == pytest.approx(float(dog @ cat), abs=1e-5)
    trained, rows = load_model("assets/trained/who-none-1"), cast(Labelled, tasks.build("who")).test
    right = [int(inference.logits(trained, [row.text])[0].argmax()) == row.label for row in rows]
    assert shown_number("order.5", 0) == pytest.approx(sum(right) / len(right), abs=1e-6)


def test_the_future(model: Model) -> None:
    allow = torch.ones(15, 15, dtype=torch.bool)
    allow[IT, CAT] = False
    before, after = model.run(ANIMAL).weights, model.run(ANIMAL, mask=allow).weights
    assert shown_number("future.3", 4) == pytest.approx(float(after[3, 1, IT, 0]), abs=1e-6)
    kept = before[0, :, IT] * allow[IT]
    assert torch.allclose(after[0, :, IT], kept / kept.sum(-1, keepdim=True), atol=1e-6)


def test_reach(model: Model) -> None:
    """The first layer after which the news is there is the way divided by the steps of a layer, rounded up."""
    here, there = ANIMAL, ANIMAL.replace("animal", "horse")
    for width in (3, 5):
        hidden = [model.run(text, mask=f"window:{width}").hidden[:, IT] for text in (here, there)]
        apart = [bool((a != b).any()) for a, b in zip(*hidden, strict=True)]
        assert shown_number(f"reach.{3 if width == 3 else 4}", 0) == apart.index(True) == math.ceil(8 / (width - 1))


def test_explanation(model: Model) -> None:
    sentence = model.run(ANIMAL).sentence
    for head, at in ((11, 2), (6, 3)):
        moved = 1 - float(torch.cosine_similarity(sentence, model.run(ANIMAL, heads_off=[(2, head)]).sentence, dim=0))
        assert shown_number("explanation.2", at) == pytest.approx(moved, abs=1e-6)


@pytest.fixture
def altered(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """MiniLM whose layer 3 head 1 asks for nothing: all its scores are 0, so every row is even."""
    model = load_model("minilm")
    attention = cast(AttentionBlock, model.encoder.layers[3]).attention
    weights = attention.save()
    head = torch.arange(32, 64)

    def silenced(one: Tensor) -> Tensor:
        return one.index_fill(0, head, 0.0)

    assert weights.q_bias is not None
    attention.load(replace(weights, q=silenced(weights.q), q_bias=silenced(weights.q_bias)))
    sharing.forget()
    monkeypatch.setattr(pictures, "model_on", lambda device, name="minilm": model)
    yield model
    sharing.forget()


def test_other_weights_bring_another_answer(altered: Model) -> None:
    """The right option is found in the numbers: with other weights another one holds, and there is no verdict."""
    run: Run = altered.run(ANIMAL)
    assert torch.allclose(run.weights[3, 1], torch.full((15, 15), 1 / 15), atol=1e-6)
    third = verdict(STEPS["it.3"], as_it_opens(STEPS["it.3"]))
    assert third.picked is None
    assert third.sentence == "Here the numbers say A, and the lesson means C: judge by the numbers themselves."
    assert third.numbers[0][1] == pytest.approx(1 / 15)
    assert third.numbers[0][2] == "0.07"
    second = verdict(STEPS["it.2"], as_it_opens(STEPS["it.2"]))  # every column sums to 1 now
    assert second.picked is None
    assert "the numbers say A" in second.sentence


def test_the_verdict_is_of_what_the_page_shows_now() -> None:
    """A visitor who has changed the sentence or a switch is told of his own picture."""
    step = STEPS["heads.1"]
    assert verdict(step, {"at": "0.2", "s": "how are you"}).picked == "A"
    none = verdict(step, {"at": "0.2", "pos": "none"})
    assert none.picked is None
    assert none.sentence == "Here no answer’s rule holds, so there is no verdict."
    assert none.numbers[0][2] != verdict(step, {}).numbers[0][2]
    other = verdict(STEPS["it.1"], {"s": "how are you"})
    assert other.picked is None
    assert other.sentence == "There is no verdict here: “it” does not stand in the sentence that is shown."
    long = verdict(step, {"s": "how are you " * 1100})
    assert long.picked is None
    assert long.sentence.startswith("There is no verdict here: a sentence may have 12,000 characters")
    twice = replace(step, options=(step.options[0], replace(step.options[0], letter="B")))
    both = verdict(twice, {"at": "0.2"})
    assert both.picked is None
    assert both.sentence == "Here the rules of A and B hold together, so there is no verdict."
