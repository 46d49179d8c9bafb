"""What a task asks: rows of its own data with their answers."""

from __future__ import annotations

from mha_core.training import tasks
from mha_core.training.tasks import Labelled, Row, Task
from pages.train import task_words
from pages.train.recipe_controls import TASKS


def pairs(task: Task) -> list[tuple[str, str]]:
    found = []
    for example in task_words.examples(task):
        text, _, answer = example.replace("\N{NO-BREAK SPACE}", " ").rpartition(" → ")
        found.append((text, answer))
    return found


def test_two_mirrored_rows_of_the_test_data_with_their_classes() -> None:
    for name in ("who", "food", "brackets"):
        task = tasks.build(name)
        assert isinstance(task, Labelled)
        shown = pairs(task)
        assert len(shown) == 2
        assert set(shown) <= {(row.text, task.classes[row.label]) for row in task.test}
        assert sorted(shown[0][0].split()) == sorted(shown[1][0].split()), "a mirror pair"
    task = tasks.build("who")  # as the page promises
    assert pairs(task) == [("the fox visited the queen", "fox"), ("the queen visited the fox", "queen")]
    assert task_words.question("who", task) == (
        "Who acts in the sentence? One of “dog”, “cat”, “fox”, “horse” and 6 more."
    )


def test_of_a_language_task_the_word_or_character_that_comes_next() -> None:
    for name in ("words", "names"):
        task = tasks.build(name)
        for (text, answer), probe in zip(pairs(task), task.probes, strict=False):
            assert f"{probe} ".startswith(f"{text} {answer} ")
    task = tasks.from_text("to be or not to be, that is it. " * 40)
    for (text, answer), probe in zip(pairs(task), task.probes, strict=True):
        assert text + answer.strip("“”") == probe


def test_of_a_table_its_shortest_rows_of_two_classes() -> None:
    rows = (Row("a long text", 0), Row("short", 0), Row("other text", 1), Row("x" * 200, 1))
    task = Labelled("csv", "Mine", 1, ("a", "b"), rows, rows, ("how are you",), ("q",))
    assert task_words.rows(task) == [("short", "a"), ("other text", "b")]
    assert task_words.usual_texts(task) == ("how are you", "short", "other text")
    assert task_words.question("csv", task) == "Which of “a”, “b” is the text?"


def test_of_made_up_news_that_it_is_made_up_and_two_rows_of_two_classes() -> None:
    task = tasks.build("made_up")
    assert isinstance(task, Labelled)
    asked = task_words.question("made_up", task)
    assert asked.endswith("All of it is made up.")
    assert all(name in asked for name in task.classes)
    (first, one), (second, other) = pairs(task)
    assert one != other
    rows = {(row.text, task.classes[row.label]) for row in task.test}
    for said, label in ((first, one), (second, other)):
        assert any(text.startswith(said.rstrip("…").rstrip()) and label == known for text, known in rows)


def test_without_data_it_is_said_what_to_bring() -> None:
    assert task_words.examples(None) == []
    assert all(task_words.question(name, None) for name in TASKS.values() if name not in tasks.NAMES)
