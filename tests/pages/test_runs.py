"""The runs of Train: which there are and would be, and what the tab Report says of them; what a task asks."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from mha_core import IMPLEMENTATIONS, load_model, positions
from mha_core.measure import rounding
from mha_core.training import inference, saved, tasks
from mha_core.training.events import End, History, Start
from mha_core.training.recipe import Recipe
from mha_core.training.tasks import Labelled, Row, Task
from pages.kit.draw.numbers import fixed
from pages.train import confusion, picture_settings, predictions, probabilities, runs, task_words, uploads
from pages.train.answers import Trained
from pages.train.confusion import UnseenRows
from pages.train.curves import Candidate
from pages.train.predictions import EVERY, OWN, RIGHT, WRONG, PredictedRows, TableFilter
from pages.train.recipe_controls import TASKS
from pages.train.runs import POST, Runs, combined, grouped, named, with_seeds
from tests.closeness import identical, within_rounding

from .train_app import Train

BASE = Recipe()
NONE = Recipe(position="none")
ROTARY = replace(NONE, position="rotary")


def shown(*recipes: Recipe) -> Runs:
    return runs.of_histories([History(recipe) for recipe in recipes], [None] * len(recipes))


# ---- candidates


def test_every_combination_once() -> None:
    made, left_out = combined(BASE, ["none", "rotary"], ["naive", "fused"], [1, 2], [True, False])
    assert len(made) == len(set(made)) == 16
    assert left_out == []
    assert {(recipe.position, recipe.implementation, recipe.n_layers, recipe.mask_padding) for recipe in made} == {
        (p, i, n, m) for p in ("none", "rotary") for i in ("naive", "fused") for n in (1, 2) for m in (True, False)
    }


def test_what_an_implementation_cannot_compute_is_left_out_and_reported_once() -> None:
    for name, implementation in IMPLEMENTATIONS.items():
        able = [p for p in positions.NAMES if positions.acts(p) - {"add"} <= implementation.can]
        made, left_out = combined(BASE, positions.NAMES, [name], [1, 2], [True])
        assert [recipe.position for recipe in made] == [p for p in able for _ in range(2)]
        unable = [p for p in positions.NAMES if p not in able]
        assert left_out == [f"{name} cannot compute {p} positions: this pair is left out." for p in unable]


def test_positions_that_the_sizes_do_not_have_are_left_out() -> None:
    odd = replace(BASE, d_model=12, n_heads=4)
    made, left_out = combined(odd, ["none", "rotary"], ["naive", "fused"], [1], [True])
    assert {recipe.position for recipe in made} == {"none"}
    assert len(left_out) == 1
    assert left_out[0].startswith("rotary positions are left out: d_head=3")
    assert len(combined(replace(BASE, d_model=50, n_heads=6), ["rotary"], ["fused"], [1], [True])[0]) == 1


def test_runs_are_grouped_into_their_candidates() -> None:
    made, _ = combined(BASE, ["none", "sinusoidal", "rotary"], ["fused"], [1], [True])
    recipes = with_seeds(made, 3)
    names, colours, places = zip(*grouped(recipes), strict=True)
    assert names == ("none", "sinusoidal", "rotary")
    assert colours == (0, 1, 3)  # the places of these positions, whichever are chosen
    assert [[recipes[place].seed for place in own] for own in places] == [[1, 2, 3]] * 3
    assert sorted(place for own in places for place in own) == list(range(9))
    backwards = recipes[::-1]
    assert [[backwards[place].seed for place in own] for *_, own in grouped(backwards)] == [[1, 2, 3]] * 3


def test_a_name_says_what_differs() -> None:
    for others, names in (
        ([], ["sinusoidal"]),
        ([{"position": "none"}], ["sinusoidal", "none"]),
        ([{"implementation": "torch"}], ["fused", "torch"]),
        ([{"amplitude": 0.1}], ["sinusoidal", "× 0.1"]),
        ([{"n_layers": 2}], ["1 layer", "2 layers"]),
        ([{"mask_padding": False}], ["mask on", "mask off"]),
        ([{"position": "none", "n_layers": 2}], ["sinusoidal 1 layer", "none 2 layers"]),
    ):
        assert named([BASE, *(replace(BASE, **other) for other in others)]) == names
    for choice in POST.values():
        rows = [replace(BASE, implementation=name, position=p, amplitude=a) for name, p, a in choice]
        assert len(set(named(rows))) == len(rows)
        assert len({colour for _, colour, _ in grouped(rows)}) == len(rows)


# ---- the settings of a picture


def test_choices_that_are_not_in_the_picture_are_listed() -> None:
    both = replace(shown(NONE, replace(NONE, seed=2), ROTARY, replace(ROTARY, seed=2)), beforehand=True)
    assert picture_settings.trained_with(both) == (
        "Trained in advance with positions none, rotary · fused · 1 layer of 4 heads, d_model 64 · 2 seeds · 400 steps."
    )
    uneven = shown(NONE, replace(NONE, seed=2), ROTARY)
    assert "1 to 2 seeds each" in picture_settings.trained_with(uneven)
    assert picture_settings.trained_with(uneven, goes_on=True).startswith("In training with")
    assert picture_settings.trained_with(Runs()) == ""
    picture = shown(NONE, ROTARY)
    for old, chosen in ((picture, [NONE, ROTARY]), (picture, [NONE]), (picture, []), (Runs(), [NONE])):
        assert picture_settings.beyond(old, chosen) == [], "less than the picture is nothing new"
    other = replace(NONE, position="learned", n_layers=2, implementation="torch", mask_padding=False)
    assert picture_settings.beyond(picture, [NONE, other]) == [
        "Not trained yet: learned, torch, 2 layers, padding not masked."
    ]
    assert picture_settings.beyond(picture, [replace(NONE, steps=1500, residual=True, rate=0.01)]) == [
        "Now chosen: steps 1,500, learning rate 0.01, residual connection yes. Press Train to see what that changes."
    ]
    assert picture_settings.beyond(picture, [replace(NONE, bias=False, out_bias=True)]) == [
        "Now chosen: biases in the attention output alone. Press Train to see what that changes."
    ]
    names = ["none", "sinusoidal", "rotary", "alibi"]  # their places
    assert picture_settings.untrained(shown(NONE, ROTARY), "position", names) == [1, 3]
    assert picture_settings.untrained(shown(NONE), "n_layers", range(1, 5)) == [1, 2, 3]
    assert picture_settings.untrained(Runs(), "position", names) == [], "there is no picture yet"
    picture = shown(*(replace(NONE, seed=seed) for seed in range(5)))
    three = [replace(ROTARY, seed=seed) for seed in range(3)]
    assert picture_settings.other_seeds(picture, three) == ["Train would use 3 seeds each, not 5."]
    five = [replace(ROTARY, seed=seed) for seed in range(5)]
    for old, chosen in ((picture, []), (Runs(), three), (picture, five)):
        assert picture_settings.other_seeds(old, chosen) == []


# ---- those that are shown


def test_shipped_runs_stand_in_the_order_of_the_controls_and_files_get_names_of_their_own(shipped: Path) -> None:
    found = runs.of_shipped("who")
    assert [each.name for each in found.candidates] == ["none", "rotary"]
    assert found.models == ("who-none-1", "who-rotary-1")
    assert found.ready == {"none": "who-none-1", "rotary": "who-rotary-1"}
    assert found.beforehand
    assert found.first("rotary").recipe.position == "rotary"
    assert runs.of_shipped("csv").candidates == ()
    history = saved.read(shipped / "who-rotary-1")
    both = runs.of_shipped("who") + runs.of_histories([history], ["own"])
    assert [each.name for each in both.candidates] == ["none", "rotary", "rotary (file)"]
    assert both.models[-1] == "own"


def test_seeds_belong_together_and_the_first_with_weights_is_asked(shipped: Path) -> None:
    first = saved.read(shipped / "who-rotary-1")
    second = replace(first, recipe=replace(first.recipe, seed=2))
    found = runs.of_histories([second, first], [None, "one"])
    assert [[run.recipe.seed for run in each.histories] for each in found.candidates] == [[1, 2]]
    assert found.models == ("one",)


def test_the_curves_as_csv_hold_no_formula(shipped: Path) -> None:
    history = saved.read(shipped / "who-rotary-1")
    written = runs.csv_of(runs.Runs((Candidate("=1+1", 0, (history,)),), (None,))).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [row["candidate"] for row in rows] == ["'=1+1"] * len(history.evaluations)
    assert [float(row["test_accuracy"]) for row in rows] == [look.test_accuracy for look in history.evaluations]


# ---- report and confusion matrix, against their definitions


TRUE = [0, 0, 0, 1, 1, 2]
SAID = [0, 0, 1, 1, 0, 0]
AGAIN = [0, 1, 1, 1, 1, 0]
ROWS = tuple(Row(f"text {number} =1+1", label) for number, label in enumerate(TRUE))
TASK = Labelled("csv", "Mine", 1, ("a", "=b()", "c"), ROWS, ROWS, ("q",), ("q",))


def history(predicted: list[int], fingerprint: str = TASK.fingerprint, seed: int = 1) -> History:
    recipe = Recipe(seed=seed)
    start = Start(recipe, "Mine", list(TASK.classes), 6, 6, fingerprint, [], 9, 9, 5, [], {}, "cpu")
    return History.of([start, End("steps", 1, 0.1, predicted)])


def outcome(*answers: list[int]) -> UnseenRows:
    found = confusion.outcome("mine", [history(said, seed=seed) for seed, said in enumerate(answers, 1)], TASK)
    assert found
    return found


def test_report() -> None:
    rows = confusion.report(outcome(SAID))["rows"]
    assert rows[0] == ["a", "0.500", "0.667", "0.571", "3"]
    assert rows[1] == ["=b()", "0.500", "0.500", "0.500", "2"]
    assert rows[2] == ["c", "—", "0.000", "0.000", "1"]  # never answered
    assert rows[3] == ["accuracy", "", "", "0.500", "6"]
    assert rows[4] == ["macro avg", "0.333", "0.389", "0.357", "6"]
    assert rows[5][:2] == ["weighted avg", "0.417"]
    assert rows[5][4] == "6"


def test_the_report_of_all_seeds_is_that_of_all_their_answers() -> None:
    """Counted here from the pairs themselves, without a matrix."""
    for seed in (None, 2):
        of = outcome(SAID, AGAIN).of(seed)
        pairs = [*zip(TRUE, SAID, strict=True)] * (seed is None) + [*zip(TRUE, AGAIN, strict=True)]
        right = Counter(label for label, said in pairs if label == said)
        true, said = (Counter(part) for part in zip(*pairs, strict=True))
        f1 = [2 * right[number] / (true[number] + said[number]) for number in range(3)]
        rows = confusion.report(of)["rows"]
        assert [row[3] for row in rows[:3]] == [fixed(value) for value in f1]
        assert [int(row[4]) for row in rows] == [true[0], true[1], true[2], *[len(pairs)] * 3]
        assert rows[3][3] == fixed(right.total() / len(pairs)) == rows[5][2]
        assert rows[4][3] == fixed(sum(f1) / 3)
        assert of.seeds == ("seed 2" if seed else "seeds 1, 2 together")


def test_the_matrix_and_its_cells() -> None:
    block = confusion.confusion(outcome(SAID), (0, 1), 0)
    assert block["cells"] == [["2", "1", "0"], ["1", "1", "0"], ["1", "0", "0"]]
    assert block["marks"] == [[0, 1]]
    assert block["edit"].startswith(confusion.CELL)
    assert confusion.listed(outcome(SAID), (0, 1))["rows"] == [["0", "text 2 =1+1"]]
    assert confusion.listed(outcome(SAID), (2, 2))["rows"] == []
    block = confusion.listed(outcome(SAID, AGAIN), (0, 1))  # how many seeds answered so
    assert block["rows"] == [["2", "text 2 =1+1"], ["1", "text 1 =1+1"]]
    assert block["caption"].startswith("3 test rows of a, taken for =b(): 2 texts")
    texts = tuple(map(str, range(500)))  # not all of a large cell are sent
    block = confusion.listed(UnseenRows("mine", ("a", "b"), (0,) * 500, texts, {1: (0,) * 500}), (0, 0))
    assert len(block["rows"]) == 200
    assert block["caption"].startswith("500 test rows")


def test_only_a_run_on_these_rows_is_judged() -> None:
    runs = [history(SAID), history(SAID, "other data"), History(Recipe())]
    assert [confusion.usable(run, TASK) for run in runs] == [True, False, False]
    assert confusion.outcome("mine", runs[1:], TASK) is None


# ---- the table of predictions


TYPED = ["the dog chased the cat", "=1+1"]


@pytest.fixture
def models(shipped: Path) -> dict[str, Trained]:
    names = {name: f"who-{name}-1" for name in ("none", "rotary")}
    return {name: Trained(own, load_model(str(shipped / own), dtype=torch.float64)) for name, own in names.items()}


@pytest.fixture
def task() -> Labelled:
    whole = uploads.built("who")
    assert isinstance(whole, Labelled)
    return replace(whole, test=whole.test[:60])


def made(classes: tuple[str, ...], rows: list[list[float]], labels: tuple[int | None, ...]) -> PredictedRows:
    return PredictedRows("mine", classes, tuple(f"={at}" for at in range(len(rows))), labels, torch.tensor(rows), 1)


SMALL = made(("row", "=b"), [[0.25, 0.75], [0.6, 0.4], [0.9, 0.1], [0.3, 0.7]], (1, 1, 0, None))


def test_every_row_is_what_its_model_says(models: dict[str, Trained], task: Labelled) -> None:
    """Against one question after the other, row by row."""
    table = predictions.frame(probabilities.answered(models, task, TYPED))
    assert len(table) == 2 * (60 + len(TYPED))
    texts = [*(row.text for row in task.test), *TYPED]
    asked = [(name, text) for name in models for text in texts]
    chances = [predictions.chance_of(name) for name in task.classes]
    for (name, text), (_, row) in zip(asked, table.iterrows(), strict=True):
        alone = inference.probabilities(models[name].model, [text])[0]
        within_rounding(torch.tensor([row[name] for name in chances]), alone, rounding.bound(1, torch.float32))
        assert row["predicted"] == task.classes[int(alone.argmax())]
        assert (row["model"], row["text"]) == (name, text)
    assert list(table["actual"][:60]) == [task.classes[row.label] for row in task.test]
    assert set(table["actual"][60:62]) == {""}


def test_models_of_other_classes_are_left_out(models: dict[str, Trained], task: Labelled) -> None:
    other = replace(task, classes=tuple(reversed(task.classes)))
    assert probabilities.answered(models, other, TYPED) == []
    assert len(probabilities.answered(models, None, TYPED)) == 2
    assert "every text asked alone" in probabilities.notes(models, probabilities.answered(models, task, []), task)[0]


def test_rows_are_filtered_and_sorted() -> None:
    table = predictions.frame([SMALL])
    for choice, rows in (
        (TableFilter(), [0, 1, 2, 3]),
        (TableFilter(down=True), [3, 2, 1, 0]),
        (TableFilter(RIGHT), [0, 2]),
        (TableFilter(WRONG), [1]),
        (TableFilter(OWN), [3]),
        (TableFilter(actual="=b"), [0, 1]),
        (TableFilter(EVERY, predicted="row", by="P(row)", down=True), [2, 1]),
        (TableFilter(by="P(row)"), [0, 3, 1, 2]),
        (TableFilter(by="predicted"), [0, 3, 1, 2]),
        (TableFilter(by="nothing", down=True), [0, 1, 2, 3]),
        (TableFilter(WRONG, predicted="=b"), []),
    ):
        chosen = predictions.chosen(table, choice)
        assert list(chosen.index) == rows, choice
        block = predictions.block(chosen, choice, len(table))
        assert [row[1] for row in block["rows"]] == [f"={at}" for at in rows]
        assert block["caption"].startswith(f"{len(rows)} of 4 rows")


def test_right_and_wrong_are_told_in_words_and_colour() -> None:
    block = predictions.block(predictions.frame([SMALL]), TableFilter(by="P(row)", down=True), 4)
    assert [row[4] for row in block["rows"]] == ["=b ✓", "row ✗", "row ✓", "=b"]
    assert block["marks"] == [[0, 4, "good"], [1, 4, "bad"], [2, 4, "good"]]
    assert block["order"] == [2, True]
    long = predictions.frame([SMALL] * 50)
    assert len(predictions.block(long, TableFilter(), 200)["rows"]) == predictions.MOST_SHOWN


def test_the_file_holds_every_digit_and_no_formula() -> None:
    written = predictions.csv_of(predictions.frame([SMALL])).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [row["text"] for row in rows] == ["'=0", "'=1", "'=2", "'=3"]
    assert [row["predicted"] for row in rows] == ["'=b", "row", "row", "'=b"]
    assert [row["row"] for row in rows] == ["0", "1", "2", "typed"]
    kept = torch.tensor([[float(row["P(row)"]), float(row["P(=b)"])] for row in rows])
    identical(kept, SMALL.probabilities)


def test_the_page_shows_and_sorts_them(shipped: Path) -> None:
    page = Train(tab="Report", sort="P(dog)", desc="true", only="wrong answers", cand2="rotary")
    table = page.table("P(dog)")
    column = [row[table["head"].index("P(dog)")] for row in table["rows"]]
    assert column == sorted(column, reverse=True)
    assert all("✗" in row[table["head"].index("predicted")] for row in table["rows"])
    assert {row[-1] for row in table["rows"]} <= {"none", "rotary"}
    assert len([block for block in page.blocks() if block.get("name") == "Confusion matrix"]) == 2
    page.app.selectbox(key="only").set_value("typed sentences").run()
    assert [row[-1] for row in page.table("P(dog)")["rows"]] == ["none", "none", "rotary", "rotary"]
    assert page.notices() == []
    page.app.selectbox(key="run").set_value("seed 1").run()
    assert page.panel("What “none” got right and wrong")["note"] == "seed 1"


# ---- what a task asks


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
