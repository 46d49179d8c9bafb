"""Questions to models that were trained for a few steps: tables, orders, padding, continuations, maps."""

from __future__ import annotations

from pathlib import Path

import pytest

from mha_core import Model, asking, tasks
from mha_core.errors import HeadlightError
from mha_core.tasks import Labelled
from pages.kit import asks, cached


@pytest.fixture
def models(shipped: Path) -> dict[str, Model]:
    return {name: cached.model_on("cpu", f"who-{name}-1") for name in ("none", "rotary")}


@pytest.fixture
def task() -> Labelled:
    found = tasks.build("who")
    assert isinstance(found, Labelled)
    return found


def test_answers_are_the_likeliest_classes(models: dict[str, Model], task: Labelled) -> None:
    texts = [*task.questions, "", "quite unknown words"]
    block = asks.answers(models, texts, task)
    assert block["head"] == ["text", "none", "rotary"]
    marked = {(i, j) for i, j, _ in block["marks"]}
    truth = {row.text: task.classes[row.label] for row in (*task.train, *task.test)}
    for i, (text, row) in enumerate(zip(texts, block["rows"], strict=True)):
        assert row[0] == text or text == ""
        for j, (cell, model) in enumerate(zip(row[1:], models.values(), strict=True), 1):
            chances = asking.probabilities(model, [text])[0]
            said = task.classes[int(chances.argmax())]
            assert cell.startswith(f"{said} {float(chances.max()):.2f}")
            wrong = text in truth and truth[text] != said
            assert cell.endswith("✗") is wrong is ((i, j) in marked)


def test_every_class_has_its_probability(models: dict[str, Model], task: Labelled) -> None:
    (block,) = asks.chances(models, ["the dog chased the cat"])
    assert block["rows"] == list(task.classes)
    assert block["cols"] == ["none", "rotary"]
    assert sum(float(line[0]) for line in block["cells"]) == pytest.approx(1, abs=0.01)


def test_without_positions_the_order_makes_no_difference(models: dict[str, Model], task: Labelled) -> None:
    none, rotary = asks.both_orders(models, *task.questions[:2])
    assert none.startswith("“none”: the logits ")
    assert none.endswith("; it cannot tell the two orders apart.")
    assert "cannot tell" not in rotary
    assert "cannot tell" not in asks.both_orders(models, "the dog", "the the")[0]  # not the same words
    for said in asks.both_orders(models, "qwertz asdf", "asdf qwertz"):  # words that it does not know
        assert said.endswith("the logits are identical; both are the same tokens to it.")


def test_padding(models: dict[str, Model]) -> None:
    block = asks.beside(models, "the dog", "the dog was called by the cat " * 5)
    for row in block["rows"]:
        assert row[1] == row[2]  # masked, the long text changes nothing
    alone, _, unmasked = (float(cell.split()[-1]) for cell in block["rows"][0][1:])
    model = models["none"]
    chances = asking.probabilities(model, ["the dog", "the dog was called by the cat " * 5], mask_padding=False)
    assert unmasked == pytest.approx(float(chances[0].max()), abs=5e-4)
    assert alone == pytest.approx(float(asking.probabilities(model, ["the dog"]).max()), abs=5e-4)


def test_a_long_text_begins_as_far_as_the_models_take_it(models: dict[str, Model]) -> None:
    longest = models["none"].sizes.max_len
    text = asks.beginning(models, "the dog was called by the cat " * 100)
    assert len(models["none"].tokenize(text)[1]) == longest
    assert asks.beginning(models, "the dog") == "the dog"
    assert asks.beside(models, "the dog", text)["rows"]


def test_continuations(shipped: Path) -> None:
    language = {"words": cached.model_on("cpu", "words-rotary-1")}
    task = tasks.build("words")
    (one,) = asks.continuations(language, task.questions[0], 5, 0.0, 0, " ")
    text = one["blocks"][0]["text"]
    assert text.startswith(f"{task.questions[0]} ▸ ")
    assert len(text.split(" ▸ ")[1].split()) == 5
    assert asks.continuations(language, task.questions[0], 5, 0.0, 9, " ") == [one]  # the likeliest needs no draws
    with pytest.raises(HeadlightError, match="empty"):
        asks.continuations(language, "", 5, 0.0, 0, " ")


def test_maps(models: dict[str, Model], shipped: Path) -> None:
    both = {**models, "words": cached.model_on("cpu", "words-rotary-1")}
    names = asks.head_names(both)
    assert names[:2] == ["mean of layer 0", "layer 0 head 0"]
    assert names[-1] == "layer 1 head 3"
    one, other, _ = asks.maps(both, "the dog chased the cat", "layer 0 head 2")
    run = models["none"].run("the dog chased the cat")
    assert one["rows"] == one["cols"] == run.tokens
    assert one["cells"][1][2] == f"{float(run.weights[0, 2, 1, 2]):.2f}".lstrip("0")
    assert other["name"] == "rotary"
    mean = asks.maps(models, "the dog", "mean of layer 0")[0]
    weight = float(models["none"].run("the dog").weights[0, :, 0, 1].mean())
    assert mean["cells"][0][1] == f"{weight:.2f}".lstrip("0")
    (missing, _, map_of_words) = asks.maps(both, "the dog", "layer 1 head 0")
    assert missing["text"] == "none has no layer 1 head 0."
    assert map_of_words["kind"] == "matrix"
    assert map_of_words["cells"][0] == ["1", ""]  # the first query sees itself alone
