"""Questions to models that were trained for a few steps: tables, orders, continuations, maps."""

from __future__ import annotations

from pathlib import Path

import pytest

from headlight.picture import pictures
from headlight.queue import single_flight
from headlight.ui.numbers import share
from headlight.ui.sheet import Block
from mha_core.errors import HeadlightError
from mha_core.training import inference, tasks
from mha_core.training.tasks import Labelled
from pages.train import answers
from pages.train.answers import TrainedModel


def trained(name: str) -> TrainedModel:
    return TrainedModel(name, pictures.model_on("auto", name))


@pytest.fixture(autouse=True)
def _empty_caches() -> None:
    single_flight.clear_caches()


@pytest.fixture
def models(shipped: Path) -> dict[str, TrainedModel]:
    return {name: trained(f"who-{name}-1") for name in ("none", "rotary")}


@pytest.fixture
def task() -> Labelled:
    found = tasks.build("who")
    assert isinstance(found, Labelled)
    return found


def test_answers_are_the_likeliest_classes_and_every_class_has_its_probability(
    models: dict[str, TrainedModel], task: Labelled
) -> None:
    texts = [*task.questions, "", "quite unknown words"]
    block = answers.answers(models, texts, task)
    assert block["head"] == ["text", "none", "rotary"]
    marked = {(i, j): how for i, j, how in block["marks"]}
    truth = {row.text: task.classes[row.label] for row in (*task.train, *task.test)}
    for i, (text, row) in enumerate(zip(texts, block["rows"], strict=True)):
        assert row[0] == text or text == ""
        for j, (cell, one) in enumerate(zip(row[1:], models.values(), strict=True), 1):
            chances = inference.probabilities(one.model, [text])[0]
            best = task.classes[int(chances.argmax())]
            assert cell.startswith(f"{best} {float(chances.max()):.2f}")
            wrong = text in truth and truth[text] != best
            assert cell.endswith("✗") is wrong is (marked.get((i, j)) == "bad")
            assert cell.endswith("✓") is (truth.get(text) == best) is (marked.get((i, j)) == "good")
    (block,) = answers.chances(models, ["the dog chased the cat"])
    assert (block["rows"], block["cols"]) == (list(task.classes), ["none", "rotary"])
    own = inference.probabilities(models["none"].model, ["the dog chased the cat"])[0]
    for line, chance in zip(block["cells"], own, strict=True):
        assert line[0] == f"{float(chance):.3f}"


def test_without_positions_the_order_makes_no_difference(models: dict[str, TrainedModel], task: Labelled) -> None:
    none, rotary = answers.compare_orders(models, *task.questions[:2])
    assert none.startswith("“none”: the logits ")
    assert none.endswith("; it cannot distinguish the two orders.")
    assert "cannot tell" not in rotary
    assert "cannot tell" not in answers.compare_orders(models, "the dog", "the the")[0], "not the same words"
    for sentence in answers.compare_orders(models, "qwertz asdf", "asdf qwertz"):  # words that it does not know
        assert sentence.endswith("the logits are identical; it reads both as the same tokens.")


def test_continuations(shipped: Path) -> None:
    language, text = {"words": trained("words-rotary-1")}, tasks.build("words").questions[0]
    (one,) = answers.continuations(language, text, 5, " ", temperature=0.0, seed=0)
    (block,) = one["blocks"]
    assert (block["given"], len(block["tokens"])) == (text, 5)
    drawn = inference.continuation(language["words"].model, text, 5, temperature=0)
    assert block["tokens"] == [[" ", token, share(chance, 2), round(100 * chance)] for token, chance in drawn]
    for cuts in ({"temperature": 0.0}, {"temperature": 2.0, "top_k": 1}, {"temperature": 2.0, "top_p": 0.0}):
        assert answers.continuations(language, text, 5, " ", seed=9, **cuts) == [one]
    with pytest.raises(HeadlightError, match="empty"):
        answers.continuations(language, "", 5, " ", temperature=0.0)


def maps_of(models: dict[str, TrainedModel], text: str, head: str) -> list[Block]:
    (row,) = answers.maps(models, None, text, head)
    return list(row["blocks"])


def test_maps(models: dict[str, TrainedModel]) -> None:
    both = {**models, "words": trained("words-rotary-1")}
    one, other, _ = maps_of(both, "the dog chased the cat", "layer 0 head 2")
    run = models["none"].model.run("the dog chased the cat")
    assert one["rows"] == one["cols"] == run.tokens
    assert (one["cells"][1][2], other["name"]) == (f"{float(run.weights[0, 2, 1, 2]):.2f}".lstrip("0"), "rotary")
    mean = maps_of(models, "the dog", "mean of layer 0")[0]
    weight = float(models["none"].model.run("the dog").weights[0, :, 0, 1].mean())
    assert mean["cells"][0][1] == f"{weight:.2f}".lstrip("0")
    missing, _, of_words = maps_of(both, "the dog", "layer 1 head 0")
    assert (missing["text"], of_words["kind"]) == ("none has no layer 1 head 0.", "matrix")
    assert of_words["cells"][0] == ["1", ""], "the first query sees itself alone"
