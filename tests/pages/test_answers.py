"""Questions to models that were trained for a few steps: tables, orders, padding, continuations, maps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mha_core.errors import HeadlightError
from mha_core.training import inference, tasks
from mha_core.training.tasks import Labelled
from pages.kit.draw.numbers import share
from pages.kit.picture import pictures, sharing
from pages.train import answers
from pages.train.answers import Trained


def trained(name: str) -> Trained:
    return Trained(name, pictures.model_on("auto", name))


@pytest.fixture(autouse=True)
def _asked_anew() -> None:
    sharing.forget()


@pytest.fixture
def models(shipped: Path) -> dict[str, Trained]:
    return {name: trained(f"who-{name}-1") for name in ("none", "rotary")}


@pytest.fixture
def task() -> Labelled:
    found = tasks.build("who")
    assert isinstance(found, Labelled)
    return found


def test_a_model_is_asked_once(shipped: Path, task: Labelled, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[str] = []

    def noted(name: str) -> None:
        ask = getattr(inference, name)

        def count(*args: Any, **kwargs: Any) -> Any:
            passes.append(name)
            return ask(*args, **kwargs)

        monkeypatch.setattr(inference, name, count)

    for name in ("logits", "continuation"):
        noted(name)

    def ask() -> list[Any]:
        """As a page does, which takes its models from the cache at every run."""
        who = {name: trained(f"who-{name}-1") for name in ("none", "rotary")}
        words = {"words": trained("words-rotary-1")}
        return [
            answers.answers(who, task.questions, task),
            answers.chances(who, task.questions),
            answers.both_orders(who, *task.questions[:2]),
            answers.beside(who, "the dog", "the dog was called"),
            answers.continuations(words, "a b", 3, 0.0, 0, " "),
            answers.maps(who, "the dog", "layer 0 head 1"),
        ]

    first = ask()
    assert set(passes) == {"logits", "continuation"}
    passes.clear()
    assert ask() == first
    assert passes == []
    answers.continuations({"words": trained("words-rotary-1")}, "a b", 4, 0.0, 0, " ")
    assert passes == ["continuation"]


def test_a_pass_takes_a_place(models: dict[str, Trained], monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[bool] = []

    @contextmanager
    def turn() -> Iterator[None]:
        taken.append(True)
        yield

    monkeypatch.setattr(answers, "turn", turn)
    answers.chances(models, ["the dog"])
    answers.maps(models, "the dog", "mean of layer 0")
    assert len(taken) == 4
    answers.chances(models, ["the dog"])
    assert len(taken) == 4


def test_equal_weights_under_another_name_are_another_model(models: dict[str, Trained]) -> None:
    (rows,) = answers.chances({"one": models["none"]}, ["the dog"])
    (others,) = answers.chances({"one": Trained("another", models["rotary"].model)}, ["the dog"])
    assert rows["cells"] != others["cells"]


def test_answers_are_the_likeliest_classes(models: dict[str, Trained], task: Labelled) -> None:
    texts = [*task.questions, "", "quite unknown words"]
    block = answers.answers(models, texts, task)
    assert block["head"] == ["text", "none", "rotary"]
    marked = {(i, j): how for i, j, how in block["marks"]}
    truth = {row.text: task.classes[row.label] for row in (*task.train, *task.test)}
    for i, (text, row) in enumerate(zip(texts, block["rows"], strict=True)):
        assert row[0] == text or text == ""
        for j, (cell, one) in enumerate(zip(row[1:], models.values(), strict=True), 1):
            chances = inference.probabilities(one.model, [text])[0]
            said = task.classes[int(chances.argmax())]
            assert cell.startswith(f"{said} {float(chances.max()):.2f}")
            wrong = text in truth and truth[text] != said
            assert cell.endswith("✗") is wrong is (marked.get((i, j)) == "bad")
            assert cell.endswith("✓") is (truth.get(text) == said) is (marked.get((i, j)) == "good")


def test_every_class_has_its_probability(models: dict[str, Trained], task: Labelled) -> None:
    (block,) = answers.chances(models, ["the dog chased the cat"])
    assert block["rows"] == list(task.classes)
    assert block["cols"] == ["none", "rotary"]
    assert sum(float(line[0]) for line in block["cells"]) == pytest.approx(1, abs=0.01)


def test_without_positions_the_order_makes_no_difference(models: dict[str, Trained], task: Labelled) -> None:
    none, rotary = answers.both_orders(models, *task.questions[:2])
    assert none.startswith("“none”: the logits ")
    assert none.endswith("; it cannot tell the two orders apart.")
    assert "cannot tell" not in rotary
    assert "cannot tell" not in answers.both_orders(models, "the dog", "the the")[0]  # not the same words
    for said in answers.both_orders(models, "qwertz asdf", "asdf qwertz"):  # words that it does not know
        assert said.endswith("the logits are identical; both are the same tokens to it.")


def test_padding(models: dict[str, Trained]) -> None:
    block = answers.beside(models, "the dog", "the dog was called by the cat " * 5)
    for row in block["rows"]:
        assert row[1] == row[2]  # masked, the long text changes nothing
    alone, _, unmasked = (float(cell.split()[-1]) for cell in block["rows"][0][1:])
    model = models["none"].model
    chances = inference.probabilities(model, ["the dog", "the dog was called by the cat " * 5], mask_padding=False)
    assert unmasked == pytest.approx(float(chances[0].max()), abs=5e-4)
    assert alone == pytest.approx(float(inference.probabilities(model, ["the dog"]).max()), abs=5e-4)


def test_a_long_text_begins_as_far_as_the_models_take_it(models: dict[str, Trained]) -> None:
    longest = models["none"].model.sizes.max_len
    text = answers.beginning(models, "the dog was called by the cat " * 100)
    assert len(models["none"].model.tokenize(text)[1]) == longest
    assert answers.beginning(models, "the dog") == "the dog"
    assert answers.beside(models, "the dog", text)["rows"]


def test_continuations(shipped: Path) -> None:
    language = {"words": trained("words-rotary-1")}
    task = tasks.build("words")
    (one,) = answers.continuations(language, task.questions[0], 5, 0.0, 0, " ")
    (block,) = one["blocks"]
    assert block["given"] == task.questions[0]
    assert len(block["tokens"]) == 5
    drawn = inference.continuation(language["words"].model, task.questions[0], 5, temperature=0)
    assert block["tokens"] == [[" ", token, share(chance, 2), round(100 * chance)] for token, chance in drawn]
    assert answers.continuations(language, task.questions[0], 5, 0.0, 9, " ") == [one]  # the likeliest needs no draws
    with pytest.raises(HeadlightError, match="empty"):
        answers.continuations(language, "", 5, 0.0, 0, " ")


def test_maps(models: dict[str, Trained], shipped: Path) -> None:
    both = {**models, "words": trained("words-rotary-1")}
    names = answers.head_names([(one.model.sizes.n_layers, one.model.sizes.n_heads) for one in both.values()])
    assert names[:2] == ["mean of layer 0", "layer 0 head 0"]
    assert names[-1] == "layer 1 head 3"
    one, other, _ = answers.maps(both, "the dog chased the cat", "layer 0 head 2")
    run = models["none"].model.run("the dog chased the cat")
    assert one["rows"] == one["cols"] == run.tokens
    assert one["cells"][1][2] == f"{float(run.weights[0, 2, 1, 2]):.2f}".lstrip("0")
    assert other["name"] == "rotary"
    mean = answers.maps(models, "the dog", "mean of layer 0")[0]
    weight = float(models["none"].model.run("the dog").weights[0, :, 0, 1].mean())
    assert mean["cells"][0][1] == f"{weight:.2f}".lstrip("0")
    (missing, _, map_of_words) = answers.maps(both, "the dog", "layer 1 head 0")
    assert missing["text"] == "none has no layer 1 head 0."
    assert map_of_words["kind"] == "matrix"
    assert map_of_words["cells"][0] == ["1", ""]  # the first query sees itself alone
